// common/nearest.h - the known word that a mistyped one most likely meant.
#pragma once
#include <span>
#include <string_view>

namespace rota {

/// The word of `known` with the fewest typing errors (letters left out, added, changed, or two
/// neighbours swapped) from `word`; the first of equals. "" when none is near enough to be meant.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace rota
