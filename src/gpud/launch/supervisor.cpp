// gpud/launch/supervisor.cpp - rstepd's loop: children, the line to rgpud, and two deadlines.
#include "gpud/launch/supervisor.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/clock.h"
#include "gpud/container/enroot_start.h"
#include "gpud/container/store.h"
#include "gpud/launch/exec.h"
#include "gpud/launch/fence.h"
#include "gpud/launch/process_tree.h"
#include "gpud/launch/record.h"
#include "gpud/launch/script.h"
#include "gpud/launch/secrets.h"
#include "gpud/launch/task.h"
#include "gpud/share/driver_limit.h"
#include "gpud/share/stage.h"

namespace rota::gpud {
namespace {

/// poll() counts without the time the host sleeps; our deadlines include it.
constexpr Duration sleep_max = std::chrono::seconds(60);
/// At most so long before its end an interactive job says that it is near.
constexpr std::int64_t notice_seconds_max = 300;

volatile std::sig_atomic_t asked_to_end = 0;

void on_nothing(int) {}
void on_term(int) { asked_to_end = 1; }

/// fork(), or straight into a cgroup v2 directory where the kernel can do that: moving a process
/// later makes the whole host wait.
pid_t fork_into(int cgroup, bool& cloned) {
  cloned = false;
  if (cgroup >= 0) {
    clone_args arguments{};
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = SIGCHLD;
    arguments.cgroup = static_cast<std::uint64_t>(cgroup);
    const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid >= 0) {
      cloned = true;
      return static_cast<pid_t>(pid);
    }
  }
  return ::_Fork();
}

/// How the child that could not become a task begins its excuse.
constexpr char by_node_mark = 'n', by_job_mark = 'j';

/// A SIGTERM that came while this process was idle was not meant for the run that begins now.
void forget_old_signals() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  const timespec now{};
  while (::sigtimedwait(&term, nullptr, &now) > 0) continue;
  asked_to_end = 0;
}

}  // namespace

void Supervisor::take_signals() {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  ::signal(SIGTERM, on_term);
  // Sent by accident, from a terminal or to a group: caught, so that exec gives a job the default.
  for (const int signal : {SIGHUP, SIGINT}) ::signal(signal, on_nothing);
}

Supervisor::Supervisor(StepOrder order, Fd record, Fd socket)
    : order_(std::move(order)),
      record_(std::move(record)),
      link_(order_.launch.run, order_.spool_dir, std::move(socket)),
      cgroups_(order_.cgroups),
      fetcher_(order_, cgroups_),
      begun_(mono_now()) {
  // The tasks of a job that is made of them are its step 0.
  execs_.number_steps_from(order_.launch.payload.mode == LaunchMode::tasks ? 1 : 0);
  execs_.set_kill_wait(kill_wait());
}

bool Supervisor::run(bool may_go_on) {
  forget_old_signals();
  ::signal(SIGCHLD, on_nothing);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (order_.tasks.empty()) {
    all_started();
  } else {
    const bool strict = order_.memory.strict;
    std::string trouble =
        cgroups_.create(order_.launch.part.memory_bytes, order_.cpu_list,
                        strict ? number_list(order_.memory.nodes) : order_.memory_nodes, strict);
    if (!trouble.empty()) link_.send(report(StepReport::Kind::note, std::move(trouble)));
    if (trouble = cgroups_.confine(order_.devices); !trouble.empty())
      trouble = "cannot confine the job to its GPUs: " + trouble;
    if (trouble.empty()) trouble = place_secrets(order_);
    if (trouble.empty() && !order_.container.empty()) {
      box_ = std::make_unique<ContainerBox>(order_, order_.launch.owner, order_.groups);
      trouble = box_->prepare();
    }
    if (trouble.empty()) trouble = write_script(order_);
    if (trouble.empty()) trouble = open_share();
    if (!trouble.empty())
      fail_launch({std::move(trouble), true});
    else
      start_run();
  }
  while (!done()) wait_for_event();
  store_container();
  remove_container();
  kill_rest();
  if (order_.share.by_driver) clear_driver_limits(order_.share, order_.cgroups.tracking);
  if (share_ != nullptr) {
    share_.reset();
    unstage_share(order_.share);
  }
  fetcher_.remove();
  remove_script(order_);
  remove_secrets(order_.secrets_dir);
  return report_end(verdict(), may_go_on && !is_given_up_ && asked_to_end == 0);
}

void Supervisor::start_run() {
  if (fetcher_.is_done()) return start_inside();
  if (std::string trouble = fetcher_.begin(); !trouble.empty())
    fail_launch({std::move(trouble), true});
}

void Supervisor::start_inside() {
  if (box_ == nullptr) return order_.holds ? all_started() : launch_next();
  opened_ = mono_now();
  if (std::string trouble = box_->start([this] { return cgroups_.join(false); }); !trouble.empty())
    fail_launch({std::move(trouble), true});
}

/// Its first process is one of the run's: it is tracked, limited and killed with the others.
void Supervisor::container_is_up() {
  if (const int error = cgroups_.take(box_->init()))
    return fail_launch(
        {std::string("cannot move the container to the job's cgroup: ") + strerrordesc_np(error),
         true});
  adopt_variables(box_->environment(), order_);
  if (order_.holds) return all_started();
  launch_next();
}

/// The job's own work is over: what it has left running must not write into it meanwhile.
void Supervisor::store_container() {
  const ContainerOrder& wish = order_.container;
  if (box_ == nullptr || !started_ || (wish.keep.empty() && wish.save.empty())) return;
  for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
  store_trouble_ =
      box_->store(order_.launch.payload.umask, [this] { return cgroups_.join(false); });
}

void Supervisor::remove_container() {
  if (box_ == nullptr) return;
  // Its files are removed as well: nobody may be at work on them.
  if (!order_.container.root.empty()) cgroups_.kill();
  if (std::string trouble = box_->remove(); !trouble.empty())
    link_.send(report(StepReport::Kind::left, "its container is left over: " + trouble));
}

/// All that is the job's. In a container that is not all that descends from us: some of it is not
/// the job's, and what lost its parent in there has another one now.
std::vector<pid_t> Supervisor::processes() const {
  if (box_ == nullptr) return descendants_of(::getpid());
  std::vector<pid_t> pids = cgroups_.processes();
  std::erase(pids, box_->init());
  return pids;
}

/// "0,1", as the kernel reads it.
std::string Supervisor::number_list(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

StepReport Supervisor::report(StepReport::Kind kind, std::string detail) const {
  return {kind, order_.launch.run, start_time_, {}, std::move(detail)};
}

/// Whether the driver itself holds the run to its parts of GPUs. Where it should and does not, the
/// shim has to; and where the run may hold more at times: the driver shows a program what it may
/// hold as the GPU's memory, which must not change under it.
bool Supervisor::limit_by_driver() {
  ShareOrder& share = order_.share;
  const auto bursts = [](const GpuShare& gpu) { return gpu.request_bytes != 0; };
  if (std::ranges::any_of(share.gpus, bursts)) return false;
  if (!share.driver_limits || !order_.cgroups.tracking_v2 || order_.cgroups.tracking.empty())
    return false;
  const std::string why = set_driver_limits(share, order_.cgroups.tracking);
  share.by_driver = why.empty();
  if (!share.by_driver)
    link_.send(report(StepReport::Kind::note,
                      "the driver does not limit its part of a GPU, so librota_gpu does: " + why));
  return share.by_driver;
}

/// One sentence when the run's parts of GPUs cannot be watched over; "" when they are, or are none.
std::string Supervisor::open_share() {
  if (order_.share.empty()) return {};
  if (limit_by_driver()) return {};
  std::string note;
  std::string trouble =
      stage_share(order_.share, order_.launch.payload.environment, !order_.container.empty(), note);
  if (!trouble.empty()) return trouble;
  auto opened =
      ShareDoor::open(share_socket(order_.share), order_.launch.owner.uid, order_.share.gpus);
  if (!opened) {
    unstage_share(order_.share);
    return opened.error().message();
  }
  share_ = *std::move(opened);
  if (!note.empty()) link_.send(report(StepReport::Kind::note, std::move(note)));
  return {};
}

/// What the driver says of the run's GPUs. One that really holds more than its share has gone past
/// the shim: it hurts its neighbours as long as it lives, so it gets no grace.
void Supervisor::judge_share(const std::vector<GpuHolders>& held) {
  if (share_ == nullptr || kill_at_) return;
  std::vector<std::vector<GpuProcess>> by_gpu;
  for (const GpuShare& gpu : share_->books().shares()) {
    const auto found = std::ranges::find(held, gpu.uuid, &GpuHolders::uuid);
    if (found == held.end()) return;  // it did not answer: no verdict
    by_gpu.push_back(found->processes);
  }
  const std::vector<pid_t> ours = processes();
  const auto breach = share_->books().sample(by_gpu, [&ours](std::uint32_t pid) {
    return std::ranges::find(ours, static_cast<pid_t>(pid)) != ours.end();
  });
  // For the next one: a second early, but of both counts the larger is believed.
  share_->books().before_sample();
  if (!breach) return;
  begin_end(EndCause::out_of_memory, "it held " + std::to_string(breach->held_bytes >> 20) +
                                         " MiB of " + breach->uuid + ", and its share is " +
                                         std::to_string(breach->limit_bytes >> 20) + " MiB");
  end_within(Duration::zero(), SIGKILL);
}

void Supervisor::launch_next() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail_launch({std::string("cannot make a pipe: ") + strerrordesc_np(errno), true});
  launching_.reset(ends[0]);
  Fd answer(ends[1]);
  bool cloned = false;
  const Enclosure* inside = box_ == nullptr ? nullptr : &box_->enclosure();
  if (inside != nullptr)
    if (const int error = inside->bear_inside()) {
      launching_.reset();
      return fail_launch(
          {std::string("cannot enter the container: ") + strerrordesc_np(error), true});
    }
  const pid_t pid = fork_into(cgroups_.clone_fd(), cloned);
  if (pid != 0 && inside != nullptr) inside->bear_outside();
  if (pid == 0) {
    // What tells rgpud that we live must not be held open by a child that hangs in open().
    record_.reset();
    if (link_.is_open()) ::close(link_.fd());
    const Excuse excuse = become_task(order_, tasks_.size(), cgroups_, cloned, inside);
    const std::string said = (excuse.by_node ? by_node_mark : by_job_mark) + excuse.text;
    if (::write(answer.get(), said.data(), said.size()) < 0) ::_exit(126);
    ::_exit(127);
  }
  if (pid < 0) {
    launching_.reset();
    return fail_launch({std::string("cannot start a process: ") + strerrordesc_np(errno), true});
  }
  tasks_.push_back({.pid = pid, .running = true});
}

/// The pipe has closed: with nothing said, the child's exec closed it.
void Supervisor::launch_answered() {
  char excuse[1024];
  ssize_t size = ::read(launching_.get(), excuse, sizeof excuse);
  launching_.reset();
  if (size > 0)
    return fail_launch(
        {std::string(excuse + 1, static_cast<std::size_t>(size) - 1), excuse[0] == by_node_mark});
  if (kill_at_) return;
  if (tasks_.size() < order_.tasks.size()) return launch_next();
  all_started();
}

void Supervisor::all_started() {
  started_ = true;
  start_time_ = wall_now();
  // Without this entry only the start's time would be lost with us; the job goes on.
  static_cast<void>(record_append(record_.get(), RecordStart{start_time_}));
  link_.send(report(StepReport::Kind::started));
}

/// False when there is no child left, and so, as we are their reaper, no process of the run.
bool Supervisor::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
    if (execs_.child_ended(pid, status)) continue;
    Excuse excuse;
    if (fetcher_.was(pid, status, excuse.text)) {
      if (!excuse.text.empty())
        fail_launch(std::move(excuse));
      else if (!kill_at_)
        start_run();
      continue;
    }
    if (box_ != nullptr && box_->was_client(pid, status, excuse.text, excuse.by_node) &&
        !excuse.text.empty()) {
      // Nobody may follow its number any more, which will be another process's one day.
      if (box_->is_up()) begin_end(EndCause::exited, "its container was ended");
      fail_launch({"the container did not start: " + excuse.text, excuse.by_node});
    }
    for (Task& task : tasks_)
      if (task.running && task.pid == pid) task_ended(task, status);
  }
}

void Supervisor::task_ended(Task& task, int status) {
  task.running = false;
  task.status = status;
  task.ours = kill_at_.has_value();
  // One failed task ends the others: they would wait for it for ever.
  if (badness(status) != 0 && !kill_at_ && order_.tasks.size() > 1) begin_end(EndCause::exited, {});
}

bool Supervisor::done() const {
  if (is_given_up_) return true;
  if (launching_ || fetcher_.is_running()) return false;
  for (const Task& task : tasks_)
    if (task.running) return false;
  const bool is_opening = box_ != nullptr && !box_->is_up();
  if ((is_opening || !fetcher_.is_done()) && !kill_at_ && !order_.tasks.empty()) return false;
  if (order_.holds) return kill_at_.has_value() && !execs_.has_processes();
  return kill_at_.has_value() || (!order_.tasks.empty() && tasks_.size() == order_.tasks.size());
}

void Supervisor::fail_launch(Excuse excuse) {
  if (kill_at_) return;
  by_node_ = excuse.by_node;
  begin_end(EndCause::launch_failed, std::move(excuse.text));
}

void Supervisor::begin_end(EndCause cause, std::string detail) {
  if (kill_at_) return;
  cause_ = cause;
  detail_ = std::move(detail);
  end_within(kill_wait(), SIGTERM);
}

/// The first word sets the grace, a later one can only shorten it.
void Supervisor::end_within(Duration grace, int signal) {
  const MonoTime at = mono_now() + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
  if (tasks_.empty() && !execs_.has_processes() && !fetcher_.is_running()) return;
  signal_all(signal);
  signal_all(SIGCONT);  // a stopped process could not obey
}

/// An allocation ends with the process that it was made for, or when everybody has left it.
void Supervisor::look_after_hold(MonoTime now) {
  if (!order_.holds || kill_at_ || !started_) return;
  if (execs_.finished()) return begin_end(EndCause::exited, {});
  if (execs_.is_held() || order_.linger_ms < 0) {
    unheld_since_.reset();
    return;
  }
  if (!unheld_since_) unheld_since_ = now;
  if (now >= *unheld_since_ + std::chrono::milliseconds(order_.linger_ms))
    begin_end(EndCause::exited, "the rrun or ralloc that held it has gone");
}

/// When people who sit in it are told that its time limit is near.
std::optional<MonoTime> Supervisor::notice_at() const {
  const JobSpec& spec = order_.launch.spec;
  if (noticed_ || kill_at_ || !started_ || spec.kind != JobKind::interactive ||
      spec.time_limit_seconds == 0)
    return std::nullopt;
  const std::int64_t before =
      std::clamp<std::int64_t>(spec.time_limit_seconds / 10, 1, notice_seconds_max);
  return begun_ + std::chrono::seconds(spec.time_limit_seconds - before);
}

/// When the job wants to hear that its time limit is near.
std::optional<MonoTime> Supervisor::warn_at() const {
  const JobSpec& spec = order_.launch.spec;
  if (warned_ || kill_at_ || !started_ || spec.signal_seconds == 0 || spec.time_limit_seconds == 0)
    return std::nullopt;
  return begun_ + std::chrono::seconds(spec.time_limit_seconds - spec.signal_seconds);
}

void Supervisor::signal_all(int signal) {
  for (const pid_t pid : processes()) ::kill(pid, signal);
}

void Supervisor::wait_for_event() {
  const MonoTime now = mono_now();
  look_after_hold(now);  // it may have been left alone from the first
  MonoTime wake = now + sleep_max;
  const auto sooner = [&wake](MonoTime at) { wake = std::min(wake, at); };
  const std::int64_t limit = order_.launch.spec.time_limit_seconds;
  if (limit > 0 && !kill_at_) sooner(begun_ + std::chrono::seconds(limit));
  if (const auto at = warn_at()) sooner(*at);
  if (const auto at = notice_at()) sooner(*at);
  if (unheld_since_ && !kill_at_)
    sooner(*unheld_since_ + std::chrono::milliseconds(order_.linger_ms));
  if (kill_at_ && !killed_at_) sooner(*kill_at_);
  if (killed_at_) sooner(*killed_at_ + unkillable_after());
  if (const auto at = execs_.kill_at()) sooner(*at);
  if (const auto at = link_.retry_at()) sooner(*at);
  if (fence_ && !kill_at_) sooner(*fence_);
  const auto start_limit = std::chrono::milliseconds(order_.container.start_limit_ms);
  const bool is_opening = box_ != nullptr && !box_->is_up() && !kill_at_ && fetcher_.is_done();
  if (is_opening) sooner(opened_ + start_limit);
  if (const auto at = fetcher_.give_up_at(); at && !kill_at_) sooner(*at);

  const int share_fd = share_ != nullptr ? share_->fd() : -1;
  const auto wait_in = [](int fd) { return pollfd{.fd = fd, .events = POLLIN, .revents = 0}; };
  std::vector<pollfd> waits = {wait_in(link_.fd()),
                               wait_in(launching_.get()),
                               wait_in(share_fd),
                               wait_in(is_opening ? box_->doorbell() : -1),
                               wait_in(box_ != nullptr ? box_->client_output() : -1),
                               wait_in(fetcher_.output())};
  const std::size_t own_waits = waits.size();
  execs_.add_waits(waits);
  const std::int64_t wait_ns = std::max(wake - now, Duration::zero()).count();
  const timespec timeout{.tv_sec = wait_ns / 1'000'000'000, .tv_nsec = wait_ns % 1'000'000'000};
  sigset_t none;
  sigemptyset(&none);
  const int ready = ::ppoll(waits.data(), waits.size(), &timeout, &none);
  if (ready > 0 && waits[2].revents != 0) {
    share_->serve();
    if (std::string note = share_->take_note(); !note.empty())
      link_.send(report(StepReport::Kind::note, std::move(note)));
  }
  if (ready > 0 && waits[4].revents != 0) box_->read_client();
  if (ready > 0 && waits[5].revents != 0) fetcher_.read();
  if (ready > 0 && waits[3].revents != 0) {
    if (std::string trouble = box_->answer_door(); !trouble.empty())
      fail_launch({std::move(trouble), false});
    else if (box_->is_up())
      container_is_up();
  }
  if (is_opening && !box_->is_up() && mono_now() >= opened_ + start_limit)
    fail_launch({"the container did not start in time", true});
  if (const auto at = fetcher_.give_up_at(); at && mono_now() >= *at)
    fail_launch({fetcher_.too_late(), false});
  if (ready > 0 && waits[1].revents != 0) launch_answered();
  // Children first: a run that has ended by itself was not cancelled by an order that came late.
  reap();
  if (done()) return;
  if (ready > 0)
    execs_.serve({waits.begin() + static_cast<std::ptrdiff_t>(own_waits), waits.end()});
  if (ready > 0 && waits[0].revents != 0) obey();
  check_deadlines();
}

void Supervisor::check_deadlines() {
  const MonoTime now = mono_now();
  if (asked_to_end != 0) begin_end(EndCause::cancelled, "rstepd was told to end");
  const std::int64_t limit = order_.launch.spec.time_limit_seconds;
  if (limit > 0 && now >= begun_ + std::chrono::seconds(limit)) begin_end(EndCause::timeout, {});
  if (const auto at = warn_at(); at && now >= *at) {
    warned_ = true;
    warn(order_.launch.spec.signal == 0 ? SIGTERM : order_.launch.spec.signal);
  }
  if (const auto at = notice_at(); at && now >= *at) {
    noticed_ = true;
    tell("job " + std::to_string(order_.launch.run.job.value) + " reaches its time limit in " +
         std::to_string(
             std::chrono::ceil<std::chrono::seconds>(begun_ + std::chrono::seconds(limit) - now)
                 .count()) +
         " seconds and is ended then");
  }
  look_after_hold(now);
  execs_.end_late(now);
  // Read when the last known deadline comes, and now and then: contact moves it.
  if (!kill_at_ && (now >= fence_read_ + sleep_max || (fence_ && now >= *fence_))) {
    fence_ = read_fence(order_.spool_dir);
    fence_read_ = now;
    if (fence_ && now >= *fence_)
      begin_end(EndCause::cancelled,
                "the node was out of contact for too long (nodes.fence_after)");
  }
  if (kill_at_ && !killed_at_ && !done() && now >= *kill_at_) {
    killed_at_ = now;
    cgroups_.kill();
    signal_all(SIGKILL);
  }
  if (killed_at_ && now >= *killed_at_ + unkillable_after()) give_up();
  if (link_.retry_at() && now >= *link_.retry_at() && link_.reconnect(now) && started_)
    link_.send(report(StepReport::Kind::started));
}

void Supervisor::obey() {
  Fd file;
  while (const auto command = link_.receive(file)) {
    if (command->exec) {
      start_exec(std::move(file));
      continue;
    }
    if (!command->held.empty()) {
      for (const GpuCeiling& ceiling : command->ceilings)
        if (share_ != nullptr) share_->books().set_ceiling(ceiling);
      judge_share(command->held);
      continue;
    }
    if (!command->tell.empty()) {
      if (started_ && !kill_at_) tell(command->tell);
      continue;
    }
    if (command->limit_seconds >= 0) {
      set_limit(command->limit_seconds);
      continue;
    }
    if (command->signal != 0) {
      signal_all(command->signal);
      continue;
    }
    if (!kill_at_) {
      cause_ = command->cause;
      detail_ = command->detail;
    }
    end_within(command->grace_ms < 0 ? kill_wait() : std::chrono::milliseconds(command->grace_ms),
               command->end_signal == 0 ? SIGTERM : command->end_signal);
  }
}

pid_t Supervisor::anchor(std::size_t local) const {
  if (box_ != nullptr) return box_->init();
  return local < tasks_.size() && tasks_[local].running ? tasks_[local].pid : 0;
}

/// Why a process cannot be put in, or "" and beside which of this node's tasks it goes.
std::string Supervisor::no_place_for(const ExecOrder& exec, std::size_t& local) const {
  if (!started_ || kill_at_) return "the job is not running";
  if (execs_.is_full())
    return std::to_string(ExecRoom::size_max) + " processes were put into this job already";
  if (exec.is_of_step()) return no_place_for_step(exec, local);
  const proto::LaunchRun& launch = order_.launch;
  const std::uint32_t first = launch.payload.mode == LaunchMode::tasks ? launch.part.task_first : 0;
  local = exec.task - first;
  if (exec.task < first || local >= order_.tasks.size())
    return "task " + std::to_string(exec.task) + " is not on this node";
  const bool is_allocation = launch.payload.mode == LaunchMode::hold;
  if (exec.kind == proto::ExecKind::hold && !is_allocation)
    return "the job is no allocation that could be held";
  if (order_.holds) return {};
  const bool has_ended = local >= tasks_.size() || !tasks_[local].running;
  if (has_ended || anchor(local) == 0) return "task " + std::to_string(exec.task) + " has ended";
  return {};
}

/// A step's task goes to any task of the job that runs here: where that is, it has to be.
std::string Supervisor::no_place_for_step(const ExecOrder& exec, std::size_t& local) const {
  local = 0;
  if (exec.kind == proto::ExecKind::step && exec.ends_run &&
      order_.launch.payload.mode != LaunchMode::hold)
    return "the job does not end with a step of it";
  if (exec.kind == proto::exec_pmix && box_ != nullptr)
    return "there is no PMIx for jobs in containers";
  if (order_.holds) return {};
  while (local < tasks_.size() && !tasks_[local].running) ++local;
  if (local == tasks_.size() || anchor(local) == 0) return "the job's processes here have ended";
  return {};
}

/// Somebody wants a process beside the tasks.
void Supervisor::start_exec(Fd socket) {
  if (!socket) return;
  const auto exec = ExecRoom::read_order(socket.get());
  if (!exec) return;
  std::size_t local = 0;
  if (const std::string why = no_place_for(*exec, local); !why.empty())
    return ExecRoom::refuse(socket, why);
  if (exec->kind == proto::ExecKind::hold || exec->kind == proto::ExecKind::step)
    return execs_.add(std::move(socket), *exec, 0);
  int gate[2] = {-1, -1};
  const bool is_gated = exec->kind == proto::ExecKind::task;
  if (is_gated && ::pipe2(gate, O_CLOEXEC) != 0)
    return ExecRoom::refuse(socket, std::string("cannot make a pipe: ") + strerrordesc_np(errno));
  Fd waits(gate[0]), opens(gate[1]);
  bool cloned = false;
  const pid_t pid = fork_into(cgroups_.clone_fd(), cloned);
  if (pid == 0) {
    record_.reset();
    if (link_.is_open()) ::close(link_.fd());
    execs_.forget();
    opens.reset();
    become_exec({order_, order_.tasks[local], cgroups_, cloned, anchor(local)}, *exec, socket.get(),
                waits.get());
  }
  if (pid < 0)
    return ExecRoom::refuse(socket,
                            std::string("cannot start a process: ") + strerrordesc_np(errno));
  execs_.add(std::move(socket), *exec, pid, std::move(opens));
}

/// Our own rights could open what the owner's cannot, so a child does it; reap() takes it.
void Supervisor::tell(const std::string& text) {
  execs_.tell(text);
  // Of a job with one output file its first node writes.
  if (order_.launch.payload.mode != LaunchMode::tasks && order_.launch.node_index > 0) return;
  if (::_Fork() != 0) return;
  record_.reset();
  if (link_.is_open()) ::close(link_.fd());
  execs_.forget();
  write_notice(order_, text);
  ::_exit(0);
}

}  // namespace rota::gpud
