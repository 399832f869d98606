// common/config_topology.cpp - levels first, then places: every node has one, every place as many
// parts as there are levels.
#include "common/config_topology.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "common/config_table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/lower.h"
#include "common/nearest.h"

namespace rota {
namespace {

constexpr std::size_t levels_max = 8;
constexpr std::size_t places_max = 10'000;
constexpr std::size_t placed_nodes_max = 200'000;
/// Words that rsubmit --topology has a meaning for.
constexpr std::string_view words_taken[] = {"none", "required", "preferred"};

class TopologyReader {
 public:
  explicit TopologyReader(const std::string& file) : file_(file) {}

  Result<NetworkTopology> read(const YamlNode& section) {
    const YamlNode* levels = nullptr;
    const YamlNode* places = nullptr;
    YamlOnce once;
    for (std::size_t i = 0; i < section.keys.size(); ++i) {
      const YamlNode& name = section.keys[i];
      if (!name.is_scalar()) return at(name, "'levels' or 'places' is needed here");
      if (name.text != "levels" && name.text != "places") return unknown_key(name);
      ROTA_CHECK(once.check(file_, "topology." + name.text, name.mark));
      (name.text == "levels" ? levels : places) = &section.items[i];
    }
    if (levels == nullptr)
      return at(section,
                "topology has no levels; write them from wide to narrow, such as 'levels: "
                "[block, rack]'");
    ROTA_CHECK(read_levels(*levels));
    if (places == nullptr)
      return at(section, format("topology has no places; below 'places:' write a line such as "
                                "'{}: dgx[01-04]' for each {}",
                                example_path(), topology_.levels.back()));
    ROTA_CHECK(read_places(*places));
    return std::move(topology_);
  }

 private:
  Error at(const YamlNode& node, std::string_view what) const {
    return yaml_error(file_, node.mark, what);
  }

  Error unknown_key(const YamlNode& name) const {
    constexpr std::string_view known[] = {"levels", "places"};
    const auto meant = nearest(name.text, known);
    const std::string full = "topology." + name.text;
    if (!meant.empty())
      return at(name, format("unknown key {}; did you mean 'topology.{}'?", quoted(full), meant));
    return at(name, format("unknown key {}; 'topology' has levels, places", quoted(full)));
  }

  Result<void> read_levels(const YamlNode& levels) {
    if (!levels.is_list() || levels.items.empty())
      return at(levels, "topology.levels takes a list from wide to narrow, such as [block, rack]");
    for (const YamlNode& level : levels.items) {
      if (!level.is_scalar() || level.is_empty())
        return at(level, "the name of a level is needed here, such as rack");
      if (topology_.levels.size() == levels_max)
        return at(level, format("more than {} levels", levels_max));
      if (auto good = config_check_name("a level", level.text); !good)
        return at(level, good.error().detail);
      const std::string name = lower_case(level.text);
      for (const std::string_view word : words_taken)
        if (name == word)
          return at(level, format("'{}' has a meaning of its own in rsubmit --topology; choose "
                                  "another name for the level",
                                  level.text));
      for (const std::string& other : topology_.levels)
        if (lower_case(other) == name)
          return at(level, format("level '{}' stands here a second time", level.text));
      topology_.levels.push_back(level.text);
    }
    return {};
  }

  Result<void> read_places(const YamlNode& places) {
    if (!places.is_mapping())
      return at(places, format("topology.places takes lines such as '{}: dgx[01-04]', indented "
                               "below it",
                               example_path()));
    for (std::size_t i = 0; i < places.keys.size(); ++i) {
      if (i == places_max) return at(places.keys[i], format("more than {} places", places_max));
      ROTA_CHECK(read_place(places.keys[i], places.items[i]));
    }
    return {};
  }

  Result<void> read_place(const YamlNode& name, const YamlNode& hosts) {
    if (!name.is_scalar()) return at(name, format("a place is needed here: {}", example_path()));
    NetworkPlace place;
    ROTA_TRY(place.path, path_of(name));
    ROTA_CHECK(once_.check(file_, "topology.places." + lower_case(name.text), name.mark));
    if (!hosts.is_scalar() || hosts.is_empty())
      return at(hosts, format("{} takes a host list, such as dgx[01-04]", name.text));
    auto nodes = hostlist_expand(hosts.text);
    if (!nodes) return at(hosts, format("{}: {}", name.text, nodes.error().detail));
    std::sort(nodes->begin(), nodes->end());
    nodes->erase(std::unique(nodes->begin(), nodes->end()), nodes->end());
    for (const std::string& node : *nodes) {
      const auto [known, is_new] = places_of_.try_emplace(node, &name);
      if (!is_new)
        return at(hosts, format("node {} lies in {} already, by line {}; a node has one place",
                                quoted(node), known->second->text, known->second->mark.line));
    }
    if (places_of_.size() > placed_nodes_max)
      return at(hosts, format("the places have more than {} nodes in all", placed_nodes_max));
    place.nodes = *std::move(nodes);
    topology_.places.push_back(std::move(place));
    return {};
  }

  Result<std::vector<std::string>> path_of(const YamlNode& name) {
    std::vector<std::string> path;
    for (std::size_t start = 0; start <= name.text.size();) {
      const std::size_t end = std::min(name.text.find('/', start), name.text.size());
      path.push_back(name.text.substr(start, end - start));
      start = end + 1;
    }
    if (path.size() != topology_.levels.size())
      return at(name, format("{} has {} part{}, a place has one for each of the {} level{}: {}",
                             quoted(name.text), path.size(), path.size() == 1 ? "" : "s",
                             topology_.levels.size(), topology_.levels.size() == 1 ? "" : "s",
                             example_path()));
    std::string above;
    for (const std::string& part : path) {
      if (auto good = config_check_name("a place", part); !good)
        return at(name, good.error().detail);
      above += (above.empty() ? "" : "/") + part;
      // Two that differ only in the case of letters are one to those who read them.
      const auto [known, is_new] = spelled_.try_emplace(lower_case(above), above, name.mark.line);
      if (const auto& [spelling, line] = known->second; spelling != above)
        return at(name, format("{} is written '{}' in line {}; write it the same", quoted(above),
                               spelling, line));
    }
    return path;
  }

  /// "block-1/rack-1", of this site's levels.
  std::string example_path() const {
    std::string path;
    for (const std::string& level : topology_.levels)
      path += format("{}{}-1", path.empty() ? "" : "/", level);
    return path;
  }

  const std::string& file_;
  NetworkTopology topology_;
  YamlOnce once_;
  std::map<std::string, const YamlNode*> places_of_;                    // by node
  std::map<std::string, std::pair<std::string, std::size_t>> spelled_;  // and where
};

}  // namespace

Result<NetworkTopology> config_read_topology(const YamlNode& section, const std::string& file) {
  return TopologyReader(file).read(section);
}

}  // namespace rota
