// gpud/launch/exec.cpp - cgroups, namespaces, the owner's rights, a terminal or pipes, exec.
#include "gpud/launch/exec.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "gpud/container/enroot_start.h"
#include "gpud/launch/identity.h"
#include "gpud/launch/namespaces.h"
#include "gpud/launch/packet.h"
#include "gpud/launch/step_task.h"
#include "gpud/launch/task.h"
#include "gpud/share/stage.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr int connect_limit_ms = 10'000;

void send_news(int socket, const ExecNews& news, std::initializer_list<int> fds = {}) {
  packet_send(socket, proto::encode(news), fds);
}

[[noreturn]] void fail(int socket, int code, const std::string& text) {
  ExecNews news;
  news.kind = ExecNews::Kind::failed;
  news.code = code;
  news.text = text;
  send_news(socket, news);
  ::_exit(code);
}

[[noreturn]] void fail_at(int socket, const std::string& what, int error) {
  fail(socket, exit_not_executable, "cannot " + what + ": " + strerrordesc_np(error));
}

/// The task's variables with `first` in front, which win.
std::vector<char*> environment_of(const ExecPlace& place, const std::vector<std::string>& first) {
  return merged_environment(
      {&first, &place.order.launch.payload.environment, &place.task.environment});
}

/// Its GPUs, and nothing under Slurm's names where the cluster does not want them.
std::vector<std::string> variables_of(const ExecPlace& place, const ExecOrder& exec, int socket) {
  std::vector<std::string> variables = exec.environment;
  if (exec.kind != proto::ExecKind::task) return variables;
  if (!place.order.slurm_environment)
    std::erase_if(variables, [](const std::string& each) { return each.starts_with("SLURM_"); });
  if (exec.gpu_count == 0) return variables;
  const std::vector<std::string> all = gpus_of_run(place.order);
  const auto own = gpus_of_task(all, exec.gpu_first, exec.gpu_count);
  if (!own)
    fail(socket, exit_not_executable,
         "the job has " + std::to_string(all.size()) + " GPUs here, and the step's tasks want " +
             std::to_string(std::uint64_t{exec.gpu_first} + exec.gpu_count));
  variables.insert(variables.begin(),
                   {"CUDA_VISIBLE_DEVICES=" + *own, "NVIDIA_VISIBLE_DEVICES=" + *own});
  return variables;
}

/// Waits until all tasks of its step are ready; then there are more variables.
void pass_gate(int gate, const StepOrder& order, std::vector<std::string>& variables) {
  std::vector<std::string> late;
  if (!wait_at_gate(gate, late)) ::_exit(exit_not_executable);  // the step does not take place
  if (!order.slurm_environment)
    std::erase_if(late, [](const std::string& each) { return each.starts_with("SLURM_"); });
  const std::string pid = "TASK_PID=" + std::to_string(::getpid());
  late.push_back("ROTA_" + pid);
  if (order.slurm_environment) late.push_back("SLURM_" + pid);
  variables.insert(variables.begin(), late.begin(), late.end());
}

/// A terminal of its own, as its controlling one.
void open_terminal(const ExecOrder& exec, int socket) {
  const Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master) fail_at(socket, "open a terminal", errno);
  const int unlocked = 0;
  if (::ioctl(master.get(), TIOCSPTLCK, &unlocked) != 0)
    fail_at(socket, "unlock a terminal", errno);
  // By its master, not by a name: /dev/pts may be another one here.
  const Fd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) fail_at(socket, "open its side of a terminal", errno);
  const winsize size{.ws_row = exec.rows, .ws_col = exec.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  if (exec.rows > 0) ::ioctl(slave.get(), TIOCSWINSZ, &size);
  termios modes{};
  if (::tcgetattr(slave.get(), &modes) == 0) {
    modes.c_iflag |= IUTF8;
    ::tcsetattr(slave.get(), TCSANOW, &modes);
  }
  if (::ioctl(slave.get(), TIOCSCTTY, 0) != 0) fail_at(socket, "take a terminal", errno);
  for (const int fd : {0, 1, 2}) ::dup2(slave.get(), fd);
  send_news(socket, {}, {master.get()});
}

/// Made by the owner, who may then open them again as /dev/stdout.
void open_pipes(const ExecOrder& exec, int socket) {
  int in[2] = {-1, -1}, out[2], err[2];
  if ((exec.input && ::pipe2(in, O_CLOEXEC) != 0) || ::pipe2(out, O_CLOEXEC) != 0 ||
      ::pipe2(err, O_CLOEXEC) != 0)
    fail_at(socket, "make a pipe", errno);
  if (exec.input)
    send_news(socket, {}, {in[1], out[0], err[0]});
  else
    send_news(socket, {}, {out[0], err[0]});
  if (exec.input) ::dup2(in[0], 0);  // else it is /dev/null, as rstepd's own
  ::dup2(out[1], 1);
  ::dup2(err[1], 2);
}

bool connect_within(const Fd& stream, const sockaddr* address, socklen_t size, int& error) {
  if (::connect(stream.get(), address, size) == 0) return true;
  error = errno;
  if (error != EINPROGRESS) return false;
  pollfd wait{.fd = stream.get(), .events = POLLOUT, .revents = 0};
  error = ETIMEDOUT;
  if (::poll(&wait, 1, connect_limit_ms) <= 0) return false;
  socklen_t length = sizeof error;
  return ::getsockopt(stream.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

/// A connection to a port of the run's own loopback, by IPv4 or else IPv6.
[[noreturn]] void connect_port(std::uint16_t port, int socket) {
  int error = 0;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Fd stream(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (stream && connect_within(stream, reinterpret_cast<sockaddr*>(&four), sizeof four, error)) {
    send_news(socket, {}, {stream.get()});
    ::_exit(0);
  }
  const int first_error = stream ? error : errno;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  stream.reset(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (stream && connect_within(stream, reinterpret_cast<sockaddr*>(&six), sizeof six, error)) {
    send_news(socket, {}, {stream.get()});
    ::_exit(0);
  }
  fail_at(socket, "connect to port " + std::to_string(port), first_error);
}

volatile pid_t relayed = 0;
void pass_on(int signal) {
  if (relayed > 0) ::kill(-relayed, signal);
}

/// The parent of a process that is in another pid namespace: signals in, its end out.
[[noreturn]] void relay(pid_t inner) {
  relayed = inner;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH})
    ::signal(signal, pass_on);
  for (const int fd : {0, 1, 2}) ::close(fd);
  int status = 0;
  while (::waitpid(inner, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    ::signal(signal, SIG_DFL);
    ::kill(::getpid(), signal);
  }
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : exit_not_executable);
}

void enter_place(const ExecPlace& place, const std::string& wanted, int socket) {
  const StepOrder& order = place.order;
  const Owner& owner = order.launch.owner;
  Namespaces spaces;
  if (place.anchor != 0) {
    if (const int error = spaces.open(place.anchor))
      fail_at(socket, "look into the namespaces of its task", error);
    // In a container nobody gets more than its tasks have.
    if (!order.container.empty())
      if (const int error = give_up_capabilities())
        fail_at(socket, "give up root's capabilities", error);
    std::string what;
    if (const int error = spaces.enter(owner.uid, owner.gid, order.groups, what))
      fail_at(socket, what, error);
    if (spaces.has_pid()) {
      const pid_t inner = ::_Fork();
      if (inner < 0) fail_at(socket, "start a process", errno);
      if (inner > 0) {
        ::close(socket);
        relay(inner);
      }
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
  } else {
    if (const int error = enter_share(order.share))
      fail_at(socket, "put its part of a GPU before it", error);
    if (const int error = become(owner.uid, owner.gid, order.groups))
      fail_at(socket, "become uid " + std::to_string(owner.uid), error);
  }
  ::umask(static_cast<mode_t>(order.launch.payload.umask & 0777));
  if (wanted.empty() && !order.container.empty())
    for (const std::string& inside : workdirs_inside(order.container))
      if (::chdir(inside.c_str()) == 0) return;
  const std::string& directory = wanted.empty() ? order.launch.payload.working_directory : wanted;
  if (::chdir(directory.c_str()) == 0) return;
  const int error = errno;
  // A container may have no such directory: then where its process is.
  if (!wanted.empty() || !spaces.go_to_directory())
    fail_at(socket, "enter working directory '" + directory + "'", error);
}

[[noreturn]] void fail_to_run(int socket, const std::string& program, int error) {
  const int code = error == ENOENT || error == ENOTDIR ? exit_not_found : exit_not_executable;
  fail(socket, code, "cannot run '" + program + "': " + strerrordesc_np(error));
}

/// $SHELL of the job, if it can be run here.
std::vector<std::string> shell_words() {
  for (const char* shell : {const_cast<const char*>(::getenv("SHELL")), "/bin/bash"})
    if (shell != nullptr && *shell == '/' && ::access(shell, X_OK) == 0) return {shell};
  return {"/bin/sh"};
}

/// A program of ours, on the node itself, with the owner's rights and none of the owner's
/// variables: they are not for it, and libpmix would take orders from them.
[[noreturn]] void become_pmix_server(const ExecPlace& place, const ExecOrder& exec, int socket) {
  const Owner& owner = place.order.launch.owner;
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  std::string program(self, size > 0 ? static_cast<std::size_t>(size) : 0);
  program = program.substr(0, program.rfind('/') + 1) + "rota-pmix";
  if (const int error = become(owner.uid, owner.gid, place.order.groups))
    fail_at(socket, "become uid " + std::to_string(owner.uid), error);
  if (const int error = find_program(program)) {
    if (error == ENOENT) fail(socket, exit_not_found, "this node's Rota was built without PMIx");
    fail_to_run(socket, program, error);
  }
  if (::chdir("/") != 0) fail_at(socket, "go to /", errno);
  ::setsid();
  open_pipes(exec, socket);
  char path[] = "PATH=/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8";
  char* variables[] = {path, locale, nullptr};
  char* words[] = {program.data(), nullptr};
  ::execve(program.c_str(), words, variables);
  fail_to_run(socket, program, errno);
}

}  // namespace

void become_exec(const ExecPlace& place, const ExecOrder& exec, int socket, int gate) {
  const StepOrder& order = place.order;
  if (exec.kind == proto::ExecKind::connect) {
    Namespaces spaces;
    if (place.anchor != 0) {
      int error = spaces.open(place.anchor);
      if (error == 0) error = spaces.enter_network();
      if (error != 0) fail_at(socket, "enter the network of its task", error);
    }
    if (const int error = become(order.launch.owner.uid, order.launch.owner.gid, order.groups))
      fail_at(socket, "become the job's owner", error);
    connect_port(exec.port, socket);
  }
  if (const Excuse excuse = enter_run(order, place.cgroups, place.cloned); !excuse.text.empty())
    fail(socket, exit_not_executable, excuse.text);
  if (exec.kind == proto::exec_pmix) become_pmix_server(place, exec, socket);
  enter_place(place, exec.directory, socket);
  ::setsid();
  std::vector<std::string> own = variables_of(place, exec, socket);
  std::vector<char*> variables = environment_of(place, own);
  environ = variables.data();
  if (place.anchor == 0)
    if (const std::string why = prove_share(order, environ); !why.empty())
      fail(socket, exit_not_executable, "cannot give it a part of a GPU: " + why);
  std::vector<std::string> words = exec.words.empty() ? shell_words() : exec.words;
  // The command that the allocation is for, as opposed to what people put beside it.
  const bool is_its_own = order.holds && exec.kind == proto::ExecKind::task;
  if (exec.ends_run || is_its_own) {
    const std::vector<std::string>& entry = order.container.entry_words;
    words.insert(words.begin(), entry.begin(), entry.end());
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const bool is_task = exec.kind == proto::ExecKind::task;
  if (is_task)
    if (const int error = find_program(words.front())) fail_to_run(socket, words.front(), error);
  if (exec.pty)
    open_terminal(exec, socket);
  else
    open_pipes(exec, socket);
  if (is_task) {
    pass_gate(gate, order, own);
    variables = environment_of(place, own);
    environ = variables.data();
  }
  ::execvp(arguments[0], arguments.data());
  int error = errno;
  // A directory on the path that is closed to the owner makes it look as if the program were.
  if (error == EACCES && !is_on_path(words.front())) error = ENOENT;
  fail_to_run(socket, words.front(), error);
}

}  // namespace rota::gpud
