// gpud/share/driver_limit.cpp - runs rota-gpulimit. Linked into rstepd, so without libfmt.
#include "gpud/share/driver_limit.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rota::gpud {
namespace {

/// It runs: what it says comes out of the descriptor, whose end is its end.
struct Helper {
  Fd out;
  pid_t pid = -1;
};

Helper start(const std::string& shim_dir, std::vector<std::string> words,
             std::vector<std::string> variables = {}) {
  words.insert(words.begin(), shim_dir + "/rota-gpulimit");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  Fd out(ends[0]), in_child(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in_child.get(), 1);
    ::execve(arguments[0], arguments.data(), variables.empty() ? environ : environment.data());
    ::_exit(127);
  }
  if (pid < 0) return {};
  return {std::move(out), pid};
}

/// "" when it says ok, else what it says. Its exit code tells nothing more: in rgpud, which does
/// not wait for children, it cannot be had.
std::string answer_of(const Helper& helper) {
  if (!helper.out) return std::string("rota-gpulimit does not start: ") + strerrordesc_np(errno);
  std::string said;
  std::array<char, 512> buffer;
  for (;;) {
    const ssize_t size = ::read(helper.out.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;  // a child of the job has ended meanwhile
    if (size <= 0) break;
    said.append(buffer.data(), static_cast<std::size_t>(size));
  }
  while (::waitpid(helper.pid, nullptr, 0) < 0 && errno == EINTR) continue;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (said == "ok") return {};
  return said.empty() ? "rota-gpulimit has not come back" : said;
}

std::vector<std::string> uuids_of(const ShareOrder& share) {
  std::vector<std::string> uuids;
  for (const GpuShare& gpu : share.gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

std::vector<std::string> clear_words(const std::string& nvml, const std::string& cgroup,
                                     const std::vector<std::string>& uuids) {
  std::vector<std::string> words = {nvml, "clear", cgroup};
  words.insert(words.end(), uuids.begin(), uuids.end());
  return words;
}

}  // namespace

bool has_driver_limits(const std::string& shim_dir, const std::string& nvml) {
  return !nvml.empty() && answer_of(start(shim_dir, {nvml, "can"})).empty();
}

std::string set_driver_limits(const ShareOrder& share, const std::string& cgroup) {
  std::vector<std::string> words = {share.real_nvml, "set", cgroup};
  for (const GpuShare& gpu : share.gpus) {
    const std::string bytes = std::to_string(gpu.limit_bytes);
    words.push_back(gpu.uuid + '=' + bytes + ':' + bytes);
  }
  return answer_of(start(share.shim_dir, std::move(words), share.driver_environment));
}

Fd begin_clear_driver_limits(const std::string& shim_dir, const std::string& nvml,
                             const std::string& cgroup, const std::vector<std::string>& uuids) {
  if (uuids.empty() || cgroup.empty()) return Fd();
  return std::move(start(shim_dir, clear_words(nvml, cgroup, uuids)).out);
}

bool is_cleared(const Fd& clearing) {
  if (!clearing) return true;
  pollfd event{.fd = clearing.get(), .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, 0) != 0;
}

void clear_driver_limits(const ShareOrder& share, const std::string& cgroup) {
  answer_of(start(share.shim_dir, clear_words(share.real_nvml, cgroup, uuids_of(share)),
                  share.driver_environment));
}

}  // namespace rota::gpud
