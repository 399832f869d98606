// model/mig.cpp - names of profiles, as drivers and people write them.
#include "model/mig.h"

#include <charconv>

namespace rota {

std::optional<MigName> MigName::parse(const std::string& text) {
  MigName name;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](std::uint32_t& to) {
    const auto [next, error] = std::from_chars(at, end, to);
    const bool is_number = error == std::errc() && next != at && to > 0;
    at = next;
    return is_number;
  };
  if (!number(name.compute_slices) || end - at < 2 || *at != 'g' || at[1] != '.')
    return std::nullopt;
  at += 2;
  if (!number(name.gigabytes) || end - at < 2 || at[0] != 'g' || at[1] != 'b') return std::nullopt;
  name.extra.assign(at + 2, end);
  if (!name.extra.empty() && name.extra.front() != '+' && name.extra.front() != '-')
    return std::nullopt;
  return name;
}

bool MigName::means(const MigName& other) const {
  const std::uint32_t more = std::max(gigabytes, other.gigabytes);
  const std::uint32_t less = std::min(gigabytes, other.gigabytes);
  return compute_slices == other.compute_slices && extra == other.extra &&
         more - less <= std::max<std::uint32_t>(1, more / 20);
}

}  // namespace rota
