// gpud/launch/task.cpp - the steps between fork and exec, in the only order that works: what needs
// root first, then the owner's rights, then everything that must happen with those rights.
#include "gpud/launch/task.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "gpud/launch/identity.h"
#include "gpud/share/stage.h"

namespace rota::gpud {
namespace {

bool is_spared_by_oom_killer = false;

/// What a node lacks or loses, whatever the job asks for. A file that is not there, or not for the
/// owner, is the job's mistake: it would be the same elsewhere.
bool is_nodes_trouble(int error) {
  switch (error) {
    case EIO:
    case ESTALE:
    case ENODEV:
    case ENXIO:
    case ENOSPC:
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case EHOSTUNREACH:
      return true;
    default:
      return false;
  }
}

Excuse failed(const std::string& what, int error) {
  return {"cannot " + what + ": " + strerrordesc_np(error), is_nodes_trouble(error)};
}

Excuse node_failed(const std::string& what, int error) { return {failed(what, error).text, true}; }

/// What rstepd catches, exec sets back; but a SIGTERM that comes before must end this child.
void default_signals() {
  ::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Without a cpuset this is only a hint that the program may undo, and better than nothing.
void set_affinity(const std::vector<std::uint32_t>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::uint32_t cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// For all that the task and its children allocate. An older kernel knows only one node to prefer.
int set_memory_policy(const MemoryBinding& binding) {
  if (binding.nodes.empty()) return 0;
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  constexpr std::size_t words = 1024 / bits;  // as many nodes as a kernel can have
  std::array<unsigned long, words> mask{};
  for (const std::uint32_t node : binding.nodes)
    if (node < 1024) mask[node / bits] |= 1ul << (node % bits);
  constexpr int mode_preferred = 1, mode_bind = 2, mode_preferred_many = 5;
  const auto set = [&mask](int mode) {
    return ::syscall(SYS_set_mempolicy, mode, mask.data(), 1024 + 1) == 0 ? 0 : errno;
  };
  if (binding.strict) return set(mode_bind);
  if (set(mode_preferred_many) == 0) return 0;
  mask.fill(0);
  const std::uint32_t first = binding.nodes.front() % 1024;
  mask[first / bits] |= 1ul << (first % bits);
  set(mode_preferred);  // a wish that is not heard harms nobody
  return 0;
}

/// A hard limit that we may not raise is lowered to what is possible: the job runs all the same.
void set_limits(const std::vector<ResourceLimit>& limits) {
  for (const ResourceLimit& limit : limits) {
    const auto resource = static_cast<__rlimit_resource_t>(limit.resource);
    rlimit wanted{.rlim_cur = limit.soft, .rlim_max = limit.hard};
    if (::setrlimit(resource, &wanted) == 0) continue;
    rlimit now{};
    if (::getrlimit(resource, &now) != 0) continue;
    wanted.rlim_max = std::min(wanted.rlim_max, now.rlim_max);
    wanted.rlim_cur = std::min(wanted.rlim_cur, wanted.rlim_max);
    ::setrlimit(resource, &wanted);
  }
}

Excuse open_as(int target, const std::string& path, int flags, const char* what) {
  const int fd = ::open(path.c_str(), flags | O_NOCTTY | O_CLOEXEC, 0666);
  if (fd < 0) return failed(std::string("open ") + what + " '" + path + "'", errno);
  ::dup2(fd, target);
  ::close(fd);
  return {};
}

Excuse open_files(const StepOrder& order, const TaskOrder& task) {
  // rstepd's own standard input is /dev/null, which is what a job without one gets.
  const std::string& input = order.launch.payload.stdin_path;
  if (!input.empty())
    if (Excuse trouble = open_as(0, input, O_RDONLY, "input file"); !trouble.text.empty())
      return trouble;
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  const int first = flags | (task.stdout_truncated ? O_TRUNC : 0);
  if (Excuse trouble = open_as(1, task.stdout_path, first, "output file"); !trouble.text.empty())
    return trouble;
  if (task.stderr_path.empty()) {
    ::dup2(1, 2);
    return {};
  }
  return open_as(2, task.stderr_path, flags | (task.stderr_truncated ? O_TRUNC : 0), "error file");
}

class Strings {
 public:
  void add(char* text) { pointers_.push_back(text); }
  void add(const std::string& text) { add(const_cast<char*>(text.c_str())); }
  void add(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(text);
  }
  char** get() {
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

 private:
  std::vector<char*> pointers_;
};

Excuse run_script(const StepOrder& order, char** environment) {
  Strings arguments;
  arguments.add(order.script_path);
  arguments.add(order.launch.payload.arguments);
  char** const argv = arguments.get();
  ::execve(order.script_path.c_str(), argv, environment);
  if (errno == ENOEXEC) {  // no #! line: the shell's language, as everywhere
    const std::string shell = "/bin/sh";
    Strings with_shell;
    with_shell.add(shell);
    for (char** argument = argv; *argument != nullptr; ++argument) with_shell.add(*argument);
    ::execve(shell.c_str(), with_shell.get(), environment);
    return failed("run the script with /bin/sh", errno);
  }
  const int error = errno;
  const std::string& script = order.launch.payload.script;
  if (script.starts_with("#!"))
    return failed("run the script's interpreter '" +
                      script.substr(2, std::min(script.find('\n'), std::size_t{200}) - 2) + "'",
                  error);
  return failed("run the script", error);
}

Excuse run_program(const StepOrder& order, const TaskOrder& task) {
  const std::string pid = "TASK_PID=" + std::to_string(::getpid());
  const std::string rota_pid = "ROTA_" + pid;
  const std::string slurm_pid = "SLURM_" + pid;
  Strings environment;
  environment.add(order.launch.payload.environment);
  environment.add(task.environment);
  environment.add(rota_pid);
  if (order.slurm_environment) environment.add(slurm_pid);
  char** const variables = environment.get();
  if (!order.share.empty())
    if (const std::string why = probe_share(order.share, variables); !why.empty())
      return {"cannot give it a part of a GPU: " + why, true};
  if (order.launch.payload.mode == LaunchMode::batch) return run_script(order, variables);
  if (order.launch.payload.arguments.empty()) return {"cannot run the job: it names no command"};
  environ = variables;  // execvp looks for PATH here
  Strings arguments;
  arguments.add(order.launch.payload.arguments);
  const std::string& program = order.launch.payload.arguments.front();
  ::execvp(program.c_str(), arguments.get());
  return failed("run '" + program + "'", errno);
}

}  // namespace

void look_at_oom_score() {
  is_spared_by_oom_killer = file_read("/proc/self/oom_score_adj").starts_with('-');
}

void reset_oom_score() {
  if (is_spared_by_oom_killer) file_write("/proc/self/oom_score_adj", "0");
}

Excuse enter_run(const StepOrder& order, const RunCgroups& cgroups, bool cloned) {
  ::setsid();
  default_signals();
  if (const int error = cgroups.join(cloned)) return node_failed("enter the job's cgroup", error);
  if (!order.cpu_list.empty() && !cgroups.binds_cpus()) set_affinity(order.cpus);
  if (const int error = set_memory_policy(order.memory))
    return node_failed("bind its memory to NUMA nodes", error);
  reset_oom_score();
  set_limits(order.launch.payload.limits);
  return {};
}

Excuse become_task(const StepOrder& order, std::size_t index, const RunCgroups& cgroups,
                   bool cloned) {
  const proto::LaunchRun& launch = order.launch;
  if (Excuse trouble = enter_run(order, cgroups, cloned); !trouble.text.empty()) return trouble;
  if (const int error = enter_share(order.share))
    return node_failed("put its part of a GPU before it", error);
  if (const int error = become(launch.owner.uid, launch.owner.gid, order.groups))
    return node_failed("become uid " + std::to_string(launch.owner.uid) + " gid " +
                           std::to_string(launch.owner.gid) + " from uid " +
                           std::to_string(::geteuid()),
                       error);
  ::umask(static_cast<mode_t>(launch.payload.umask & 0777));
  const std::string& directory = launch.payload.working_directory;
  if (::chdir(directory.c_str()) != 0)
    return failed("enter working directory '" + directory + "'", errno);
  const TaskOrder& task = order.tasks[index];
  if (Excuse trouble = open_files(order, task); !trouble.text.empty()) return trouble;
  return run_program(order, task);
}

void write_notice(const StepOrder& order, const std::string& text) {
  ::signal(SIGTERM, SIG_IGN);  // the job may be told to end in the same moment
  const proto::LaunchRun& launch = order.launch;
  if (order.tasks.empty() || become(launch.owner.uid, launch.owner.gid, order.groups) != 0 ||
      ::chdir(launch.payload.working_directory.c_str()) != 0)
    return;
  const TaskOrder& task = order.tasks.front();
  const std::string& path = task.stderr_path.empty() ? task.stdout_path : task.stderr_path;
  // A fifo that nobody reads would keep us waiting.
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  const std::string line = "rota: " + text + '\n';
  if (file && ::write(file.get(), line.data(), line.size()) < 0) return;
}

}  // namespace rota::gpud
