// commands/copy.cpp - a tar on this host, a tar in the job, and a pipe between them.
#include "commands/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

using Words = std::vector<std::string>;

Error system_error(std::string_view what) {
  return {Errc::io_failed, format("{}: {}", what, std::strerror(errno))};
}

/// "a/b/c/" as "a/b" and "c".
struct Split {
  std::string directory;
  std::string name;
};
Result<Split> split(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  Split split{".", path};
  if (slash != std::string::npos)
    split = {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
  if (split.name.empty() || split.name == "." || split.name == "..")
    return Error{Errc::usage,
                 format("{}: the last part has to be a name", quoted(path.empty() ? "." : path))};
  return split;
}

/// Never an option, whatever it begins with.
std::string plain(const std::string& path) { return path.starts_with('-') ? "./" + path : path; }

Words pack(const Split& what) {
  return {"tar", "-C", plain(what.directory), "-cf", "-", "--", what.name};
}
Words unpack(const std::string& directory) {
  return {"tar", "--no-same-owner", "-C", plain(directory), "-xf", "-"};
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// A program of this host with one end of a pipe; the other end is ours.
class LocalProgram {
 public:
  LocalProgram() = default;
  LocalProgram(const LocalProgram&) = delete;
  LocalProgram& operator=(const LocalProgram&) = delete;
  ~LocalProgram() { finish(); }

  /// `writes`: its standard output is the pipe; else its standard input.
  Result<void> start(Words words, bool writes) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0) return system_error("cannot start a process");
    if (pid_ == 0) {
      ::signal(SIGPIPE, SIG_DFL);
      dup2(ends[writes ? 1 : 0], writes ? 1 : 0);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[writes ? 1 : 0]);
    fd_ = ends[writes ? 0 : 1];
    return {};
  }
  int fd() const { return fd_; }
  void hang_up() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  /// Its exit code.
  int finish() {
    hang_up();
    if (pid_ <= 0) return code_;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code_;
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  int code_ = exit_error;
};

/// A command in the job.
class Remote {
 public:
  Remote(const Program& program, const net::ConnectOptions& controller, JobId job,
         std::uint32_t task)
      : program_(program), controller_(controller), job_(job), task_(task) {}

  Result<int> run(Words words, int input_fd = -1, int output_fd = STDERR_FILENO) const {
    ExecOptions options;
    options.job = job_;
    options.task = task_;
    options.words = std::move(words);
    options.input = input_fd >= 0;
    options.input_fd = input_fd;
    options.output_fd = output_fd;
    return run_to_end(run_exec(controller_, std::move(options), program_));
  }
  /// What it prints, without the newline; its own complaint when it fails.
  Result<std::string> ask(Words words) const {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
    auto code = run(std::move(words), -1, ends[1]);
    close(ends[1]);
    char text[4096];
    ssize_t size = read(ends[0], text, sizeof text);
    close(ends[0]);
    if (!code) return code.error();
    if (*code != 0 || size <= 0) return Error{Errc::io_failed, "the job's side could not prepare"};
    while (size > 0 && text[size - 1] == '\n') --size;
    return std::string(text, static_cast<std::size_t>(size));
  }

 private:
  const Program& program_;
  const net::ConnectOptions& controller_;
  JobId job_;
  std::uint32_t task_;
};

Result<int> copy_out(const Remote& remote, const Split& from, const std::string& directory) {
  LocalProgram local;
  ROTA_CHECK(local.start(unpack(directory), false));
  ROTA_TRY(const int code, remote.run(pack(from), -1, local.fd()));
  const int here = local.finish();
  return code != 0 ? code : here;
}

Result<int> copy_in(const Remote& remote, const Split& from, const std::string& directory) {
  LocalProgram local;
  ROTA_CHECK(local.start(pack(from), true));
  ROTA_TRY(const int code, remote.run(unpack(directory), local.fd()));
  const int here = local.finish();
  return code != 0 ? code : here;
}

/// Under a new name: unpacked beside it first, so that nothing is seen half.
Result<int> copy_out_as(const Remote& remote, const Split& from, const std::string& to) {
  ROTA_TRY(const Split target, split(to));
  std::string place = target.directory + "/.rota-cp.XXXXXX";
  if (mkdtemp(place.data()) == nullptr)
    return system_error(format("cannot write in {}", quoted(target.directory)));
  auto code = copy_out(remote, from, place);
  const std::string made = place + "/" + from.name;
  if (code && *code == 0 && rename(made.c_str(), to.c_str()) != 0)
    code = system_error(format("cannot make {}", quoted(to)));
  if (!code || *code != 0) {
    LocalProgram cleaner;
    if (cleaner.start({"rm", "-rf", "--", made}, false)) cleaner.finish();
  }
  rmdir(place.c_str());
  return code;
}

Result<int> copy_in_as(const Remote& remote, const Split& from, const std::string& to) {
  ROTA_TRY(const Split target, split(to));
  ROTA_TRY(const std::string place,
           remote.ask({"mktemp", "-d", "--", plain(target.directory) + "/.rota-cp.XXXXXX"}));
  auto code = copy_in(remote, from, place);
  if (code && *code == 0) code = remote.run({"mv", "-T", "--", place + "/" + from.name, plain(to)});
  const auto cleaned = remote.run({"rm", "-rf", "--", place});
  if (code && *code == 0 && !cleaned) return cleaned.error();
  return code;
}

}  // namespace

Result<CopyPlace> copy_place_from(const std::string& text) {
  const std::size_t colon = text.find(':');
  const bool is_here =
      colon == std::string::npos || text.substr(0, colon).find('/') != std::string::npos;
  CopyPlace place;
  if (!is_here) {
    ROTA_TRY(place.job, job_id_from(text.substr(0, colon)));
  }
  place.path = is_here ? text : text.substr(colon + 1);
  if (place.path.empty()) return Error{Errc::usage, format("{} names no file", quoted(text))};
  return place;
}

Result<int> copy_files(const Program& program, const net::ConnectOptions& controller,
                       const CopyPlace& from, const CopyPlace& to, std::uint32_t task) {
  if (bool(from.job) == bool(to.job))
    return Error{Errc::usage, "one of the two has to be in a job, as in 12:data/x, and one here"};
  ROTA_TRY(const Split what, split(from.path));
  const Remote remote(program, controller, from.job ? from.job : to.job, task);
  if (from.job)
    return is_directory(to.path) ? copy_out(remote, what, to.path)
                                 : copy_out_as(remote, what, to.path);
  if (access(from.path.c_str(), F_OK) != 0)
    return system_error(format("cannot read {}", quoted(from.path)));
  ROTA_TRY(const int code, remote.run({"test", "-d", to.path}));
  return code == 0 ? copy_in(remote, what, to.path) : copy_in_as(remote, what, to.path);
}

}  // namespace rota::commands
