// testsuite/unit/gpud/step_harness.cpp - what rgpud does for a run, step by step and without Asio.
#include "step_harness.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "common/clock.h"
#include "common/format.h"
#include "gpud/launch/cgroup.h"
#include "gpud/launch/nursery.h"
#include "gpud/launch/process_tree.h"
#include "gpud/launch/spawn.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr int patience_ms = 20'000;

bool readable(int fd) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, patience_ms) > 0;
}

/// In a build with sanitizers rstepd is told to report in files that begin so.
void sanitizers_report_to(const std::string& path) {
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* options = std::getenv(name);
    std::string_view kept = options == nullptr ? "" : options;
    kept = kept.substr(0, kept.find(":log_path="));
    ::setenv(name, format("{}:log_path={}", kept, path).c_str(), 1);
  }
}

const char* name_of(EndCause cause) {
  switch (cause) {
    case EndCause::exited:
      return "exited";
    case EndCause::cancelled:
      return "cancelled";
    case EndCause::timeout:
      return "timeout";
    case EndCause::out_of_memory:
      return "out_of_memory";
    case EndCause::launch_failed:
      return "launch_failed";
    case EndCause::node_failed:
      return "node_failed";
    case EndCause::gpu_failed:
      return "gpu_failed";
    case EndCause::idle:
      return "idle";
    case EndCause::gpu_error:
      return "gpu_error";
    case EndCause::deadline:
      return "deadline";
  }
  return "?";
}

}  // namespace

bool is_root() { return ::geteuid() == 0; }

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < patience_ms / 5; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

std::string describe(const RunEnd& end) {
  std::string text = name_of(end.cause);
  if (end.by_node) text += " by node";
  if (end.exit_signal != 0)
    text += format(" by signal {}", end.exit_signal);
  else if (end.cause != EndCause::launch_failed)
    text += format(" {}", end.exit_code);
  if (!end.detail.empty()) text += ": " + end.detail;
  return text;
}

std::string StepHarness::program() {
  const char* build = std::getenv("ROTA_BUILDDIR");
  return build != nullptr ? std::string(build) + "/src/gpud/rstepd" : step_program();
}

StepHarness::StepHarness() {
  char name[] = "/tmp/rota-step-XXXXXX";
  directory_ = ::mkdtemp(name);
  ::chmod(directory_.c_str(), 0777);
  auto spool = Spool::open(path("spool"));
  EXPECT_TRUE(spool) << spool.error().message();
  spool_.emplace(*std::move(spool));
  facts_.name = "n1";
  facts_.boot_id = "this-boot";
  facts_.spool_dir = spool_->directory();
  facts_.scripts_dir = spool_->scripts_directory();
  facts_.cgroups = cgroup_prepare(cgroup_mounts(file_read("/proc/mounts"), "auto"), "rota-test",
                                  "n1." + spool_->id());
  made_ = facts_.cgroups;
  settings_.cluster_name = "testing";
  settings_.kill_wait_ms = 500;
  sanitizers_report_to(path("sanitizer"));
  auto nursery = nursery_spawn(program(), "n1");
  EXPECT_TRUE(nursery) << nursery.error().message();
  if (nursery) nursery_ = *std::move(nursery);
}

StepHarness::~StepHarness() {
  for (std::uint64_t job = 1; made_.tracking.empty() && job <= jobs_; ++job)
    for (const pid_t pid :
         carriers_of("ROTA_RUN=" + run_token(facts_, {JobId{job}, 0}), ::geteuid()))
      ::kill(pid, SIGKILL);
  for (const std::string& base : {made_.tracking, made_.memory, made_.cpuset, made_.devices}) {
    if (base.empty()) continue;
    // What a test left running must not outlive it.
    cgroup_kill(base);
    EXPECT_TRUE(eventually([&base] { return cgroup_remove(base); })) << base;
    ::rmdir(base.substr(0, base.rfind('/')).c_str());
  }
  for (const auto& file : std::filesystem::directory_iterator(directory_))
    if (file.path().filename().string().starts_with("sanitizer."))
      ADD_FAILURE() << "rstepd is blamed: " << file_read(file.path());
  std::filesystem::remove_all(directory_);
}

void StepHarness::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name)) << text;
}

proto::LaunchRun StepHarness::batch(const std::string& script) {
  proto::LaunchRun launch;
  launch.run = {JobId{++jobs_}, 0};
  launch.spec.name = "test";
  launch.owner = {::geteuid(), ::getegid(), "someone"};
  launch.part.task_count = 1;
  launch.part.cpu_count = 1;
  launch.nodes = {"n1"};
  launch.tasks_per_node = {1};
  launch.payload.script = script;
  launch.payload.environment = {"PATH=/usr/bin:/bin"};
  launch.payload.working_directory = directory_;
  launch.payload.stdout_pattern = "out";
  return launch;
}

proto::LaunchRun StepHarness::tasks(std::uint32_t count, std::vector<std::string> command) {
  proto::LaunchRun launch = batch("");
  launch.payload.mode = LaunchMode::tasks;
  launch.payload.arguments = std::move(command);
  launch.spec.task_count = count;
  launch.part.task_count = count;
  launch.tasks_per_node = {count};
  return launch;
}

StepHarness::Started StepHarness::start(proto::LaunchRun launch, std::vector<std::uint32_t> groups,
                                        std::vector<std::uint32_t> cpus) {
  Started started;
  started.run = launch.run;
  Provision provision;
  provision.instances = instances_;
  auto order = plan_step(std::move(launch), std::move(cpus), std::move(groups), facts_, settings_,
                         wall_now(), provision);
  EXPECT_TRUE(order) << order.error().message();
  auto record = spool_->create(*order);
  EXPECT_TRUE(record) << record.error().message();
  if (idle_) {
    started.socket = std::move(idle_);
    const auto sent = nursery_send(started.socket.get(), NurseryOrder::run, {}, record->get());
    EXPECT_TRUE(sent) << sent.error().message();
    return started;
  }
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  started.socket.reset(ends[0]);
  const Fd theirs(ends[1]);
  const auto sent =
      nursery_send(nursery_.get(), NurseryOrder::run, {}, record->get(), theirs.get());
  EXPECT_TRUE(sent) << sent.error().message();
  return started;
}

void StepHarness::command(Started& step, int signal) { command(step, StepCommand{signal}); }

void StepHarness::command(Started& step, const StepCommand& command) {
  const std::string packet = proto::encode(command);
  EXPECT_EQ(::send(step.socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(packet.size()));
}

StepReport StepHarness::wait(Started& step, StepReport::Kind kind) {
  static char packet[128 << 10];
  while (readable(step.socket.get())) {
    const ssize_t size = ::recv(step.socket.get(), packet, sizeof packet, 0);
    if (size <= 0) break;
    auto report =
        proto::decode<StepReport>(std::string_view(packet, static_cast<std::size_t>(size)));
    if (!report) break;
    if (report->kind == kind) return *report;
    if (report->kind == StepReport::Kind::note) step.notes.push_back(report->detail);
    if (report->kind == StepReport::Kind::ended) {
      ADD_FAILURE() << "ended early: " << describe(report->end);
      return {};
    }
  }
  ADD_FAILURE() << "rstepd said nothing more";
  return {};
}

bool StepHarness::wait_hangup(Started& step) {
  static char packet[128 << 10];
  while (readable(step.socket.get()))
    if (::recv(step.socket.get(), packet, sizeof packet, 0) <= 0) return true;
  return false;
}

std::string StepHarness::end_of(Started& step) {
  return describe(wait(step, StepReport::Kind::ended).end);
}

std::string StepHarness::run(proto::LaunchRun launch) {
  Started step = start(std::move(launch));
  const StepReport report = wait(step, StepReport::Kind::ended);
  if (report.is_free) idle_ = std::move(step.socket);
  return describe(report.end);
}

}  // namespace rota::gpud
