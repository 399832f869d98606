// gpud/container/store.cpp - dockerd's requests, podman's words, mksquashfs; files as the owner. In
// rstepd, so without libfmt.
#include "gpud/container/store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/clock.h"
#include "gpud/container/http.h"
#include "gpud/container/mounts.h"
#include "gpud/container/program.h"
#include "gpud/launch/file.h"
#include "gpud/launch/identity.h"

namespace rota::gpud {
namespace {

constexpr Duration patience = std::chrono::minutes(10);  // for each part of an answer

std::string failed(const std::string& what) {
  return "cannot " + what + ": " + strerrordesc_np(errno);
}

/// How a program ended, and its last line.
struct Called {
  int status = -1;
  std::string words;
  bool is_good() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (const std::size_t line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
  return text.empty() ? "it did not say why" : text;
}

/// With `input` and `output` where they are not -1. What it says is read once it has ended: a pipe
/// takes 64 KiB, which is more than it says.
Called call(const ContainerOrder& order, const std::vector<std::string>& words, int input,
            int output) {
  Called called;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return called;
  const Fd said(ends[0]);
  Fd theirs(ends[1]);
  const pid_t pid = ::_Fork();
  if (pid == 0) {
    ::fcntl(theirs.get(), F_SETFL, 0);
    become_words(order, words, input, output >= 0 ? output : theirs.get(), theirs.get());
  }
  theirs.reset();
  while (pid > 0 && ::waitpid(pid, &called.status, 0) < 0 && errno == EINTR) continue;
  char part[4096];
  for (ssize_t size; (size = ::read(said.get(), part, sizeof part)) > 0;)
    called.words.append(part, static_cast<std::size_t>(size));
  called.words = last_line(called.words);
  return called;
}

// ---- the file, as the owner ----

/// Nobody sees it before it is whole, and nothing is left of one that is never finished where the
/// file system can do that.
class SavedFile {
 public:
  explicit SavedFile(std::string path, std::string mark)
      : path_(std::move(path)), fresh_(path_ + ".rota-" + std::move(mark)) {}

  std::string open() {
    const std::size_t slash = path_.rfind('/');
    const std::string directory = slash == 0 ? "/" : path_.substr(0, slash);
    file_.reset(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
    if (!file_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
      ::unlink(fresh_.c_str());
      file_.reset(::open(fresh_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      is_named_ = true;
    }
    return file_ ? "" : failed("write '" + path_ + "'");
  }
  int fd() const { return file_.get(); }

  std::string finish(std::string trouble) {
    const std::string own = "/proc/self/fd/" + std::to_string(file_.get());
    if (trouble.empty() && ::fsync(file_.get()) != 0) trouble = failed("write '" + path_ + "'");
    if (trouble.empty() && !is_named_) {
      ::unlink(fresh_.c_str());
      if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, fresh_.c_str(), AT_SYMLINK_FOLLOW) != 0)
        trouble = failed("write '" + path_ + "'");
      is_named_ = trouble.empty();
    }
    if (trouble.empty() && ::rename(fresh_.c_str(), path_.c_str()) != 0)
      trouble = failed("write '" + path_ + "'");
    if (!trouble.empty() && is_named_) ::unlink(fresh_.c_str());
    return trouble;
  }

 private:
  std::string path_;
  std::string fresh_;
  Fd file_;
  bool is_named_ = false;
};

std::string copy_all(int from, int to, std::string rest) {
  std::string part = std::move(rest);
  for (;;) {
    for (std::size_t at = 0; at < part.size();) {
      const ssize_t size = ::write(to, part.data() + at, part.size() - at);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return failed("write the file");
      at += static_cast<std::size_t>(size);
    }
    part.resize(256 << 10);
    ssize_t size = 0;
    while ((size = ::read(from, part.data(), part.size())) < 0 && errno == EINTR) continue;
    if (size < 0) return failed("read the container's files");
    if (size == 0) return {};
    part.resize(static_cast<std::size_t>(size));
  }
}

// ---- keeping ----

std::string keep(const ContainerOrder& order) {
  if (order.keep.empty() || order.kind == ContainerKind::enroot) return {};
  if (order.kind == ContainerKind::docker) {
    const std::size_t colon = order.keep.rfind(':');
    const std::string path = "/commit?container=" + order.name +
                             "&pause=false&repo=" + order.keep.substr(0, colon) +
                             "&tag=" + order.keep.substr(colon + 1);
    const HttpAnswer answer = http_call(order.socket, "POST", path, order.keep_request, patience);
    return answer.status == 201 ? "" : "the container was not kept: " + message_of(answer);
  }
  const Called called = call(order, order.keep_words, -1, -1);
  return called.is_good() ? "" : "the container was not kept: " + called.words;
}

// ---- saving ----

std::string save_enroot(const ContainerOrder& order, SavedFile& file) {
  const Fd open_for_it(::fcntl(file.fd(), F_DUPFD, 3));  // not closed when it is run
  std::vector<std::string> words = order.save_words;
  for (std::string& word : words)
    if (word.empty()) word = "/proc/self/fd/" + std::to_string(open_for_it.get());
  const Called called = call(order, words, -1, -1);
  return file.finish(called.is_good() ? "" : called.words);
}

std::string save(const ContainerOrder& order, const Owner& owner,
                 const std::vector<std::uint32_t>& groups, std::uint32_t umask) {
  if (order.save.empty()) return {};
  // First, so that nobody begins to read the container for nothing.
  SavedFile file(order.save, order.name);
  ::umask(static_cast<mode_t>(umask & 0777));
  std::string refused = "cannot become uid " + std::to_string(owner.uid);
  as_owner(owner, groups, [&] { refused = file.open(); });
  if (!refused.empty()) return refused;
  Fd source;
  std::string rest;
  pid_t program = 0;
  if (order.kind == ContainerKind::docker) {
    const HttpAnswer answer =
        http_begin(order.socket, "/containers/" + order.name + "/export", source, patience);
    if (answer.status != 200) return message_of(answer);
    rest = answer.body;
  } else if (order.kind == ContainerKind::podman) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failed("make a pipe");
    source.reset(ends[0]);
    const Fd theirs(ends[1]);
    program = ::_Fork();
    if (program == 0) become_words(order, order.save_words, -1, theirs.get(), 2);
    if (program < 0) return failed("start a process");
  }
  // From here on this process has the owner's rights and no way back.
  errno = become(owner.uid, owner.gid, groups);
  if (errno != 0) return failed("become uid " + std::to_string(owner.uid));
  if (order.kind == ContainerKind::enroot) return save_enroot(order, file);
  std::string trouble = copy_all(source.get(), file.fd(), std::move(rest));
  source.reset();
  int status = 0;
  while (program > 0 && ::waitpid(program, &status, 0) < 0 && errno == EINTR) continue;
  if (trouble.empty() && status != 0) trouble = "podman could not read the container's files";
  return file.finish(std::move(trouble));
}

}  // namespace

std::string store_files(const ContainerOrder& order, const Owner& owner,
                        const std::vector<std::uint32_t>& groups, std::uint32_t umask,
                        const std::function<int()>& join) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("make a pipe");
  const Fd words(ends[0]);
  Fd output(ends[1]);
  const pid_t pid = ::_Fork();
  if (pid == 0) {
    ::setsid();
    fresh_signals();
    errno = join();
    std::string said = errno != 0 ? failed("enter the job's cgroup") : keep(order);
    if (std::string trouble = save(order, owner, groups, umask); !trouble.empty())
      said += (said.empty() ? "" : "; ") + ("the container was not saved: " + trouble);
    say(output.get(), said);
    ::_exit(0);
  }
  output.reset();
  if (pid < 0) return failed("start a process");
  const MonoTime give_up = mono_now() + std::chrono::milliseconds(order.save_limit_ms);
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd wait{.fd = process.get(), .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - mono_now()).count();
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) > 0) break;
  }
  const bool is_late = wait.revents == 0;
  // Also what it has begun and not waited for: podman would hold on to the container.
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (is_late) return "the container was not saved in time (node.container_save_limit)";
  if (!WIFEXITED(status)) return "the container was not saved: it was killed meanwhile";
  char said[2048];
  const ssize_t size = ::read(words.get(), said, sizeof said);
  return size > 0 ? std::string(said, static_cast<std::size_t>(size)) : std::string();
}

std::string import_file(const ContainerOrder& order, const Owner& owner,
                        const std::vector<std::uint32_t>& groups) {
  const Fd file(open_as_owner(order.file, owner, groups));
  const std::string what = "read the image '" + order.file + "'";
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return failed(what);
  if (!S_ISREG(status.st_mode)) return "cannot " + what + ": it is no file";
  if (order.kind == ContainerKind::podman) {
    const Called called = call(order, order.import_words, file.get(), -1);
    return called.is_good() ? "" : "cannot " + what + ": " + called.words;
  }
  const std::size_t colon = order.import_name.rfind(':');
  const HttpAnswer answer =
      http_send(order.socket,
                "/images/create?fromSrc=-&repo=" + order.import_name.substr(0, colon) +
                    "&tag=" + order.import_name.substr(colon + 1),
                file.get(), static_cast<std::uint64_t>(status.st_size), patience);
  // It answers well before it has looked at the archive; what is wrong with that comes as a line.
  const bool is_bad = answer.status != 200 || answer.body.find("\"error\"") != std::string::npos;
  return is_bad ? "cannot " + what + ": " + message_of(answer) : "";
}

void remove_import(const ContainerOrder& order) {
  if (order.import_name.empty()) return;
  if (order.kind == ContainerKind::docker)
    http_call(order.socket, "DELETE", "/images/" + order.import_name, {}, std::chrono::seconds(30));
  else
    call(order, order.unimport_words, -1, -1);
}

}  // namespace rota::gpud
