// sim/yaml_keys.h - mappings in the simulator's own files: known keys only, values within bounds.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "common/yaml.h"

namespace rota::sim {

/// One mapping of one file. Errors are "file:line:column: " and what would be right. The tree must
/// outlive it.
class YamlKeys {
 public:
  /// `what` names the mapping in errors: "a node". Keys that are not `known` are refused with the
  /// nearest one, and so is a key that stands there twice.
  static Result<YamlKeys> open(const YamlNode& node, const std::string& file, std::string_view what,
                               std::span<const std::string_view> known);

  /// The value of a key, or nullptr when it is not there.
  const YamlNode* find(std::string_view key) const;
  Result<const YamlNode*> need(std::string_view key) const;
  YamlMark mark() const { return node_->mark; }

 private:
  YamlKeys(const YamlNode& node, const std::string& file, std::string_view what)
      : node_(&node), file_(&file), what_(what) {}

  const YamlNode* node_;
  const std::string* file_;
  std::string what_;
};

/// One value of its type. `key` stands in the error.
Result<std::string> yaml_word(const YamlNode& node, const std::string& file, std::string_view key);
Result<std::int64_t> yaml_number(const YamlNode& node, const std::string& file,
                                 std::string_view key, std::int64_t min, std::int64_t max);
Result<std::uint64_t> yaml_size(const YamlNode& node, const std::string& file, std::string_view key,
                                std::uint64_t max);
Result<Duration> yaml_duration(const YamlNode& node, const std::string& file, std::string_view key,
                               Duration max);
/// [a, b]; a single word is a list of one, and nothing a list of none.
Result<std::vector<std::string>> yaml_words(const YamlNode& node, const std::string& file,
                                            std::string_view key);

}  // namespace rota::sim
