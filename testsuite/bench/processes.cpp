// testsuite/bench/processes.cpp - starts commands and takes their time: how many a second, and how
// long until a job's first line. Knows nothing of Rota, so that the same ruler measures everybody.
// Prints one number per line: "name value unit".
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace rota::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print(const char* name, double value, const char* unit) {
  std::printf("%s %.3f %s\n", name, value, unit);
}

/// Starts `command` with its standard output thrown away; -1 when it cannot be started.
pid_t start(char** command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = posix_spawnp(&child, command[0], &actions, nullptr, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  std::fprintf(stderr, "processes: %s: %s\n", command[0], std::strerror(error));
  return -1;
}

/// Waits for any child; false when it failed.
bool one_ended_well() {
  int status = 0;
  return waitpid(-1, &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// `count` processes, `at_once` of them at any time.
bool measure_rate(int count, int at_once, char** command) {
  const auto begin = Clock::now();
  int started = 0;
  for (int ended = 0; ended < count; ++ended) {
    for (; started < count && started - ended < at_once; ++started)
      if (start(command) < 0) return false;
    if (!one_ended_well()) {
      std::fprintf(stderr, "processes: %s failed\n", command[0]);
      return false;
    }
  }
  print("process_rate", count / seconds_since(begin), "/s");
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  print("process_cpu", (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e6 / count, "us");
  return true;
}

bool has_line(const std::string& file) {
  struct stat status {};
  return stat(file.c_str(), &status) == 0 && status.st_size > 0;
}

/// From the start of `command` until a line is in `file`, one after the other, with a pause in
/// between so that each finds an idle cluster.
bool measure_first_line(int count, int pause_ms, const std::string& file, char** command) {
  constexpr double give_up_seconds = 60;
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    unlink(file.c_str());
    const auto begin = Clock::now();
    if (start(command) < 0) return false;
    while (!has_line(file)) {
      if (seconds_since(begin) > give_up_seconds) return false;
      usleep(200);
    }
    times.push_back(seconds_since(begin) * 1000);
    if (!one_ended_well()) return false;
    usleep(static_cast<useconds_t>(pause_ms) * 1000);
  }
  std::sort(times.begin(), times.end());
  print("first_line_p50", times[times.size() / 2], "ms");
  print("first_line_p95", times[times.size() * 95 / 100], "ms");
  return true;
}

int main_of(int argc, char** argv) {
  const std::string what = argc > 4 ? argv[1] : "";
  const int count = argc > 4 ? std::atoi(argv[2]) : 0;
  if (what == "rate" && count > 0 && std::atoi(argv[3]) > 0)
    return measure_rate(count, std::atoi(argv[3]), argv + 4) ? 0 : 1;
  if (what == "first_line" && count > 0 && argc > 5)
    return measure_first_line(count, std::atoi(argv[3]), argv[4], argv + 5) ? 0 : 1;
  std::fprintf(stderr,
               "usage: processes rate COUNT AT_ONCE COMMAND...\n"
               "       processes first_line COUNT PAUSE_MS FILE COMMAND...\n");
  return 2;
}

}  // namespace
}  // namespace rota::bench

int main(int argc, char** argv) { return rota::bench::main_of(argc, argv); }
