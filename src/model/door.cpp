// model/door.cpp - addresses of doors, written and read.
#include "model/door.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota {
namespace {

constexpr std::string_view wildcard = "://*.";

Error invalid(std::string detail) { return {Errc::job_invalid, std::move(detail)}; }

/// Whether it can be a name that a user database knows, and written in a list.
bool is_user_name(std::string_view name) {
  return !name.empty() && name.size() <= ServiceBounds::user_bytes_max &&
         std::ranges::all_of(name, [](unsigned char c) {
           return c > 0x20 && c != 0x7f && c != ',' && c != ':' && c != '/';
         });
}

template <class List>
bool has_twice(List list) {
  std::ranges::sort(list);
  return std::ranges::adjacent_find(list) != list.end();
}

bool is_door_variable(std::string_view variable) {
  return variable.starts_with("ROTA_URL=") || variable.starts_with("ROTA_URL_") ||
         variable.starts_with("ROTA_BASE_URL=") || variable.starts_with("ROTA_BASE_URL_") ||
         variable.starts_with("ROTA_PORT=");
}

}  // namespace

Result<void> validate(const ServiceWish& service) {
  if (service.ports.size() > ServiceBounds::ports_max)
    return invalid(
        format("{} ports, at most {} are allowed", service.ports.size(), ServiceBounds::ports_max));
  if (std::ranges::find(service.ports, 0) != service.ports.end())
    return invalid("a port is 0, it must be 1 to 65535");
  if (has_twice(service.ports)) return invalid("a port is named twice");
  if (service.url && service.ports.empty())
    return invalid("an address for browsers needs a port: give --port as well");
  if (!service.url && !service.users.empty())
    return invalid("users are named, and no address for browsers is asked for");
  if (service.users.size() > ServiceBounds::users_max)
    return invalid(format("{} users are named, at most {} are allowed", service.users.size(),
                          ServiceBounds::users_max));
  for (const std::string& user : service.users)
    if (!is_user_name(user))
      return invalid(format("{} is no user's name of at most {} bytes", quoted(user),
                            ServiceBounds::user_bytes_max));
  return {};
}

std::string name_of(const Door& door) { return format("{}-{}", door.job.value, door.port); }

std::optional<Door> door_from(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto job = number_parse(name.substr(0, dash), UINT64_MAX);
  const auto port = number_parse(name.substr(dash + 1), 65535);
  if (!job || !port || *job == 0 || *port == 0) return std::nullopt;
  const Door door{JobId{*job}, static_cast<std::uint16_t>(*port)};
  // One door, one name: "012-8888" would have cookies of its own.
  if (name_of(door) != name) return std::nullopt;
  return door;
}

bool has_own_hosts(std::string_view base) { return base.find(wildcard) != std::string_view::npos; }

std::string door_path(std::string_view base, const Door& door) {
  return has_own_hosts(base) ? "/" : format("/{}/", name_of(door));
}

std::string door_url(std::string_view base, const Door& door) {
  while (base.ends_with('/')) base.remove_suffix(1);
  std::string url(base);
  if (const std::size_t at = base.find(wildcard); at != std::string_view::npos)
    url.replace(at + 3, 1, name_of(door));
  return url + door_path(base, door);
}

std::vector<std::string> door_urls(std::string_view base, JobId job, const ServiceWish& service) {
  std::vector<std::string> urls;
  if (base.empty() || !service.url) return urls;
  for (const std::uint16_t port : service.ports) urls.push_back(door_url(base, {job, port}));
  return urls;
}

void set_door_variables(std::string_view base, JobId job, const ServiceWish& service,
                        std::vector<std::string>& environment) {
  std::erase_if(environment, is_door_variable);
  if (service.ports.empty()) return;
  environment.push_back(format("ROTA_PORT={}", service.ports.front()));
  if (base.empty() || !service.url) return;
  const auto set = [&](std::uint16_t port, const std::string& suffix) {
    const Door door{job, port};
    environment.push_back(format("ROTA_URL{}={}", suffix, door_url(base, door)));
    environment.push_back(format("ROTA_BASE_URL{}={}", suffix, door_path(base, door)));
  };
  set(service.ports.front(), "");
  for (const std::uint16_t port : service.ports) set(port, format("_{}", port));
}

}  // namespace rota
