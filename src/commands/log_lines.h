// commands/log_lines.h - a job's output line by line: since when, and with the time before each.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace rota::commands {

/// "10m" (ago), "2026-11-17", "2026-11-17T12:30[:05]", "12:30" (today); local time.
Result<WallTime> since_from(std::string_view text, WallTime now);

/// The time with which a line of output begins, as many programs write it: "2026-11-17 12:30:05,123
/// ...", "[2026-11-17T12:30:05Z] ...". Without a zone it is local time.
std::optional<WallTime> time_of_line(std::string_view line);

/// A file holds no times of its lines. So `since` goes by the times that lines begin with: a line
/// without one belongs to the one before it. Output that carries none is shown whole. A timestamp
/// is the time at which the line came here.
class LogLines {
 public:
  LogLines(std::optional<WallTime> since, bool timestamps)
      : since_(since), timestamps_(timestamps) {}

  /// Whether there is anything to do.
  bool is_needed() const { return since_.has_value() || timestamps_; }
  /// What to print of these bytes, which came now. A line that is not whole waits for its rest.
  std::string take(std::string_view bytes, WallTime now);
  /// What still waits, at the end.
  std::string rest(WallTime now);
  /// `since` was asked for, and no line carried a time.
  bool is_blind() const { return since_.has_value() && is_open_ && !has_times_; }

 private:
  void take_line(std::string_view line, WallTime now, std::string& out);
  void give(std::string_view line, WallTime now, std::string& out) const;

  std::optional<WallTime> since_;
  bool timestamps_;
  std::string part_;    // of a line
  std::string unsure_;  // lines before the first that carries a time
  bool has_times_ = false;
  bool is_open_ = false;  // what comes now is shown
};

}  // namespace rota::commands
