// gpud/container/box.cpp - the door, the client that makes the container, and who comes in. Linked
// into rstepd, so without libfmt.
#include "gpud/container/box.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "gpud/container/caller.h"
#include "gpud/container/enroot_start.h"
#include "gpud/container/http.h"
#include "gpud/container/mounts.h"
#include "gpud/container/program.h"
#include "gpud/container/store.h"
#include "gpud/launch/identity.h"
#include "gpud/launch/secrets.h"

namespace rota::gpud {
namespace {

constexpr std::size_t said_bytes_max = 4096;
constexpr Duration daemon_patience = std::chrono::minutes(5);
constexpr int client_patience_ms = 15'000;
constexpr Duration remove_patience = std::chrono::seconds(30);

std::string failed(const std::string& what) {
  return "cannot " + what + ": " + strerrordesc_np(errno);
}

bool copy_program(const std::string& from, const std::string& to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  ::unlink(to.c_str());
  const Fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
  struct stat status {};
  if (!source || !target || ::fstat(source.get(), &status) != 0) return false;
  off_t at = 0;
  while (at < status.st_size)
    if (::sendfile(target.get(), source.get(), &at,
                   static_cast<std::size_t>(status.st_size - at)) <= 0)
      return false;
  return ::fchmod(target.get(), 0755) == 0;
}

/// Only the owner may call, and root; the name in the container has to be the short one that
/// rota-pause knows, while here it may be as long as it likes.
Fd open_door(const std::string& directory, const Owner& owner) {
  const Fd place(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Fd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!place || !door) return Fd();
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(place.get()) + '/' + box_door;
  std::memcpy(name.sun_path, path.data(), path.size());
  ::unlink(path.c_str());
  if (::bind(door.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::chown(path.c_str(), owner.uid, owner.gid) != 0 ||
      ::listen(door.get(), 4) != 0)
    return Fd();
  return door;
}

Fd open_namespace(pid_t pid, const char* name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + name;
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

bool same_file(int a, int b) {
  struct stat first {
  }, second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_ino == second.st_ino &&
         first.st_dev == second.st_dev;
}

std::string container_path(const ContainerOrder& order, const char* rest = "") {
  return "/containers/" + order.name + rest;
}

/// 404 is as good as done; 409 says that it is being done.
std::string docker_remove(const ContainerOrder& order) {
  HttpAnswer answer = http_call(order.socket, "DELETE", container_path(order, "?force=true&v=true"),
                                {}, remove_patience);
  if (answer.status == 409) {
    answer = http_call(order.socket, "POST", container_path(order, "/wait?condition=removed"), {},
                       remove_patience);
    if (answer.status == 200) return {};
  }
  return answer.status == 204 || answer.status == 404 ? "" : message_of(answer);
}

int docker_start(const ContainerOrder& order, int output) {
  HttpAnswer answer;
  for (const bool again : {false, true}) {
    answer = http_call(order.socket, "POST", "/containers/create?name=" + order.name, order.request,
                       daemon_patience);
    // One of an earlier start of this very run, whose rstepd was killed.
    if (answer.status != 409 || again || !docker_remove(order).empty()) break;
  }
  if (answer.status == 201)
    answer = http_call(order.socket, "POST", container_path(order, "/start"), {}, daemon_patience);
  if (answer.status == 204) return 0;
  say(output, message_of(answer));
  return answer.status == 400 || answer.status == 404 ? exit_by_job : 1;
}

bool make_owned(const std::string& path, const Owner& owner) {
  if (::mkdir(path.c_str(), 0700) != 0) return errno == EEXIST;
  return ::chown(path.c_str(), owner.uid, owner.gid) == 0;
}

bool write_file(const std::string& path, const std::string& text) {
  ::unlink(path.c_str());
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  return file && ::fchmod(file.get(), 0644) == 0 &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

int Enclosure::bear_inside() const {
  return !pid || ::setns(pid.get(), CLONE_NEWPID) == 0 ? 0 : errno;
}

int Enclosure::bear_outside() const {
  return !pid || ::setns(own_pid.get(), CLONE_NEWPID) == 0 ? 0 : errno;
}

int Enclosure::enter() const {
  const std::array<std::pair<const Fd*, int>, 6> all{{{&user, CLONE_NEWUSER},
                                                      {&cgroup, CLONE_NEWCGROUP},
                                                      {&ipc, CLONE_NEWIPC},
                                                      {&uts, CLONE_NEWUTS},
                                                      {&net, CLONE_NEWNET},
                                                      {&mnt, CLONE_NEWNS}}};
  for (const auto& [fd, kind] : all)
    if (*fd && ::setns(fd->get(), kind) != 0) return errno;
  return 0;
}

ContainerBox::ContainerBox(const StepOrder& step, Owner owner, std::vector<std::uint32_t> groups)
    : step_(step), order_(step.container), owner_(std::move(owner)), groups_(std::move(groups)) {}

std::string ContainerBox::prepare() {
  const std::string& directory = order_.directory;
  // 0711: nobody but root can list it, or mount it elsewhere.
  if ((::mkdir(directory.c_str(), 0711) != 0 && errno != EEXIST) ||
      ::chmod(directory.c_str(), 0711) != 0)
    return failed("make " + directory);
  if (!copy_program(order_.pause_program, directory + '/' + box_pause))
    return failed("copy " + order_.pause_program + " to " + directory);
  // Seen in every container, whose own files may be closed to us: a tmpfs is put on it.
  if (has_secret_files(step_.launch.payload.secrets) &&
      ::mkdir((directory + '/' + box_secrets).c_str(), 0711) != 0 && errno != EEXIST)
    return failed("make " + directory + '/' + box_secrets);
  ::unlink((directory + '/' + box_pid).c_str());  // of a start before this one
  for (const std::string& own : order_.own_directories)
    if (!make_owned(own, owner_)) return failed("make " + own);
  // The image's own /etc/rc would run its entry point.
  if (order_.kind == ContainerKind::enroot &&
      !write_file(directory + '/' + box_rc, "exec \"$@\"\n"))
    return failed("write to " + directory);
  door_ = open_door(directory, owner_);
  return door_ ? "" : failed("make the door of the container in " + directory);
}

void ContainerBox::become_client(int output, const std::function<int()>& join) const {
  ::setsid();
  fresh_signals();
  if (!order_.file.empty()) {
    if (const std::string trouble = import_file(order_, owner_, groups_); !trouble.empty()) {
      say(output, trouble);
      ::_exit(exit_by_job);
    }
  }
  if (order_.kind == ContainerKind::docker) ::_exit(docker_start(order_, output));
  if (order_.kind == ContainerKind::podman) run_words(order_, order_.start_words, output);
  // enroot and its hooks are the owner's programs: they have the limits of the job.
  errno = join();
  if (errno == 0) errno = become(owner_.uid, owner_.gid, groups_);
  if (errno != 0) {
    say(output, failed("become uid " + std::to_string(owner_.uid)));
    ::_exit(126);
  }
  run_enroot(order_, owner_, step_.share, output);
}

std::string ContainerBox::start(const std::function<int()>& join) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("make a pipe");
  client_output_.reset(ends[0]);
  ::fcntl(client_output_.get(), F_SETFL, O_NONBLOCK);
  const Fd output(ends[1]);
  is_begun_ = true;
  client_ = ::_Fork();
  if (client_ == 0) become_client(output.get(), join);
  return client_ > 0 ? "" : failed("start a process");
}

void ContainerBox::read_client() {
  char part[1024];
  for (;;) {
    const ssize_t size = ::read(client_output_.get(), part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    if (size == 0) return client_output_.reset();
    said_.append(part, static_cast<std::size_t>(size));
    if (said_.size() > said_bytes_max) said_.erase(0, said_.size() - said_bytes_max);
  }
}

/// The last line that says something.
std::string ContainerBox::client_words() const {
  std::string text = said_;
  for (char& c : text)
    if (c != '\n' && static_cast<unsigned char>(c) < 0x20) c = ' ';
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (const std::size_t line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
  return text.empty() ? "it did not say why" : text;
}

bool ContainerBox::was_client(pid_t pid, int status, std::string& trouble, bool& by_node) {
  if (pid != client_ || client_ <= 0) return false;
  client_ = 0;
  if (client_output_) read_client();
  // What it leaves running, such as podman's conmon, may hold the pipe: there is no more to come.
  client_output_.reset();
  // enroot becomes the container: whenever it ends, there is none.
  const bool is_lost = order_.kind == ContainerKind::enroot;
  if (is_lost || !WIFEXITED(status) || WEXITSTATUS(status) != 0) trouble = client_words();
  by_node = !WIFEXITED(status) || WEXITSTATUS(status) != exit_by_job;
  return true;
}

std::string ContainerBox::answer_door() {
  Fd caller(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!caller) return {};
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(caller.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
      who.uid != owner_.uid)
    return {};
  // Anybody of the owner's can call, from namespaces of a job of theirs too: they are strangers.
  const Caller process(who.pid);
  if (order_.kind == ContainerKind::enroot) {
    // It is our own child that has become rota-pause.
    if (who.pid != client_) return {};
  } else {
    if (!process.is_first()) return {};
    std::string trouble;
    const auto expected = first_process(order_, trouble);
    if (!expected) return trouble;
    if (*expected != who.pid) return {};
  }
  caller_ = std::move(caller);
  return adopt(process);
}

std::string ContainerBox::open_namespaces(const Caller& caller) {
  const pid_t pid = caller.pid();
  Enclosure& in = enclosure_;
  in.user = open_namespace(pid, "user");
  in.net = open_namespace(pid, "net");
  in.mnt = open_namespace(pid, "mnt");
  in.pid = open_namespace(pid, "pid");
  in.ipc = open_namespace(pid, "ipc");
  in.uts = open_namespace(pid, "uts");
  in.cgroup = open_namespace(pid, "cgroup");
  in.own_pid = open_namespace(::getpid(), "pid");
  const Fd own_user = open_namespace(::getpid(), "user");
  const Fd own_net = open_namespace(::getpid(), "net");
  const Fd own_mnt = open_namespace(::getpid(), "mnt");
  if (!in.user || !in.net || !in.mnt || !in.pid || !in.ipc || !in.uts || !own_user || !own_net ||
      !own_mnt)
    return failed("see the container's namespaces");
  in.init = pid;
  // What was opened is of the process that was looked at, not of a later one with its number.
  if (!caller.is_alive()) return "the container ended as soon as it was there";
  const bool own_processes = same_file(in.pid.get(), in.own_pid.get());
  const bool own_users = same_file(in.user.get(), own_user.get());
  // Anybody can make namespaces below a user namespace of their own, and call from there. What we
  // do as root happens only in those that an engine made for this container; with enroot nothing
  // is: whoever goes in has become the owner before.
  if (order_.kind != ContainerKind::enroot && !own_users)
    return "the container has a user namespace of its own, which is not supported";
  if (order_.kind != ContainerKind::enroot && own_processes)
    return "what called from the container is not in a container";
  if (own_processes) in.pid.reset();
  if (same_file(in.mnt.get(), own_mnt.get()))
    return "what called from the container is not in a container";
  if (own_users) in.user.reset();
  if (same_file(in.net.get(), own_net.get())) in.net.reset();
  return {};
}

std::string ContainerBox::adopt(const Caller& caller) {
  if (std::string trouble = open_namespaces(caller); !trouble.empty()) return trouble;
  const pid_t pid = caller.pid();
  // Nobody else can come any more, nor find out where to.
  ::unlink((order_.directory + '/' + box_door).c_str());
  door_.reset();
  std::string trouble;
  if (order_.kind == ContainerKind::enroot) {
    trouble = furnish_as_owner(step_.share, owner_, groups_, pid);
  } else {
    SecretTrees secrets;
    trouble = secrets.open(step_.launch.payload.secrets, step_.launch.secrets, owner_);
    if (trouble.empty())
      trouble = furnish(order_, step_.share, secrets, owner_, groups_, enclosure_.mnt.get());
  }
  if (!trouble.empty()) return trouble;
  init_ = pid;
  return {};
}

std::string ContainerBox::store(std::uint32_t umask, const std::function<int()>& join) const {
  if (!is_up() || (order_.keep.empty() && order_.save.empty())) return {};
  return store_files(order_, owner_, groups_, umask, join);
}

std::vector<std::string> ContainerBox::environment() const {
  std::vector<std::string> variables;
  if (order_.kind != ContainerKind::enroot || !is_up()) return variables;
  const std::string text = file_read("/proc/" + std::to_string(init_) + "/environ");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    variables.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return variables;
}

/// All of what enroot has begun: nothing of it is of use without the container.
void ContainerBox::end_group() const {
  if (client_ > 0) ::kill(-client_, SIGKILL);
}

/// An engine goes on with what it was asked for, whether or not somebody waits for its answer: what
/// it has not made yet could not be removed.
void ContainerBox::end_client() {
  if (client_ <= 0) return;
  if (order_.kind == ContainerKind::enroot) end_group();
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, client_, 0)));
  pollfd wait{.fd = process.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, client_patience_ms) <= 0) ::kill(client_, SIGKILL);
  while (::waitpid(client_, nullptr, 0) < 0 && errno == EINTR) continue;
  client_ = 0;
}

std::string ContainerBox::remove() {
  caller_.reset();
  door_.reset();
  init_ = 0;
  end_client();
  std::string trouble;
  if (is_begun_ && order_.kind == ContainerKind::docker) trouble = docker_remove(order_);
  if (is_begun_ && !order_.remove_words.empty()) {
    const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    const pid_t pid = ::_Fork();
    if (pid == 0) {
      fresh_signals();
      run_words(order_, order_.remove_words, null.get());
    }
    int status = 0;
    while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      trouble = order_.remove_words.front() + " could not remove it";
  }
  if (is_begun_) remove_import(order_);
  if (is_begun_ && !order_.root.empty() && order_.keep.empty()) {
    // Its directories are the owner's; the libraries's way holds on to what it has opened.
    std::error_code error;
    std::filesystem::remove_all(order_.root, error);
    if (error) trouble = "cannot remove " + order_.root + ": " + error.message();
  }
  if (is_begun_ && order_.is_fresh) {  // what was kept before
    std::error_code ignored;
    const std::string beside = order_.root.substr(0, order_.root.rfind('/') + 1);
    std::filesystem::remove_all(beside + order_.name + ".old", ignored);
  }
  is_begun_ = false;
  for (const char* name : {box_door, box_pause, box_script, box_rc})
    ::unlink((order_.directory + '/' + name).c_str());
  ::rmdir((order_.directory + '/' + box_secrets).c_str());
  ::rmdir(order_.directory.c_str());
  return trouble;
}

}  // namespace rota::gpud
