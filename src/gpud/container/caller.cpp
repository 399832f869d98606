// gpud/container/caller.cpp - the kernel's and the engine's word on it. In rstepd, so without
// libfmt.
#include "gpud/container/caller.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <thread>

#include "common/clock.h"
#include "gpud/container/http.h"

namespace rota::gpud {
namespace {

/// dockerd holds the question back until its start is done; one that would not is asked again.
constexpr Duration start_patience = std::chrono::seconds(10);
constexpr Duration pause_between = std::chrono::milliseconds(5);

std::optional<pid_t> number_at(const std::string& text, std::size_t at) {
  if (at >= text.size() || std::isdigit(static_cast<unsigned char>(text[at])) == 0)
    return std::nullopt;
  const long number = std::strtol(text.c_str() + at, nullptr, 10);
  if (number <= 0 || number > INT32_MAX) return std::nullopt;
  return static_cast<pid_t>(number);
}

}  // namespace

Caller::Caller(pid_t pid)
    : pid_(pid), process_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

bool Caller::is_alive() const {
  if (!process_) return false;
  pollfd end{.fd = process_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, 0) == 0;
}

bool Caller::is_first() const {
  const auto pid = innermost_pid(file_read("/proc/" + std::to_string(pid_) + "/status"));
  return pid == 1 && is_alive();
}

std::optional<pid_t> innermost_pid(const std::string& status) {
  constexpr std::string_view key = "\nNSpid:";
  const std::size_t begin = status.find(key);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t first = begin + key.size();
  const std::string line = status.substr(first, status.find('\n', first) - first);
  const std::size_t last = line.rfind('\t');
  // One number only: it is in our own process namespace.
  if (last == std::string::npos || line.find('\t') == last) return std::nullopt;
  return number_at(line, last + 1);
}

std::optional<pid_t> docker_pid(const std::string& body) {
  constexpr std::string_view key = "\"Pid\":";
  const std::size_t at = body.find(key);
  if (at == std::string::npos) return std::nullopt;
  return number_at(body, at + key.size());
}

std::optional<pid_t> first_process(const ContainerOrder& order, std::string& trouble) {
  if (order.kind == ContainerKind::podman) {
    // runc writes it before the container's first process goes on.
    const auto pid = number_at(file_read(order.directory + '/' + box_pid), 0);
    if (!pid) trouble = "podman does not say which process the container's first one is";
    return pid;
  }
  const MonoTime give_up = mono_now() + start_patience;
  for (;;) {
    const HttpAnswer answer =
        http_call(order.socket, "GET", "/containers/" + order.name + "/json", {}, start_patience);
    if (answer.status != 200) {
      trouble =
          "dockerd does not say which process the container's first one is: " + message_of(answer);
      return std::nullopt;
    }
    if (const auto pid = docker_pid(answer.body)) return pid;
    if (mono_now() >= give_up) {
      trouble = "dockerd does not say which process the container's first one is";
      return std::nullopt;
    }
    std::this_thread::sleep_for(pause_between);
  }
}

}  // namespace rota::gpud
