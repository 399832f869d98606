// testsuite/unit/net/munged.h - a private munged with a key of its own.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "net/seal.h"

namespace rota::net {

/// Where munged is installed; "" when it is not.
inline std::string munged_path() {
  std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  path += ":/usr/sbin:/usr/local/sbin:/sbin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string file = path.substr(at, end - at) + "/munged";
    if (access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return "";
}

/// Tests that need one skip on a host without it, and only there.
#define ROTA_NEEDS_MUNGED() \
  if (::rota::net::munged_path().empty()) GTEST_SKIP() << "no munged here: apt-get install munge"

inline std::string make_munge_key() { return random_bytes(128); }

class Munged {
 public:
  explicit Munged(std::string key = make_munge_key()) : key_(std::move(key)) {
    // Not below the build tree: a socket's path may have 107 bytes, and munged checks every
    // directory above it.
    directory_ = "/tmp/rota-munged-XXXXXX";
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    std::filesystem::permissions(directory_, std::filesystem::perms(0755));
    std::ofstream(file("key"), std::ios::binary) << key_;
    std::filesystem::permissions(file("key"), std::filesystem::perms(0600));
    start();
  }
  ~Munged() {
    stop();
    std::filesystem::remove_all(directory_);
  }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;

  const std::string& key() const { return key_; }
  std::string socket() const { return file("socket"); }
  /// Between these it takes connections and does not answer them.
  void freeze() { kill(pid_, SIGSTOP); }
  void thaw() { kill(pid_, SIGCONT); }
  /// As after a crash: the socket's file is left behind, and nobody listens.
  void crash() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::string file(const std::string& name) const { return directory_ + "/" + name; }

  void start() {
    // munged writes its pid file when it listens: that is the event to wait for.
    const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    inotify_add_watch(watch, directory_.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
    const std::string program = munged_path();
    const std::string arguments[] = {"--key-file=" + file("key"), "--socket=" + socket(),
                                     "--pid-file=" + file("pid"), "--log-file=" + file("log"),
                                     "--seed-file=" + file("seed")};
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int null = open("/dev/null", O_RDWR);
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
      execl(program.c_str(), "munged", "--foreground", arguments[0].c_str(), arguments[1].c_str(),
            arguments[2].c_str(), arguments[3].c_str(), arguments[4].c_str(), nullptr);
      _exit(127);
    }
    while (!std::filesystem::exists(file("pid"))) {
      pollfd wait{watch, POLLIN, 0};
      char events[4096];
      if (poll(&wait, 1, 10'000) != 1 || read(watch, events, sizeof events) < 0)
        throw std::runtime_error("munged did not start");
    }
    close(watch);
  }
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGCONT);
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  std::string key_;
  std::string directory_;
  pid_t pid_ = -1;
};

/// One munged for all tests of this program that need nothing special of it.
inline Munged& shared_munged() {
  static Munged munged;
  return munged;
}

}  // namespace rota::net
