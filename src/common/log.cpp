// common/log.cpp - formats a line and hands it to the kernel in one write.
#include "common/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <forward_list>
#include <mutex>

#include "common/clock.h"
#include "common/escape.h"

namespace rota::log {
namespace {

/// A longer line is cut: a peer cannot fill the disk with one event.
constexpr std::size_t line_bytes_max = 16 << 10;

/// What write() reads is atomic and never freed, so a line costs no lock and a forked child cannot
/// inherit one that is held.
std::atomic<int> output_fd{STDERR_FILENO};
std::atomic<Level> level_min{Level::info};
std::atomic<const char*> program_name{"rota"};
std::atomic<bool> timestamps{true};

/// Guards open() and reopen() only.
std::mutex open_mutex;
std::string open_path;
std::forward_list<std::string>& program_names_kept() {
  static auto* names = new std::forward_list<std::string>();
  return *names;
}

constexpr std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "error";
}

/// $JOURNAL_STREAM names the device and inode of the journal's socket; it is inherited by
/// children, so it counts only when standard error still is that socket.
bool stderr_is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return format("{}:{}", status.st_dev, status.st_ino) == stream;
}

int open_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

void use_file(int fd) {
  const int before = output_fd.load();
  if (before == STDERR_FILENO) {
    output_fd = fd;
    return;
  }
  // The number stays and changes its file at once: a thread in the middle of a line never writes
  // to a closed descriptor.
  dup3(fd, before, O_CLOEXEC);
  ::close(fd);
}

void use_stderr() {
  const int before = output_fd.exchange(STDERR_FILENO);
  if (before != STDERR_FILENO) ::close(before);
}

std::string timestamp() {
  const std::int64_t now = wall_now().microseconds;
  const std::time_t seconds = now / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                now % 1'000'000);
}

std::string text_of(std::string_view line) {
  if (line.size() <= line_bytes_max) return escaped(line);
  return escaped(line.substr(0, line_bytes_max)) +
         format(" [{} bytes more]", line.size() - line_bytes_max);
}

/// The disk may be full and the reader of a pipe gone: a log line is not worth a daemon's life.
void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<void> open(std::string_view program, const std::string& path, Level level) {
  const std::lock_guard lock(open_mutex);
  const bool to_stderr = path.empty() || path == "-";
  if (to_stderr) {
    use_stderr();
  } else {
    const int fd = open_file(path);
    if (fd < 0)
      return Error{Errc::io_failed,
                   format("cannot open the log {} for appending: {}", path, std::strerror(errno))};
    use_file(fd);
  }
  open_path = to_stderr ? std::string() : path;
  timestamps = !to_stderr || !stderr_is_journal();
  level_min = level;
  auto& names = program_names_kept();
  if (names.empty() || names.front() != program) names.emplace_front(program);
  program_name = names.front().c_str();
  return {};
}

void reopen() {
  const std::lock_guard lock(open_mutex);
  if (open_path.empty()) return;
  const int fd = open_file(open_path);
  if (fd < 0) {
    warning("cannot reopen the log {}: {}; going on with the old file", open_path,
            std::strerror(errno));
    return;
  }
  use_file(fd);
}

Result<Level> level_from(std::string_view name) {
  for (const Level level : {Level::debug, Level::info, Level::warning, Level::error})
    if (name == name_of(level)) return level;
  return Error{Errc::invalid_argument,
               format("log level {} is none of debug, info, warning, error", quoted(name))};
}

bool enabled(Level level) { return level >= level_min.load(std::memory_order_relaxed); }

void write(Level level, std::string_view line) {
  if (!enabled(level)) return;
  const int saved_errno = errno;
  const std::string whole = format("{}{}[{}] {}: {}\n", timestamps ? timestamp() : std::string(),
                                   program_name.load(), getpid(), name_of(level), text_of(line));
  write_all(output_fd, whole);
  errno = saved_errno;
}

}  // namespace rota::log
