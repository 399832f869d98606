// sim/policy_keys.h - the scheduler section of rota.yaml, as options and scenarios name its keys.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/config.h"

namespace rota::sim {

/// "reservations", "limit_assumed" ...: without the section.
std::vector<std::string_view> policy_keys();

/// Checks and keeps one of them; an unknown key gives the nearest known one.
Result<void> policy_assign(Config& config, std::string_view key, const std::string& text);

}  // namespace rota::sim
