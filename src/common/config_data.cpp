// common/config_data.cpp - one mapping for each volume: path, target, read_only, projects.
#include "common/config_data.h"

#include <algorithm>

#include "common/config_table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"

namespace rota {
namespace {

constexpr std::size_t volumes_max = 1'000;
constexpr std::size_t projects_max = 1'000;
constexpr std::size_t path_bytes_max = 4'096;
constexpr std::string_view keys_known[] = {"path", "target", "read_only", "projects"};

class DataReader {
 public:
  explicit DataReader(const std::string& file) : file_(file) {}

  Result<std::vector<DataVolume>> read(const YamlNode& section) {
    std::vector<DataVolume> volumes;
    YamlOnce once;
    for (std::size_t i = 0; i < section.keys.size(); ++i) {
      const YamlNode& name = section.keys[i];
      if (!name.is_scalar()) return at(name, "the name of a volume is needed here");
      if (auto good = config_check_name("a volume", name.text); !good)
        return at(name, good.error().detail);
      ROTA_CHECK(once.check(file_, "data." + name.text, name.mark));
      if (i == volumes_max) return at(name, format("more than {} volumes", volumes_max));
      ROTA_TRY(DataVolume volume, read_volume(name.text, section.items[i]));
      volumes.push_back(std::move(volume));
    }
    std::ranges::sort(volumes, {}, &DataVolume::name);
    return volumes;
  }

 private:
  Error at(const YamlNode& node, std::string_view what) const {
    return yaml_error(file_, node.mark, what);
  }

  Result<DataVolume> read_volume(const std::string& name, const YamlNode& keys) {
    if (!keys.is_mapping())
      return at(keys, format("data.{} takes keys below it, each indented on a line of its own: {}",
                             name, fmt::join(keys_known, ", ")));
    DataVolume volume;
    volume.name = name;
    YamlOnce once;
    for (std::size_t i = 0; i < keys.keys.size(); ++i) {
      const YamlNode& key = keys.keys[i];
      if (!key.is_scalar()) return at(key, format("the name of a key of data.{} is needed", name));
      ROTA_CHECK(once.check(file_, format("data.{}.{}", name, key.text), key.mark));
      ROTA_CHECK(read_key(volume, key, keys.items[i]));
    }
    if (volume.path.empty())
      return at(keys, format("data.{} has no path; write 'path: /lustre/{}' below it", name, name));
    if (volume.target.empty()) volume.target = volume.path;
    return volume;
  }

  Result<void> read_key(DataVolume& volume, const YamlNode& key, const YamlNode& value) {
    if (key.text == "path") return read_path(volume.path, volume.name, key, value);
    if (key.text == "target") return read_path(volume.target, volume.name, key, value);
    if (key.text == "projects") return read_projects(volume, value);
    if (key.text == "read_only") {
      if (!value.is_scalar() || (value.text != "true" && value.text != "false"))
        return at(value, format("data.{}.read_only is true or false", volume.name));
      volume.read_only = value.text == "true";
      return {};
    }
    const auto meant = nearest(key.text, keys_known);
    if (!meant.empty())
      return at(key, format("unknown key {} of data.{}; did you mean '{}'?", quoted(key.text),
                            volume.name, meant));
    return at(key, format("unknown key {}; data.{} has {}", quoted(key.text), volume.name,
                          fmt::join(keys_known, ", ")));
  }

  Result<void> read_path(std::string& path, const std::string& name, const YamlNode& key,
                         const YamlNode& value) {
    if (!value.is_scalar() || !value.text.starts_with('/') || value.text.size() > path_bytes_max)
      return at(value, format("data.{}.{} takes an absolute path", name, key.text));
    path = value.text;
    return {};
  }

  Result<void> read_projects(DataVolume& volume, const YamlNode& value) {
    if (!value.is_list())
      return at(value, format("data.{}.projects takes a list, such as [vision, speech]; without "
                              "it, jobs of all projects may have it",
                              volume.name));
    for (const YamlNode& project : value.items) {
      if (!project.is_scalar() || project.is_empty())
        return at(project, "the name of a project is needed here");
      if (volume.projects.size() == projects_max)
        return at(project, format("more than {} projects", projects_max));
      volume.projects.push_back(project.text);
    }
    return {};
  }

  const std::string& file_;
};

bool is_for(const DataVolume& volume, std::string_view project) {
  return volume.projects.empty() ||
         std::ranges::find(volume.projects, project) != volume.projects.end();
}

}  // namespace

Result<std::vector<DataVolume>> config_read_data(const YamlNode& section, const std::string& file) {
  return DataReader(file).read(section);
}

const DataVolume* data_volume(const std::vector<DataVolume>& volumes, std::string_view name,
                              std::string_view project) {
  const auto found = std::ranges::find(volumes, name, &DataVolume::name);
  return found != volumes.end() && is_for(*found, project) ? &*found : nullptr;
}

std::vector<std::string_view> data_volumes_of(const std::vector<DataVolume>& volumes,
                                              std::string_view project) {
  std::vector<std::string_view> names;
  for (const DataVolume& volume : volumes)
    if (is_for(volume, project)) names.push_back(volume.name);
  return names;
}

}  // namespace rota
