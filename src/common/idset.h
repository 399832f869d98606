// common/idset.h - small ascending sets of indexes ("0-3,7"): CPUs of a node, GPUs of a job.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota {

/// The largest index that text may name, so that "0-4000000000" is an error and not a gigabyte.
inline constexpr std::uint32_t idset_index_max = 65'535;

/// {0,1,2,3,7} -> "0-3,7"; {} -> "". `ids` is ascending without repeats.
std::string idset_format(const std::vector<std::uint32_t>& ids);
/// "0-3,7" -> {0,1,2,3,7}, ascending, repeats folded.
Result<std::vector<std::uint32_t>> idset_parse(std::string_view text);

}  // namespace rota
