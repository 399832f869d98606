// model/node_type.cpp - from the names that vendors give to one word.
#include "model/node_type.h"

#include <algorithm>
#include <array>

#include "common/lower.h"

namespace rota {
namespace {

/// Marketing: the same chip is sold with and without them, and NVML's names differ by driver.
constexpr std::array<std::string_view, 4> vendor_words{"nvidia", "tesla", "geforce", "quadro"};

bool is_word_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string type_word(std::string_view model) {
  const std::string lower = lower_case(model);
  std::string word;
  for (auto at = lower.begin(); at != lower.end();) {
    at = std::find_if(at, lower.end(), is_word_character);
    const auto end = std::find_if_not(at, lower.end(), is_word_character);
    const std::string_view part(at, end);
    at = end;
    if (part.empty() ||
        std::find(vendor_words.begin(), vendor_words.end(), part) != vendor_words.end())
      continue;
    if (!word.empty()) word += '-';
    word += part;
  }
  return word.empty() ? "gpu" : word;
}

std::string node_type(const NodeInventory& inventory, const std::vector<bool>& gpu_absent) {
  const std::vector<Gpu>& gpus = inventory.gpus;
  if (gpus.empty()) return "cpu";
  const bool none_there =
      std::all_of(gpu_absent.begin(), gpu_absent.end(), [](bool is) { return is; });
  std::string type;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!none_there && i < gpu_absent.size() && gpu_absent[i]) continue;
    std::string word = type_word(gpus[i].model);
    if (!type.empty() && type != word) return "mixed";
    type = std::move(word);
  }
  return type;
}

bool names_type(std::string_view word, std::string_view type) {
  return type == word ||
         (type.size() > word.size() && type.starts_with(word) && type[word.size()] == '-');
}

}  // namespace rota
