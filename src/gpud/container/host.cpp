// gpud/container/host.cpp - looks for engines: a socket of dockerd, programs of podman and enroot.
#include "gpud/container/host.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool is_socket(const std::string& path) {
  struct stat status {};
  return !path.empty() && ::stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
}

/// A program by its name in the PATH, or by its path; "": it is not there.
std::string program_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  if (name.empty()) return {};
  const char* path = ::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = format("{}/{}", rest.substr(0, colon), name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

/// Beside this program in a build tree, else where it was installed.
std::string pause_program() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size > 0) {
    std::string path(self, static_cast<std::size_t>(size));
    path.resize(path.rfind('/') + 1);
    path += "rota-pause";
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  const std::string installed = ROTA_LIBEXECDIR "/rota-pause";
  return ::access(installed.c_str(), X_OK) == 0 ? installed : std::string();
}

/// podman asks for the highest limits that there are, which root itself may not have everywhere;
/// and it has lowered its own by then to what the kernel can number.
std::vector<std::string> ulimits() {
  constexpr std::uint64_t podmans_own = 1 << 20;
  const auto pid_max = number_parse(trimmed(file_read("/proc/sys/kernel/pid_max")), podmans_own);
  std::vector<std::string> limits;
  for (const auto& [name, resource] :
       {std::pair("nofile", RLIMIT_NOFILE), std::pair("nproc", RLIMIT_NPROC)}) {
    rlimit now{};
    if (::getrlimit(resource, &now) != 0) continue;
    std::uint64_t most = std::min<std::uint64_t>(now.rlim_max, podmans_own);
    if (resource == RLIMIT_NPROC && pid_max) most = std::min(most, *pid_max);
    limits.push_back(format("{}={}:{}", name, most, most));
  }
  return limits;
}

bool make_place(const std::string& path, mode_t mode) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return !error && ::chmod(path.c_str(), mode) == 0;
}

/// With an account to import images and a place to keep them, or not at all.
void find_enroot(const Config& config, ContainerFacts& facts) {
  const std::string program = program_path(config.node_enroot);
  if (program.empty()) return;
  const passwd* const account = ::getpwnam(config.node_enroot_user.c_str());
  if (account == nullptr)
    return log::warning("enroot is not used: there is no account '{}' (node.enroot_user)",
                        config.node_enroot_user);
  facts.enroot_account.uid = account->pw_uid;
  facts.enroot_account.gid = account->pw_gid;
  facts.enroot_account.user = config.node_enroot_user;
  const std::string& place = facts.enroot_dir;
  for (const auto& [path, mode] :
       {std::pair(place, 0711), std::pair(place + "/images", 0755),
        std::pair(place + "/import", 0711), std::pair(place + "/data", 0711),
        std::pair(place + "/run", 0711)})
    if (!make_place(path, static_cast<mode_t>(mode)))
      return log::warning("enroot is not used: cannot make {}: {}", path, strerrordesc_np(errno));
  facts.enroot = program;
}

Result<std::vector<ContainerMount>> site_mounts(std::string_view list) {
  std::vector<ContainerMount> mounts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    auto mount = mount_parse(list.substr(0, comma));
    Result<void> checked;
    if (mount) checked = validate(*mount);
    if (!mount || !checked)
      return Error{Errc::config_invalid,
                   format("node.container_mounts: {}",
                          mount ? checked.error().detail : mount.error().detail)};
    mounts.push_back(*std::move(mount));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return mounts;
}

}  // namespace

Result<ContainerFacts> container_facts(const Config& config, const std::string& spool_dir) {
  ContainerFacts facts;
  if (is_socket(config.node_docker_socket)) facts.docker_socket = config.node_docker_socket;
  facts.podman = program_path(config.node_podman);
  facts.enroot_dir =
      config.node_enroot_dir.empty() ? spool_dir + "/enroot" : config.node_enroot_dir;
  if (::geteuid() == 0) find_enroot(config, facts);
  facts.pause_program = pause_program();
  facts.ulimits = ulimits();
  facts.gpus = config.node_container_gpus;
  facts.docker_runtime = config.node_docker_runtime;
  facts.private_network = config.node_container_network == "none";
  facts.private_ipc = config.node_container_ipc == "private";
  facts.start_limit = config.node_container_start_limit;
  facts.save_limit = config.node_container_save_limit;
  facts.data = config.data;
  ROTA_TRY(facts.mounts, site_mounts(config.node_container_mounts));
  const std::string& wish = config.node_container_runtime;
  facts.runtime = wish;
  if (wish == "auto")
    facts.runtime = !facts.enroot.empty()          ? "enroot"
                    : !facts.docker_socket.empty() ? "docker"
                    : !facts.podman.empty()        ? "podman"
                                                   : "";
  // dockerd may come up after us; what it is asked for then will tell.
  if (wish == "docker" && facts.docker_socket.empty())
    facts.docker_socket = config.node_docker_socket;
  if (wish == "podman" && facts.podman.empty())
    log::warning("node.container_runtime is podman, but there is no '{}'", config.node_podman);
  if (wish == "enroot" && facts.enroot.empty())
    log::warning("node.container_runtime is enroot, but '{}' cannot be used", config.node_enroot);
  if (!facts.runtime.empty() && facts.runtime != "none")
    log::info("images are run by {}", facts.runtime);
  return facts;
}

}  // namespace rota::gpud
