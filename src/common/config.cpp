// common/config.cpp - reads rota.yaml into a Config.
#include "common/config.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "common/config_data.h"
#include "common/config_table.h"
#include "common/config_topology.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"
#include "common/nearest.h"
#include "common/units.h"
#include "common/yaml.h"

namespace rota {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t file_bytes_max = 1 << 20;

std::string_view section_of(std::string_view name) { return name.substr(0, name.find('.')); }
std::string_view short_name_of(std::string_view name) { return name.substr(name.find('.') + 1); }

/// Walks the tree of one document: sections, then keys, then scalars. Anything else is an error at
/// its place.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Result<Config> read(std::string_view text) {
    ROTA_TRY(const auto root, yaml_parse(text, name_, YamlBounds{.bytes_max = file_bytes_max}));
    if (root) ROTA_CHECK(read_sections(*root));
    std::sort(config_.node_groups.begin(), config_.node_groups.end(),
              [](const NamedNodes& a, const NamedNodes& b) { return a.name < b.name; });
    ROTA_CHECK(check_pairs());
    return std::move(config_);
  }

 private:
  Error at(YamlMark mark, std::string_view what) const { return yaml_error(name_, mark, what); }
  Error at(const YamlNode& node, std::string_view what) const { return at(node.mark, what); }

  Result<void> read_sections(const YamlNode& root) {
    if (!root.is_mapping())
      return at(root, "sections are needed here, such as 'nodes:' with keys indented below it");
    YamlOnce once;
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      const YamlNode& name = root.keys[i];
      const YamlNode& value = root.items[i];
      if (!name.is_scalar()) return at(name, "the name of a section is needed here");
      ROTA_CHECK(check_section(name.text, name));
      ROTA_CHECK(once.check(name_, name.text, name.mark));
      if (value.is_empty()) continue;  // every key below it is commented out
      if (!value.is_mapping())
        return at(value,
                  format("keys are needed below '{}:', each on a line of its own and indented",
                         name.text));
      if (name.text == config_groups_section) {
        ROTA_CHECK(read_groups(value));
      } else if (name.text == config_topology_section) {
        ROTA_TRY(config_.topology, config_read_topology(value, name_));
      } else if (name.text == config_data_section) {
        ROTA_TRY(config_.data, config_read_data(value, name_));
      } else {
        ROTA_CHECK(read_keys(name.text, value));
      }
    }
    return {};
  }

  /// Names that the site chooses. Two that differ only in the case of letters would be one group to
  /// everybody who refers to it.
  Result<void> read_groups(const YamlNode& groups) {
    YamlOnce once;
    for (std::size_t i = 0; i < groups.keys.size(); ++i) {
      const YamlNode& name = groups.keys[i];
      const YamlNode& hosts = groups.items[i];
      if (!name.is_scalar()) return at(name, "the name of a group of nodes is needed here");
      if (auto good = config_check_group_name(name.text); !good)
        return at(name, good.error().detail);
      ROTA_CHECK(once.check(name_, "node_groups." + lower_case(name.text), name.mark));
      if (!hosts.is_scalar() || hosts.is_empty())
        return at(hosts,
                  format("node_groups.{} takes a host list, such as dgx[01-20],login1", name.text));
      if (auto added = config_add_group(config_, name.text, hosts.text); !added)
        return at(hosts, added.error().detail);
    }
    return {};
  }

  Result<void> read_keys(const std::string& section, const YamlNode& keys) {
    YamlOnce once;
    for (std::size_t i = 0; i < keys.keys.size(); ++i) {
      const YamlNode& name = keys.keys[i];
      if (!name.is_scalar())
        return at(name, format("the name of a key of '{}' is needed here", section));
      const std::string full = section + "." + name.text;
      const ConfigKey* key = config_find(full);
      if (key == nullptr) return unknown_key(full, name);
      ROTA_CHECK(once.check(name_, full, name.mark));
      ROTA_CHECK(read_value(*key, keys.items[i]));
      marks_[key->name] = keys.items[i].mark;
    }
    return {};
  }

  Result<void> read_value(const ConfigKey& key, const YamlNode& value) {
    if (!value.is_scalar())
      return at(value, format("{} takes a {}, not a {}", key.name, key.type,
                              value.is_list() ? "list" : "mapping"));
    if (value.is_empty())
      return at(value, format("{} has no value; its default is {}", key.name, key.default_text));
    if (auto done = config_assign(config_, key.name, value.text); !done)
      return at(value, done.error().detail);
    return {};
  }

  Result<void> check_section(const std::string& section, const YamlNode& node) const {
    std::vector<std::string_view> sections;
    for (const ConfigKey& key : config_keys()) {
      if (sections.empty() || sections.back() != section_of(key.name))
        sections.push_back(section_of(key.name));
      if (section == key.name || section == short_name_of(key.name))
        return at(node, format("{} is no section; write '{}:' and below it, indented, '{}:'",
                               quoted(section), section_of(key.name), short_name_of(key.name)));
    }
    sections.insert(sections.end(),
                    {config_groups_section, config_topology_section, config_data_section});
    if (std::find(sections.begin(), sections.end(), section) != sections.end()) return {};
    if (const auto meant = nearest(section, sections); !meant.empty())
      return at(node, format("unknown section {}; did you mean '{}'?", quoted(section), meant));
    return at(node, format("unknown section {}; known are {}", quoted(section),
                           fmt::join(sections, ", ")));
  }

  Error unknown_key(const std::string& full, const YamlNode& node) const {
    std::vector<std::string_view> names, of_section;
    for (const ConfigKey& key : config_keys()) {
      names.push_back(key.name);
      if (section_of(key.name) == section_of(full)) of_section.push_back(short_name_of(key.name));
    }
    if (const auto meant = nearest(full, names); !meant.empty())
      return at(node, format("unknown key {}; did you mean '{}'?", quoted(full), meant));
    return at(node, format("unknown key {}; '{}' has {}", quoted(full), section_of(full),
                           fmt::join(of_section, ", ")));
  }

  /// The place of the first of these keys that the file sets.
  YamlMark mark_of_any(std::initializer_list<std::string_view> names) const {
    for (const auto name : names)
      if (const auto mark = marks_.find(name); mark != marks_.end()) return mark->second;
    return {1, 1};
  }

  /// Values that are good alone and wrong together.
  Result<void> check_pairs() const {
    const Config& c = config_;
    if (c.nodes_lost_after <= c.nodes_heartbeat)
      return at(
          mark_of_any({"nodes.lost_after", "nodes.heartbeat"}),
          format("nodes.lost_after ({}) must be longer than nodes.heartbeat ({}); three times as "
                 "long is a good start",
                 duration_format(c.nodes_lost_after), duration_format(c.nodes_heartbeat)));
    if (c.nodes_fence_after != 0s && c.nodes_fence_after < c.nodes_lost_after)
      return at(mark_of_any({"nodes.fence_after", "nodes.lost_after"}),
                format("nodes.fence_after ({}) must be 0 (never) or at least nodes.lost_after ({})",
                       duration_format(c.nodes_fence_after), duration_format(c.nodes_lost_after)));
    if (c.jobs_time_limit_max != 0s && c.jobs_time_limit_default > c.jobs_time_limit_max)
      return at(mark_of_any({"jobs.time_limit_default", "jobs.time_limit_max"}),
                format("jobs.time_limit_default ({}) must be at most jobs.time_limit_max ({})",
                       duration_format(c.jobs_time_limit_default),
                       duration_format(c.jobs_time_limit_max)));
    if (c.proxy_certificate.empty() != c.proxy_key.empty())
      return at(mark_of_any({"proxy.certificate", "proxy.key"}),
                "proxy.certificate and proxy.key belong together: give both, or neither");
    if (c.controller_half_open_max > c.controller_sessions_max)
      return at(mark_of_any({"controller.half_open_max", "controller.sessions_max"}),
                format("controller.half_open_max ({}) must be at most controller.sessions_max ({})",
                       c.controller_half_open_max, c.controller_sessions_max));
    return {};
  }

  const std::string& name_;
  Config config_;
  std::map<std::string_view, YamlMark> marks_;  // of the keys that the file sets
};

/// An environment variable that stands in for a key.
Result<void> override_from_environment(Config& config, const char* variable, std::string_view key) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return {};
  if (auto done = config_assign(config, key, value); !done)
    return Error{Errc::config_invalid, format("${}: {}", variable, done.error().detail)};
  return {};
}

}  // namespace

Result<Config> config_parse(std::string_view text, const std::string& name) {
  return Reader(name).read(text);
}

Result<Config> config_load(const std::string& path) {
  ROTA_TRY(const std::string text, yaml_read_file(path, "the configuration", file_bytes_max));
  return config_parse(text, path);
}

Result<Config> config_default() {
  Config config;
  const char* named = std::getenv("ROTA_CONFIG");
  if (named != nullptr && *named != '\0') {
    ROTA_TRY(config, config_load(named));
  } else {
    auto found = config_load(ROTA_SYSCONFDIR "/rota/rota.yaml");
    if (found)
      config = *std::move(found);
    else if (found.error().code != Errc::not_found)
      return found.error();
  }
  ROTA_CHECK(override_from_environment(config, "ROTA_CONTROLLER", "controller.address"));
  ROTA_CHECK(override_from_environment(config, "ROTA_MUNGE_SOCKET", "munge.socket"));
  return config;
}

}  // namespace rota
