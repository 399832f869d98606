// commands/signals.h - signals by name or number.
#pragma once
#include <string_view>

#include "common/result.h"

namespace rota::commands {

/// "TERM", "sigterm", "15".
Result<int> signal_from(std::string_view text);

}  // namespace rota::commands
