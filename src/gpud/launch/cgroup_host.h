// gpud/launch/cgroup_host.h - which cgroups this host has, and our place in them.
#pragma once
#include <string>
#include <string_view>

#include "gpud/launch/order.h"

namespace rota::gpud {

/// Where the hierarchies that we care about are mounted; "" where there is none.
struct CgroupMounts {
  std::string v2;
  std::string v1_memory;
  std::string v1_cpuset;
  std::string v1_freezer;
  std::string v1_devices;

  friend bool operator==(const CgroupMounts&, const CgroupMounts&) = default;
};

/// From the text of /proc/mounts. `mode` is node.cgroup: auto, v1, v2 or none.
CgroupMounts cgroup_mounts(std::string_view mounts, std::string_view mode);

/// PARENT/NODE.ID in each hierarchy that can be used; every run gets a directory below.
struct CgroupBase {
  std::string node_directory;  // "n1.3fa94c20"
  std::string tracking;        // full paths, "" when not usable
  bool tracking_v2 = false;
  std::string memory;
  bool memory_v2 = false;
  std::string cpuset;
  bool cpuset_v2 = false;
  std::string devices;
  bool devices_v2 = false;
  std::string memory_nodes;    // of the v1 cpuset: NUMA nodes for its children
  std::string trouble;         // why jobs cannot be confined; "" when they can
  std::string device_trouble;  // the same for the device files of GPUs

  CgroupPlan plan_for(const std::string& run) const;
};

/// Makes our directories and hands controllers down to them. `node_directory` must be this rgpud's
/// alone on this host, whatever other clusters' nodes are called.
CgroupBase cgroup_prepare(const CgroupMounts& mounts, const std::string& parent,
                          const std::string& node_directory);

}  // namespace rota::gpud
