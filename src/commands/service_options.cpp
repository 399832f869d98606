// commands/service_options.cpp - ports and users as people write them.
#include "commands/service_options.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

/// Calls `take` with each part of a list; false from it ends the walk.
template <class Take>
bool each_of(std::string_view list, Take take) {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (!take(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<void> apply_ports(const Given& given, ServiceWish& service) {
  const auto take = [&service](std::string_view text) {
    const auto number = number_parse(text, 65535);
    if (!number || *number == 0) return false;
    const auto port = static_cast<std::uint16_t>(*number);
    if (std::ranges::find(service.ports, port) == service.ports.end())
      service.ports.push_back(port);
    return true;
  };
  if (each_of(given.value, take)) return {};
  return bad_value(given, format("{} is no list of ports; write 8888 or 8888,6006, each 1 to 65535",
                                 quoted(given.value)));
}

Result<void> apply_url(const Given& given, ServiceWish& service) {
  service.url = true;
  service.users.clear();
  std::string_view rest = given.value;
  if (rest.empty()) return {};
  constexpr std::string_view prefix = "users:";
  const auto take = [&service](std::string_view name) {
    service.users.emplace_back(name);
    return !name.empty();
  };
  if (rest.starts_with(prefix) && each_of(rest.substr(prefix.size()), take)) return {};
  return bad_value(given, format("{} names nobody; write --url for yourself, or "
                                 "--url=users:alice,bob for them too",
                                 quoted(given.value)));
}

}  // namespace rota::commands
