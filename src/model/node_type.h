// model/node_type.h - what kind of node it is, in one word that follows from its GPUs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/node.h"

namespace rota {

/// A GPU's model as a short word: small letters and digits, '-' between them, without the vendor's
/// names: "Tesla V100-SXM2-32GB" is "v100-sxm2-32gb". Such a word stays as it is.
std::string type_word(std::string_view model);

/// "cpu" without GPUs, "mixed" with several models, else the word of its model. GPUs that are known
/// but not there now (`gpu_absent`) count only where none is there.
std::string node_type(const NodeInventory& inventory, const std::vector<bool>& gpu_absent);

/// Whether the word names this type: all of it, or its first parts, as "v100" does. Both are words
/// of type_word().
bool names_type(std::string_view word, std::string_view type);

}  // namespace rota
