// model/node_wish.cpp - reads and checks what -w, -x and -C say.
#include "model/node_wish.h"

#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"

namespace rota {
namespace {

constexpr std::size_t hosts_bytes_max = 16 << 10;
constexpr std::size_t constraint_bytes_max = 1024;

Error invalid(std::string detail) { return {Errc::job_invalid, std::move(detail)}; }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<void> check_hosts(std::string_view what, const std::string& hosts) {
  if (hosts.size() > hosts_bytes_max)
    return invalid(
        format("{} has {} bytes, at most {} are allowed", what, hosts.size(), hosts_bytes_max));
  if (const auto names = hostlist_expand(hosts); !names)
    return invalid(format("{}: {}", what, names.error().detail));
  return {};
}

}  // namespace

Result<Constraint> constraint_parse(std::string_view text) {
  if (text.size() > constraint_bytes_max)
    return invalid(format("the constraint has {} bytes, at most {} are allowed", text.size(),
                          constraint_bytes_max));
  if (escaped(text) != text)
    return invalid(format("the constraint holds control characters: {}", quoted(text)));
  if (const auto at = text.find_first_of("()[]*!"); at != std::string_view::npos)
    return invalid(format(
        "the constraint {}, column {}: '{}' is not understood; write types or groups of nodes "
        "with '|' (or) and '&' (and) between them",
        quoted(text), at + 1, text[at]));
  Constraint parts(1);
  for (std::size_t start = 0;;) {
    const std::size_t end = std::min(text.find_first_of("|&,", start), text.size());
    const std::string_view word = trimmed(text.substr(start, end - start));
    if (word.empty())
      return invalid(format("the constraint {}, column {}: the name of a type or group is missing",
                            quoted(text), start + 1));
    parts.back().emplace_back(word);
    if (end == text.size()) return parts;
    if (text[end] != '|') parts.emplace_back();
    start = end + 1;
  }
}

Result<void> validate(const NodeWish& wish) {
  ROTA_CHECK(check_hosts("the list of nodes", wish.only));
  ROTA_CHECK(check_hosts("the list of nodes to leave out", wish.except));
  if (!wish.constraint.empty()) ROTA_CHECK(constraint_parse(wish.constraint));
  return {};
}

std::string text_of(const NodeWish& wish) {
  std::string text;
  if (!wish.only.empty()) text = format("of {}", wish.only);
  if (!wish.except.empty()) text += format("{}without {}", text.empty() ? "" : " ", wish.except);
  if (!wish.constraint.empty())
    text += format("{}with {}", text.empty() ? "" : " ", quoted(wish.constraint));
  return text;
}

}  // namespace rota
