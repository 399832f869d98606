// common/units.h - durations, sizes and dates as people write them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace rota {

/// Configuration and options: "90s", "1h30m", "2d", "500ms", "0"; a bare number other than 0 is an
/// error that names the units.
Result<Duration> duration_parse(std::string_view text);
/// "1h30m", "90s" -> "1m30s", "0s", "250ms".
std::string duration_format(Duration duration);

/// A job's time limit in Slurm's forms (minutes, minutes:seconds, h:m:s, d-h, d-h:m, d-h:m:s,
/// "infinite"/"unlimited" -> 0) or in ours with units ("90m", "1h30m").
Result<Duration> time_limit_parse(std::string_view text);
/// Slurm's way to show it: "1-02:03:04", "02:03:04", "3:04".
std::string elapsed_format(Duration duration);

/// Bytes: "512", "32GiB", "32G", "1.5T": K M G T P are powers of 1024, with or without "iB"/"B".
Result<std::uint64_t> size_parse(std::string_view text);
/// The same, where a bare number counts `unit` bytes (Slurm's --mem counts MiB).
Result<std::uint64_t> size_parse(std::string_view text, std::uint64_t unit);
/// The largest binary unit that keeps three digits: "32GiB", "1.5TiB", "0B".
std::string size_format(std::uint64_t bytes);

/// The same bytes written exactly, in the largest unit that holds them without a fraction: "1TiB",
/// "1536MiB", "0B".
std::string size_exact(std::uint64_t bytes);

/// A decimal number with at most `digits` behind the point, in units of its last digit: "1.5" with
/// 6 digits is 1500000. At most `max` such units; no sign.
Result<std::int64_t> decimal_parse(std::string_view text, unsigned digits, std::int64_t max);
/// "1.5" for 1500000 with 6 digits, "4" for 4000000.
std::string decimal_format(std::int64_t units, unsigned digits);

/// RFC 3339 in UTC with microseconds cut to seconds: "2026-11-16T03:00:00Z"; "" for never.
std::string rfc3339(WallTime time);

/// A number of at most `max`, digits only.
Result<std::uint64_t> number_parse(std::string_view text, std::uint64_t max);

}  // namespace rota
