// model/service.h - what a job offers to people: ports, and who may come by the web.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace rota {

/// The ports that a job says it listens on.
struct ServiceWish {
  std::vector<std::uint16_t> ports;  // each once, in the order given
  bool url = false;                  // rproxy shows them
  std::vector<std::string> users;    // who may come besides the owner

  friend bool operator==(const ServiceWish&, const ServiceWish&) = default;
  static auto fields(auto& m) { return std::tie(m.ports, m.url, m.users); }
};

}  // namespace rota
