// gpud/mig/instances.h - what MIG has made of one GPU, as the driver tells it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rota::gpud {

/// A compute instance: what programs know as a device.
struct MigCompute {
  std::uint32_t id = 0;
  std::string uuid;  // "MIG-…"
  friend bool operator==(const MigCompute&, const MigCompute&) = default;
};

/// A GPU instance and what is in it. The ids are the driver's numbers: they say nothing of places.
struct MigInstance {
  std::uint32_t id = 0;
  std::uint32_t profile_id = 0;
  std::uint32_t start = 0;  // memory slices
  std::uint32_t size = 0;
  std::vector<MigCompute> computes;
  friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

struct MigSeen {
  bool is_on = false;
  std::vector<MigInstance> instances;  // by start
  friend bool operator==(const MigSeen&, const MigSeen&) = default;
};

/// An instance that a run has.
struct MigDevice {
  std::string uuid;            // of its compute instance
  std::uint16_t gpu = 0;       // position in the node's inventory
  std::uint32_t instance = 0;  // the driver's numbers
  std::uint32_t compute = 0;
  friend bool operator==(const MigDevice&, const MigDevice&) = default;
};

}  // namespace rota::gpud
