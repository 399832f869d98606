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

bool take_port(std::string_view text, ServiceWish& service) {
  const auto number = number_parse(text, 65535);
  if (!number || *number == 0) return false;
  const auto port = static_cast<std::uint16_t>(*number);
  if (std::ranges::find(service.ports, port) == service.ports.end()) service.ports.push_back(port);
  return true;
}

}  // namespace

Result<void> apply_ports(const Given& given, ServiceWish& service) {
  // As docker and Run:ai have it; there is nothing here that one port could be led to another by.
  if (const std::size_t colon = given.value.find(':'); colon != std::string::npos)
    return bad_value(given,
                     format("{}: a port is not led to another; give the one that the job listens "
                            "on ({}), and for one of this host: rota port-forward JOB {}",
                            quoted(given.value), given.value.substr(colon + 1), given.value));
  const auto take = [&service](std::string_view text) { return take_port(text, service); };
  if (each_of(given.value, take)) return {};
  return bad_value(given, format("{} is no list of ports; write 8888 or 8888,6006, each 1 to 65535",
                                 quoted(given.value)));
}

Result<void> apply_external_url(const Given& given, ServiceWish& service) {
  service.url = true;
  std::string trouble;
  bool has_port = false;
  const auto take = [&](std::string_view part) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals);
    std::string_view value = part.substr(std::min(equals + 1, part.size()));
    if (key == "container") {
      has_port = take_port(value, service);
      if (!has_port) trouble = format("{} is no port, which is 1 to 65535", quoted(value));
    } else if (key == "authusers") {
      while (!value.empty()) {
        const std::size_t end = std::min(value.find(';'), value.size());
        service.users.emplace_back(value.substr(0, end));
        value.remove_prefix(std::min(end + 1, value.size()));
      }
    } else if (key == "url") {
      trouble =
          "the address is the site's to make (proxy.url), and rqueue -l shows it; leave url= out";
    } else {
      trouble = format("{} is not known; known are container and authusers", quoted(key));
    }
    return trouble.empty();
  };
  if (!each_of(given.value, take)) return bad_value(given, trouble);
  if (!has_port) return bad_value(given, "the port is missing; write container=8888");
  return {};
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
