// gpud/launch/task.cpp - the steps between fork and exec, in the only order that works: what needs
// root first, then the owner's rights, then everything that must happen with those rights.
#include "gpud/launch/task.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "gpud/container/enroot_start.h"
#include "gpud/container/share_trees.h"
#include "gpud/launch/identity.h"
#include "gpud/launch/namespaces.h"
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

/// Where the script is for who runs it.
std::string script_place(const StepOrder& order) {
  return order.container.empty() ? order.script_path : std::string(box_place) + '/' + box_script;
}

Excuse run_script(const StepOrder& order, char** environment) {
  const std::string path = script_place(order);
  Strings arguments;
  arguments.add(path);
  arguments.add(order.launch.payload.arguments);
  char** const argv = arguments.get();
  ::execve(path.c_str(), argv, environment);
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
  if (const std::string why = prove_share(order, variables); !why.empty())
    return {"cannot give it a part of a GPU: " + why, true};
  const std::vector<std::string>& entry = order.container.entry_words;
  const bool batch = order.launch.payload.mode == LaunchMode::batch;
  if (batch && entry.empty()) return run_script(order, variables);
  const std::string script = script_place(order);
  Strings arguments;
  arguments.add(entry);
  if (batch) arguments.add(script);
  arguments.add(order.launch.payload.arguments);
  char** const words = arguments.get();
  if (words[0] == nullptr) return {"cannot run the job: it names no command"};
  environ = variables;  // execvp looks for PATH here
  ::execvp(words[0], words);
  return failed(std::string("run '") + words[0] + "'", errno);
}

Excuse no_owner(const Owner& owner, int error) {
  return node_failed("become uid " + std::to_string(owner.uid) + " gid " +
                         std::to_string(owner.gid) + " from uid " + std::to_string(::geteuid()),
                     error);
}

/// The files are the node's, so they are opened before the container is entered, with the owner's
/// rights and with a way back.
Excuse open_files_as_owner(const StepOrder& order, const TaskOrder& task) {
  const Owner& owner = order.launch.owner;
  if (::setgroups(order.groups.size(), order.groups.data()) != 0 ||
      ::setresgid(owner.gid, owner.gid, owner.gid) != 0 ||
      ::setresuid(static_cast<uid_t>(-1), owner.uid, static_cast<uid_t>(-1)) != 0)
    return no_owner(owner, errno);
  const std::string& directory = order.launch.payload.working_directory;
  Excuse trouble;
  if (::chdir(directory.c_str()) != 0)
    trouble = failed("enter working directory '" + directory + "'", errno);
  else
    trouble = open_files(order, task);
  if (::setresuid(static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)) != 0)
    return no_owner(owner, errno);
  return trouble;
}

Excuse go_to_workdir(const ContainerOrder& container) {
  for (const std::string& directory : workdirs_inside(container))
    if (::chdir(directory.c_str()) == 0) return {};
  return failed("enter working directory '" + container.workdirs.front() + "' in the container",
                errno);
}

/// enroot's user namespace is the owner's: whoever goes there has become the owner before.
Excuse enter_enroot(const StepOrder& order, const TaskOrder& task, pid_t init) {
  const Owner& owner = order.launch.owner;
  Namespaces spaces;
  if (const int error = spaces.open(init)) return node_failed("look into the container", error);
  if (Excuse trouble = open_files_as_owner(order, task); !trouble.text.empty()) return trouble;
  std::string what;
  if (const int error = spaces.enter(owner.uid, owner.gid, order.groups, what))
    return node_failed(what, error);
  if (const int error = give_up_capabilities())
    return node_failed("give up the container's capabilities", error);
  ::umask(static_cast<mode_t>(order.launch.payload.umask & 0777));
  return go_to_workdir(order.container);
}

Excuse enter_container(const StepOrder& order, const TaskOrder& task, const Enclosure& inside) {
  if (order.container.kind == ContainerKind::enroot) return enter_enroot(order, task, inside.init);
  const Owner& owner = order.launch.owner;
  if (Excuse trouble = open_files_as_owner(order, task); !trouble.text.empty()) return trouble;
  if (const int error = inside.enter()) return node_failed("enter the container", error);
  if (const int error = give_up_capabilities())
    return node_failed("give up root's capabilities", error);
  if (::setresgid(owner.gid, owner.gid, owner.gid) != 0 ||
      ::setresuid(owner.uid, owner.uid, owner.uid) != 0)
    return no_owner(owner, errno);
  ::umask(static_cast<mode_t>(order.launch.payload.umask & 0777));
  return go_to_workdir(order.container);
}

}  // namespace

void look_at_oom_score() {
  is_spared_by_oom_killer = file_read("/proc/self/oom_score_adj").starts_with('-');
}

void reset_oom_score() {
  if (is_spared_by_oom_killer) file_write("/proc/self/oom_score_adj", "0");
}

int give_up_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return errno;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

std::string prove_share(const StepOrder& order, char** environment) {
  if (order.share.empty() || order.share.by_driver) return {};
  if (order.container.empty())
    return probe_share(order.share, share_probe(order.share), environment);
  // Without the driver there is nothing to be limited; the watchdog looks all the same.
  if (!has_share_inside()) return {};
  return probe_share(order.share, std::string(share_driver_place) + '/' + share_probe_name,
                     environment);
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
                   bool cloned, const Enclosure* inside) {
  const proto::LaunchRun& launch = order.launch;
  if (Excuse trouble = enter_run(order, cgroups, cloned); !trouble.text.empty()) return trouble;
  const TaskOrder& task = order.tasks[index];
  if (inside != nullptr) {
    if (Excuse trouble = enter_container(order, task, *inside); !trouble.text.empty())
      return trouble;
    return run_program(order, task);
  }
  if (const int error = enter_share(order.share))
    return node_failed("put its part of a GPU before it", error);
  if (const int error = become(launch.owner.uid, launch.owner.gid, order.groups))
    return no_owner(launch.owner, error);
  ::umask(static_cast<mode_t>(launch.payload.umask & 0777));
  const std::string& directory = launch.payload.working_directory;
  if (::chdir(directory.c_str()) != 0)
    return failed("enter working directory '" + directory + "'", errno);
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
