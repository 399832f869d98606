// common/counts.h - a list of counts as Slurm's users know it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rota {

/// {2,2,2,1} -> "2(x3),1".
std::string repeated_list(const std::vector<std::uint32_t>& counts);

}  // namespace rota
