// common/hostlist.h - node names in brackets: node[01-04,7],login1.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota {

/// The most names one hostlist may stand for; more is an error, so that a typo costs nothing.
inline constexpr std::size_t hostlist_size_max = 100'000;

/// "n[1-3],x" -> n1 n2 n3 x, in the order written. Several bracket groups in one name multiply.
/// Says the column of what it cannot read.
Result<std::vector<std::string>> hostlist_expand(std::string_view text);

/// The shortest usual form: equal prefixes, suffixes and digit widths are folded, order is kept
/// where names do not fold: {n1,n2,n3,x} -> "n[1-3],x".
std::string hostlist_fold(const std::vector<std::string>& names);

}  // namespace rota
