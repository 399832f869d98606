// common/config_topology.h - the section of rota.yaml that says where nodes lie in the network.
#pragma once
#include <string>

#include "common/config.h"
#include "common/result.h"
#include "common/yaml.h"

namespace rota {

/// Reads what stands below `topology:`; `file` is for the errors, which are those of config_load().
Result<NetworkTopology> config_read_topology(const YamlNode& section, const std::string& file);

}  // namespace rota
