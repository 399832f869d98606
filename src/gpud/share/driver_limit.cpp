// gpud/share/driver_limit.cpp - runs rota-gpulimit. Linked into rstepd, so without libfmt.
#include "gpud/share/driver_limit.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rota::gpud {
namespace {

/// Starts it; what it says comes out of the descriptor, whose end is its end. Nobody asks for its
/// exit code: rgpud does not wait for children.
Fd start(const std::string& shim_dir, std::vector<std::string> words,
         std::vector<std::string> variables = {}) {
  words.insert(words.begin(), shim_dir + "/rota-gpulimit");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Fd();
  Fd out(ends[0]), in_child(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in_child.get(), 1);
    ::execve(arguments[0], arguments.data(), variables.empty() ? environ : environment.data());
    ::_exit(127);
  }
  return pid > 0 ? std::move(out) : Fd();
}

/// "" when it says ok, else what it says.
std::string answer_of(const Fd& out) {
  if (!out) return std::string("rota-gpulimit does not start: ") + strerrordesc_np(errno);
  std::string said;
  std::array<char, 512> buffer;
  for (ssize_t size; (size = ::read(out.get(), buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(size));
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

std::string set_driver_limits(const ShareOrder& share, const std::string& cgroup,
                              const std::vector<GpuCeiling>& ceilings) {
  std::vector<std::string> words = {share.real_nvml, "set", cgroup};
  for (const GpuShare& gpu : share.gpus) {
    const auto ceiling = std::ranges::find(ceilings, gpu.uuid, &GpuCeiling::uuid);
    const std::uint64_t soft = gpu.request_bytes == 0 ? gpu.limit_bytes : gpu.request_bytes;
    const std::uint64_t hard = ceiling == ceilings.end() ? gpu.limit_bytes : ceiling->bytes;
    words.push_back(gpu.uuid + '=' + std::to_string(soft) + ':' + std::to_string(hard));
  }
  return answer_of(start(share.shim_dir, std::move(words), share.driver_environment));
}

Fd begin_clear_driver_limits(const std::string& shim_dir, const std::string& nvml,
                             const std::string& cgroup, const std::vector<std::string>& uuids) {
  if (uuids.empty() || cgroup.empty()) return Fd();
  return start(shim_dir, clear_words(nvml, cgroup, uuids));
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
