// common/yaml.h - YAML text as a tree in which every value knows its place; the one door to
// libyaml.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota {

/// A place in the file, counted from 1 as editors do.
struct YamlMark {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// One value. A mapping's keys stand in `keys`, each with its value at the same place of `items`.
struct YamlNode {
  enum class Kind : std::uint8_t { scalar, list, mapping };
  Kind kind = Kind::scalar;
  bool plain = false;  // a scalar without quotes
  std::string text;    // of a scalar
  YamlMark mark;
  std::vector<YamlNode> keys;
  std::vector<YamlNode> items;

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_mapping() const { return kind == Kind::mapping; }
  /// "key:" with nothing behind it, and the ways YAML spells that.
  bool is_empty() const;
};

/// Bounds on what a file may hold; anything beyond is an error at its place.
struct YamlBounds {
  std::size_t bytes_max = 1 << 20;
  std::size_t nodes_max = 100'000;
  std::size_t depth_max = 8;
};

/// The one document in `text`; nothing when there is none. Aliases, anchors, tags and a second
/// document are errors: what stands in the file is what is meant. Errors are config_invalid and
/// begin with "name:line:column: ".
Result<std::optional<YamlNode>> yaml_parse(std::string_view text, const std::string& name,
                                           const YamlBounds& bounds);

/// "name:line:column: what".
Error yaml_error(const std::string& name, YamlMark mark, std::string_view what);

/// Remembers the lines of the names in one mapping: a name that stands there twice is an error.
class YamlOnce {
 public:
  Result<void> check(const std::string& file, std::string_view name, YamlMark mark);

 private:
  std::map<std::string, std::size_t, std::less<>> lines_;
};

/// All of the file, at most a piece more than `bytes_max`, so that an endless file costs nothing.
/// `what` is for the error: "cannot read the configuration FILE: ...". not_found when it is not
/// there.
Result<std::string> yaml_read_file(const std::string& path, std::string_view what,
                                   std::size_t bytes_max);

/// `text` as a scalar that yaml_parse reads back as it is: quoted where it must be.
std::string yaml_scalar(std::string_view text);

}  // namespace rota
