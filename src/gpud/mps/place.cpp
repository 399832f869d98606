// gpud/mps/place.cpp - directories, one record, and what /proc tells of a daemon.
#include "gpud/mps/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "gpud/launch/process_tree.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr std::string_view magic = "ROTAMPS1";
constexpr char pid_file[] = "/nvidia-cuda-mps-control.pid";
constexpr std::size_t record_bytes_max = 4096;
/// A daemon has some five files; more than this in one directory is not its doing.
constexpr int files_max = 4096;
/// The longest of the daemon's sockets.
constexpr std::string_view longest_socket = "/control_privileged";

Error failed(std::string_view what, const std::string& path, int error) {
  return {Errc::io_failed, format("cannot {} {}: {}", what, path, strerrordesc_np(error))};
}

Result<void> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return failed("make the directory", path, errno);
  if (::chmod(path.c_str(), mode) != 0) return failed("set the mode of", path, errno);
  return {};
}

/// Below a directory that is ours alone, so that nobody can put anything else in its place.
Result<void> make_for(const std::string& path, std::uint32_t uid, std::uint32_t gid) {
  ROTA_CHECK(make_directory(path, 0700));
  if (::geteuid() == 0 && ::chown(path.c_str(), uid, gid) != 0)
    return failed("give away", path, errno);
  return {};
}

void remove_flat(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* const directory = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (directory == nullptr) return;
  int count = 0;
  while (const dirent* item = ::readdir(directory))
    if (++count <= files_max) ::unlinkat(fd, item->d_name, 0);
  ::closedir(directory);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT)
    log::warning("{} is left: {}", path, strerrordesc_np(errno));
}

/// A small plain file that a user may have written: no link, no pipe that never ends.
std::string read_plain(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  char text[32];
  const ssize_t size = ::read(file.get(), text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

bool is_run_by(pid_t pid, std::uint32_t uid) {
  const std::string text = file_read(format("/proc/{}/status", pid));
  const std::size_t at = text.find("\nUid:\t");
  if (at == std::string::npos) return false;
  const std::size_t start = at + 6;
  const auto real = number_parse(text.substr(start, text.find('\t', start) - start), UINT32_MAX);
  return real && *real == uid;
}

/// A daemon was started with this directory, as the jobs' processes are; but those carry a run.
bool is_started_for(pid_t pid, const std::string& pipe_directory) {
  const std::string text = '\0' + file_read(format("/proc/{}/environ", pid));
  const std::string own = '\0' + format("CUDA_MPS_PIPE_DIRECTORY={}", pipe_directory) + '\0';
  const std::string run = '\0' + std::string("ROTA_RUN=");
  return text.find(own) != std::string::npos && text.find(run) == std::string::npos;
}

}  // namespace

bool MpsProcess::is_alive() const {
  pollfd event{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return pidfd && ::poll(&event, 1, 0) == 0;
}

void MpsProcess::send(int signal) const {
  if (pidfd) ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

std::string MpsPlace::name_for(const std::string& gpu, std::uint32_t uid,
                               const std::vector<std::string>& gpus) {
  const std::size_t start = gpu.starts_with("GPU-") ? 4 : 0;
  std::size_t end = std::min(start + 8, gpu.size());
  const auto is_like = [&](const std::string& other) {
    return other != gpu && other.starts_with(gpu.substr(0, end));
  };
  while (end < gpu.size() && std::ranges::any_of(gpus, is_like)) ++end;
  return format("{}.{}", gpu.substr(start, end - start), uid);
}

Result<void> MpsPlace::make(std::uint32_t uid, std::uint32_t gid) const {
  if (pipe_directory().size() + longest_socket.size() >= sizeof(sockaddr_un::sun_path))
    return Error{
        Errc::unsupported,
        format("{} is too long a path for the sockets of an MPS daemon: give node.spool_dir "
               "a shorter one",
               pipe_directory())};
  const std::string above = directory_.substr(0, directory_.rfind('/'));
  ROTA_CHECK(make_directory(above, 0711));
  ROTA_CHECK(make_directory(directory_, 0711));
  ROTA_CHECK(make_for(pipe_directory(), uid, gid));
  return make_for(log_directory(), uid, gid);
}

void MpsPlace::remove() const {
  remove_flat(pipe_directory());
  remove_flat(log_directory());
  remove_flat(directory_);
}

Result<MpsRecord> MpsPlace::load() const {
  const std::string bytes = file_read(directory_ + "/daemon", record_bytes_max);
  if (!bytes.starts_with(magic)) return Error{Errc::malformed, "it has no record"};
  return proto::decode<MpsRecord>(std::string_view(bytes).substr(magic.size()));
}

Result<void> MpsPlace::save(const MpsRecord& record) const {
  const std::string path = directory_ + "/daemon";
  if (const int error = file_replace(path, std::string(magic) + proto::encode(record)))
    return failed("write", path, error);
  return {};
}

std::optional<MpsProcess> MpsPlace::find(std::uint32_t uid) const {
  std::string text = read_plain(pipe_directory() + pid_file);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto number = number_parse(text, 1 << 30);
  if (!number || *number < 2) return std::nullopt;
  MpsProcess process;
  process.pid = static_cast<pid_t>(*number);
  // First the descriptor, then what /proc says of the number: it is the same one while that lives.
  process.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const auto name = process_name(process.pid);
  if (name) process.start_time = name->start_ticks;
  if (!name || !is_run_by(process.pid, uid) || !is_started_for(process.pid, pipe_directory()) ||
      !process.is_alive())
    return std::nullopt;
  return process;
}

void MpsPlace::forget_pid() const { ::unlink((pipe_directory() + pid_file).c_str()); }

}  // namespace rota::gpud
