// common/config_data.h - the section of rota.yaml that gives directories of the nodes names.
#pragma once
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "common/yaml.h"

namespace rota {

/// Reads what stands below `data:`; `file` is for the errors, which are those of config_load().
Result<std::vector<DataVolume>> config_read_data(const YamlNode& section, const std::string& file);

/// The volume of this name, if jobs of the project may have it.
const DataVolume* data_volume(const std::vector<DataVolume>& volumes, std::string_view name,
                              std::string_view project);
/// The names of those that jobs of the project may have.
std::vector<std::string_view> data_volumes_of(const std::vector<DataVolume>& volumes,
                                              std::string_view project);

}  // namespace rota
