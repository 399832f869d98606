// gpud/share/stage.cpp - links and bind mounts for the shim, and the probe.
#include "gpud/share/stage.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "gpud/launch/file.h"
#include "gpushim/region.h"

namespace rota::gpud {
namespace {

constexpr const char* cuda_name = "libcuda.so.1";
constexpr const char* nvml_name = "libnvidia-ml.so.1";

std::string in(const ShareOrder& share, const std::string& name) {
  return share.directory + '/' + name;
}
std::string in_driver_dir(const ShareOrder& share, const std::string& name) {
  return share_driver_directory(share) + '/' + name;
}

bool make_link(const std::string& target, const std::string& path) {
  ::unlink(path.c_str());
  return ::symlink(target.c_str(), path.c_str()) == 0;
}

bool make_directory(const std::string& path) {
  return (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) && ::chmod(path.c_str(), 0755) == 0;
}

bool make_empty(const std::string& path) {
  return static_cast<bool>(Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0444)));
}

bool make_all(const ShareOrder& share) {
  if (!make_directory(share.directory) || !make_directory(share_driver_directory(share)) ||
      !make_empty(in_driver_dir(share, rota_share_socket)) ||
      !make_empty(in_driver_dir(share, share_probe_name))) {
    return false;
  }
  for (const ShareLibrary& library : share_libraries(share)) {
    if (library.real.empty()) continue;
    if (!make_link(share.shim_dir + '/' + library.name, in(share, library.name)) ||
        !make_link(library.real, in(share, library.real_name)) ||
        !make_empty(in_driver_dir(share, library.real_name))) {
      return false;
    }
  }
  return true;
}

int make_driver_place() {
  for (const char* path : {"/run/rota", share_driver_place})
    if (::mkdir(path, 0755) != 0 && errno != EEXIST) return errno;
  return 0;
}

/// Root in a container often has no right to mount; only trying tells.
bool can_mount() {
  if (::geteuid() != 0 || make_driver_place() != 0) return false;
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(::unshare(CLONE_NEWNS) == 0 ? 0 : 1);
  int status = 1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

void lead_here(const ShareOrder& share, std::vector<std::string>& environment) {
  constexpr std::string_view name = "LD_LIBRARY_PATH=";
  for (std::string& variable : environment) {
    if (!variable.starts_with(name)) continue;
    variable.insert(name.size(), share.directory + ':');
    return;
  }
  environment.push_back(std::string(name) + share.directory);
}

int bind(const std::string& from, const std::string& to, unsigned long flags = 0) {
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | flags, nullptr) == 0 ? 0 : errno;
}

/// The driver's files first, while they can still be seen; then ours in front of them.
int bind_libraries(const ShareOrder& share) {
  for (const ShareLibrary& library : share_libraries(share)) {
    if (library.real.empty()) continue;
    char real[PATH_MAX];  // behind the driver's links lies the file that programs load
    if (::realpath(library.real.c_str(), real) == nullptr) return errno;
    if (const int error = bind(real, in_driver_dir(share, library.real_name))) return error;
    if (const int error = bind(share.shim_dir + '/' + library.name, real)) return error;
  }
  return 0;
}

}  // namespace

std::vector<ShareLibrary> share_libraries(const ShareOrder& share) {
  return {{cuda_name, rota_share_real_cuda, share.real_cuda},
          {nvml_name, rota_share_real_nvml, share.real_nvml}};
}

std::string share_driver_directory(const ShareOrder& share) { return in(share, "drv"); }
std::string share_probe(const ShareOrder& share) { return share.shim_dir + '/' + share_probe_name; }
std::string share_socket(const ShareOrder& share) { return in(share, rota_share_socket); }

std::string stage_share(ShareOrder& share, std::vector<std::string>& environment, bool in_container,
                        std::string& note) {
  if (!make_all(share)) {
    return "cannot make " + share.directory + " for its part of a GPU: " + strerrordesc_np(errno);
  }
  share.mounts = in_container || can_mount();
  if (!share.mounts) {
    lead_here(share, environment);
    note = "no right to mount here: its part of a GPU is shown to it by LD_LIBRARY_PATH only";
  }
  return {};
}

void unstage_share(const ShareOrder& share) {
  for (const ShareLibrary& library : share_libraries(share)) {
    ::unlink(in(share, library.name).c_str());
    ::unlink(in(share, library.real_name).c_str());
    ::unlink(in_driver_dir(share, library.real_name).c_str());
  }
  ::unlink(in_driver_dir(share, rota_share_socket).c_str());
  ::unlink(in_driver_dir(share, share_probe_name).c_str());
  ::unlink(share_socket(share).c_str());
  ::rmdir(share_driver_directory(share).c_str());
  ::rmdir(share.directory.c_str());
}

int enter_share(const ShareOrder& share) {
  if (!share.mounts) return 0;
  if (::unshare(CLONE_NEWNS) != 0) return errno;
  // Ours stay here; what the host mounts later still arrives.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  if (const int error = bind_libraries(share)) return error;
  if (const int error = bind(share_socket(share), in_driver_dir(share, rota_share_socket)))
    return error;
  return bind(share_driver_directory(share), share_driver_place, MS_REC);
}

std::string probe_share(const ShareOrder& share, const std::string& program, char** environment) {
  std::vector<std::string> words = {program};
  for (const GpuShare& gpu : share.gpus)
    words.push_back(gpu.uuid + '=' + std::to_string(gpu.limit_bytes));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + strerrordesc_np(errno);
  Fd out(ends[0]), in_child(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in_child.get(), 1);
    ::execve(program.c_str(), arguments.data(), environment);
    ::_exit(127);
  }
  in_child.reset();
  if (pid < 0) return std::string("no process: ") + strerrordesc_np(errno);
  std::string said;
  std::array<char, 512> buffer;
  for (ssize_t size; (size = ::read(out.get(), buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(size));
  int status = 0;
  if (::waitpid(pid, &status, 0) == pid && status == 0) return {};
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said.empty() ? program + " could not look" : said;
}

}  // namespace rota::gpud
