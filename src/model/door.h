// model/door.h - the web's way to a job: what may be asked for, and the addresses of ports.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/ids.h"
#include "model/service.h"

namespace rota {

struct ServiceBounds {
  static constexpr std::size_t ports_max = 16;
  static constexpr std::size_t users_max = 64;
  static constexpr std::size_t user_bytes_max = 64;
};

/// Whether a job may ask for this; names what is wrong.
Result<void> validate(const ServiceWish& service);

/// One port of one job, as it stands in addresses: "12-8888".
struct Door {
  JobId job;
  std::uint16_t port = 0;

  friend bool operator==(const Door&, const Door&) = default;
};
std::string name_of(const Door& door);
/// Exactly as name_of() writes it, or nothing.
std::optional<Door> door_from(std::string_view name);

/// A base with a '*' for its first label gives every door a host of its own, and so an origin of
/// its own in the eyes of browsers; without, they differ by the first part of the path.
bool has_own_hosts(std::string_view base);
/// The path that everything behind the door begins with: "/12-8888/", or "/" on a host of its own.
std::string door_path(std::string_view base, const Door& door);
/// "https://login.example.org:8443/12-8888/", for the base "https://login.example.org:8443".
std::string door_url(std::string_view base, const Door& door);
/// Of all ports of a job that is to be seen; none without a base.
std::vector<std::string> door_urls(std::string_view base, JobId job, const ServiceWish& service);

/// Puts ROTA_PORT, ROTA_URL and ROTA_BASE_URL into the variables of the job, and the latter two for
/// each of its ports as ROTA_URL_8888; what an outer job left there goes.
void set_door_variables(std::string_view base, JobId job, const ServiceWish& service,
                        std::vector<std::string>& environment);

}  // namespace rota
