// commands/payload.cpp - gathers what a job carries.
#include "commands/payload.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

constexpr std::array limits_taken{RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_MEMLOCK,
                                  RLIMIT_NPROC,  RLIMIT_AS,    RLIMIT_DATA, RLIMIT_FSIZE};

Error system_error(std::string_view what) {
  return {Errc::io_failed, format("{}: {}", what, std::strerror(errno))};
}

/// Closes a file that was opened here; standard input stays.
struct File {
  int fd;
  ~File() {
    if (fd > STDERR_FILENO) close(fd);
  }
};

Result<std::string> read_all(int fd, const std::string& name) {
  std::string text;
  std::array<char, 64 << 10> block;
  for (;;) {
    const ssize_t got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(format("cannot read {}", name));
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > JobBounds::script_bytes_max)
      return Error{Errc::usage, format("{} is too large for a script; at most {} bytes are allowed",
                                       name, JobBounds::script_bytes_max)};
  }
}

Result<std::string> host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0)
    return system_error("cannot tell this host's name");
  return std::string(name.data());
}

std::vector<ResourceLimit> limits_now() {
  std::vector<ResourceLimit> limits;
  for (const auto resource : limits_taken) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0) continue;
    limits.push_back({static_cast<std::uint32_t>(resource), limit.rlim_cur, limit.rlim_max});
  }
  return limits;
}

}  // namespace

Result<std::string> read_script(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input");
  const File file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return system_error(format("cannot open script {}", quoted(path)));
  struct stat status {};
  if (fstat(file.fd, &status) == 0 && S_ISDIR(status.st_mode))
    return Error{Errc::io_failed, format("{} is a directory, not a script", quoted(path))};
  return read_all(file.fd, path);
}

Result<void> check_script(std::string_view script, std::string_view name) {
  const auto error = [&](std::string_view what) {
    return Error{Errc::usage, format("{}: {}", name, what)};
  };
  if (script.empty()) return error("the script is empty");
  if (!script.starts_with("#!"))
    return error(
        "this does not look like a batch script: the first line must be #! and the path of an "
        "interpreter, such as #!/bin/sh");
  if (script.find('\0') != std::string_view::npos)
    return error("this is not text: it has NUL bytes; to run a program use: rsubmit -- PROGRAM");
  const std::string_view first = script.substr(0, script.find('\n'));
  if (first.ends_with('\r'))
    return error("the script has DOS line ends (\\r\\n); convert it, for example with dos2unix");
  if (first.find_first_not_of(" \t", 2) == std::string_view::npos)
    return error("the first line names no interpreter after #!");
  return {};
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path.size() == 1 ? path
                                                                         : path.substr(slash + 1));
}

std::string absolute_path(std::string_view path, std::string_view directory) {
  if (path.starts_with('/')) return std::string(path);
  return format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", path);
}

Result<std::string> current_directory() {
  std::array<char, PATH_MAX> path;
  if (getcwd(path.data(), path.size()) == nullptr)
    return system_error("cannot tell the working directory; choose one with --chdir");
  return std::string(path.data());
}

std::vector<std::string> environment_of(std::span<const char* const> environment) {
  std::vector<std::string> variables;
  variables.reserve(environment.size());
  for (const std::string_view variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals != 0 && equals != std::string_view::npos) variables.emplace_back(variable);
  }
  return variables;
}

/// Without any a job still has to find its programs and its home.
constexpr std::array<std::string_view, 5> always_exported{"HOME", "LOGNAME", "PATH", "SHELL",
                                                          "USER"};

Result<void> keep_exported(std::string_view list, std::vector<std::string>& environment) {
  std::vector<std::string_view> kept(always_exported.begin(), always_exported.end());
  std::vector<std::string> added;
  bool all = false;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (word.empty() || word.front() == '=')
      return Error{Errc::usage,
                   "--export: a name is missing; write ALL, NONE, or NAME[=VALUE],..."};
    if (word == "ALL")
      all = true;
    else if (word.find('=') != std::string_view::npos)
      added.emplace_back(word);
    else if (word != "NONE")
      kept.push_back(word);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  const auto name_of = [](std::string_view variable) {
    return variable.substr(0, variable.find('='));
  };
  std::erase_if(environment, [&](const std::string& variable) {
    const std::string_view name = name_of(variable);
    const bool is_replaced = std::ranges::any_of(
        added, [&](const std::string& other) { return name_of(other) == name; });
    return is_replaced || (!all && std::ranges::find(kept, name) == kept.end());
  });
  environment.insert(environment.end(), added.begin(), added.end());
  return {};
}

Result<void> take_surroundings(std::string_view directory, JobPayload& payload) {
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  payload.environment = environment_of({environ, count});
  if (directory.starts_with('/')) {
    payload.working_directory = directory;
  } else {
    ROTA_TRY(const auto here, current_directory());
    payload.working_directory = directory.empty() ? here : absolute_path(directory, here);
  }
  const mode_t mask = umask(0);  // there is no way to only ask
  umask(mask);
  payload.umask = mask;
  payload.limits = limits_now();
  ROTA_TRY(payload.submit_host, host_name());
  return {};
}

Result<RequestId> make_request_id() {
  RequestId id;
  while (!id)
    if (getrandom(&id, sizeof id, 0) != sizeof id) return system_error("no random numbers");
  return id;
}

}  // namespace rota::commands
