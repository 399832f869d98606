// gpud/launch/spawn.cpp - posix_spawn: rgpud may be large and has threads, so it never forks.
#include "gpud/launch/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/format.h"
#include "common/sanitized.h"
#include "gpud/launch/nursery.h"

namespace rota::gpud {
namespace {

/// Nothing of rgpud's own, but for where a build with sanitizers reports: rstepd has no stderr.
std::vector<std::string> nursery_environment() {
  std::vector<std::string> variables{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
#if defined(ROTA_ADDRESS_SANITIZER) || defined(ROTA_THREAD_SANITIZER)
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"})
    if (const char* value = std::getenv(name)) variables.push_back(format("{}={}", name, value));
#endif
  return variables;
}

/// Signals as a fresh process has them, no descriptor but 3, and out of our session.
class SpawnPlan {
 public:
  explicit SpawnPlan(int socket) {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes_, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes_, &set);
    posix_spawn_file_actions_adddup2(&actions_, socket, nursery_fd);
    posix_spawn_file_actions_addclosefrom_np(&actions_, nursery_fd + 1);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int run(const std::string& program, const std::string& node) {
    std::string flag = "--nursery";
    std::string name = "rstepd";
    // Some room more than the longest thing a child shows there: "18446744073709551615.4294967295".
    std::string title = node + std::string(32, ' ');
    char* const arguments[] = {name.data(), flag.data(), title.data(), nullptr};
    std::vector<std::string> variables = nursery_environment();
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    pid_t pid = 0;
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments,
                         environment.data());
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

}  // namespace

std::string step_program() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size > 0) {
    std::string path(self, static_cast<std::size_t>(size));
    path.resize(path.rfind('/') + 1);
    path += "rstepd";
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return ROTA_LIBEXECDIR "/rstepd";
}

Result<Fd> nursery_spawn(const std::string& program, const std::string& node) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Error{Errc::io_failed, format("cannot make a socket: {}", strerrordesc_np(errno))};
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  if (const int error = SpawnPlan(theirs.get()).run(program, node))
    return Error{Errc::io_failed, format("cannot start {}: {}", program, strerrordesc_np(error))};
  return ours;
}

}  // namespace rota::gpud
