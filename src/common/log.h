// common/log.h - the daemons' log: one line per event, to standard error or a file.
#pragma once
#include <string>
#include <string_view>

#include "common/format.h"
#include "common/result.h"

namespace rota::log {

enum class Level { debug, info, warning, error };

/// Opens `path` for appending ("" or "-": standard error) and names the program in every line.
/// Without it the log goes to standard error at level info.
Result<void> open(std::string_view program, const std::string& path, Level level);
/// Opens the same path again, after a log rotation.
void reopen();
Result<Level> level_from(std::string_view name);
bool enabled(Level level);
/// Control characters in `line` are written escaped: a peer's words cannot forge a log line.
void write(Level level, std::string_view line);

template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::debug)) write(Level::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::info)) write(Level::info, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::warning, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::error, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace rota::log
