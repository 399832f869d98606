// common/nearest.h - the known word that a mistyped one most likely meant.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rota {

/// The word of `known` with the fewest typing errors (letters left out, added, changed, or two
/// neighbours swapped) from `word`; the first of equals. "" when none is near enough to be meant.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "did you mean 'dgx'?", in any case of letters; or what there is: "known are dgx, lab".
std::string suggestion(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace rota
