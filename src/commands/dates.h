// commands/dates.h - dates as people write them, in the time zone of who writes.
#pragma once
#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace rota::commands {

/// "now+1hour", "now+90" (seconds), "16:00" (the next one), "midnight", "noon", "teatime",
/// "tomorrow", "2026-11-18", "2026-11-18T09:30[:00]", "11/18/26", "20261118"; never past 9999.
Result<WallTime> date_parse(std::string_view text, WallTime now);

}  // namespace rota::commands
