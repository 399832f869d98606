// sim/yaml_keys.cpp - looks values up and checks them, each at its place.
#include "sim/yaml_keys.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"

namespace rota::sim {

Result<YamlKeys> YamlKeys::open(const YamlNode& node, const std::string& file,
                                std::string_view what, std::span<const std::string_view> known) {
  if (!node.is_mapping())
    return yaml_error(file, node.mark,
                      format("{} has keys: {}", what, fmt::join(known.begin(), known.end(), ", ")));
  YamlOnce once;
  for (const YamlNode& key : node.keys) {
    if (!key.is_scalar()) return yaml_error(file, key.mark, "the name of a key is needed here");
    ROTA_CHECK(once.check(file, key.text, key.mark));
    if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
    const auto near = nearest(key.text, known);
    return yaml_error(
        file, key.mark,
        format("{} has no key {}; {}", what, quoted(key.text),
               near.empty() ? format("known are {}", fmt::join(known.begin(), known.end(), ", "))
                            : format("did you mean '{}'?", near)));
  }
  return YamlKeys(node, file, what);
}

const YamlNode* YamlKeys::find(std::string_view key) const {
  for (std::size_t i = 0; i < node_->keys.size(); ++i)
    if (node_->keys[i].text == key) return &node_->items[i];
  return nullptr;
}

Result<const YamlNode*> YamlKeys::need(std::string_view key) const {
  if (const YamlNode* value = find(key)) return value;
  return yaml_error(*file_, node_->mark, format("{} needs '{}:'", what_, key));
}

Result<std::string> yaml_word(const YamlNode& node, const std::string& file, std::string_view key) {
  if (!node.is_scalar() || node.text.empty() || node.is_empty())
    return yaml_error(file, node.mark, format("{}: one word is needed here", key));
  return node.text;
}

Result<std::int64_t> yaml_number(const YamlNode& node, const std::string& file,
                                 std::string_view key, std::int64_t min, std::int64_t max) {
  const auto value = node.is_scalar()
                         ? number_parse(node.text, static_cast<std::uint64_t>(max))
                         : Result<std::uint64_t>(Error{Errc::invalid_argument, "no scalar"});
  if (value && static_cast<std::int64_t>(*value) >= min) return static_cast<std::int64_t>(*value);
  return yaml_error(file, node.mark, format("{} must be a number from {} to {}", key, min, max));
}

Result<std::uint64_t> yaml_size(const YamlNode& node, const std::string& file, std::string_view key,
                                std::uint64_t max) {
  ROTA_TRY(const std::string word, yaml_word(node, file, key));
  const auto value = size_parse(word);
  if (!value) return yaml_error(file, node.mark, format("{}: {}", key, value.error().detail));
  if (*value > max)
    return yaml_error(file, node.mark, format("{} must be at most {}", key, size_format(max)));
  return *value;
}

Result<Duration> yaml_duration(const YamlNode& node, const std::string& file, std::string_view key,
                               Duration max) {
  ROTA_TRY(const std::string word, yaml_word(node, file, key));
  const auto value = duration_parse(word);
  if (!value) return yaml_error(file, node.mark, format("{}: {}", key, value.error().detail));
  if (*value > max)
    return yaml_error(file, node.mark, format("{} must be at most {}", key, duration_format(max)));
  return *value;
}

Result<std::vector<std::string>> yaml_words(const YamlNode& node, const std::string& file,
                                            std::string_view key) {
  std::vector<std::string> words;
  if (node.is_empty()) return words;
  if (node.is_mapping())
    return yaml_error(file, node.mark, format("{}: a list is needed here, such as [a, b]", key));
  if (node.is_scalar()) {
    words.push_back(node.text);
    return words;
  }
  for (const YamlNode& item : node.items) {
    ROTA_TRY(auto word, yaml_word(item, file, key));
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace rota::sim
