// testsuite/unit/gpud/step_test.cpp - rstepd runs real processes: start, output, ends, clean-up.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "gpud/launch/cgroup.h"
#include "gpud/launch/process_tree.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

using Kind = StepReport::Kind;

pid_t pid_in(const std::string& text) {
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}
bool is_gone(pid_t pid) { return pid > 0 && ::kill(pid, 0) != 0; }

class Step : public ::testing::Test {
 protected:
  StepHarness rgpud;
};

TEST_F(Step, TellsTheExitCode) {
  EXPECT_EQ(rgpud.run(rgpud.batch("#!/bin/sh\nexit 0\n")), "exited 0");
  EXPECT_EQ(rgpud.run(rgpud.batch("#!/bin/sh\nexit 3\n")), "exited 3");
}

TEST_F(Step, TellsTheSignal) {
  EXPECT_EQ(rgpud.run(rgpud.batch("#!/bin/sh\nkill -9 $$\n")), "exited by signal 9");
}

TEST_F(Step, ReportsTheStartBeforeTheEnd) {
  ASSERT_EQ(::mkfifo(rgpud.path("go").c_str(), 0666), 0);
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\nread line < go\n"));
  const StepReport started = rgpud.wait(step, Kind::started);
  EXPECT_GT(started.start_time, WallTime{});
  rgpud.write("go", "now\n");
  const StepReport ended = rgpud.wait(step, Kind::ended);
  EXPECT_EQ(describe(ended.end), "exited 0");
  EXPECT_EQ(ended.start_time, started.start_time);
  // The record says the same, for an rgpud that was not there.
  const auto found = rgpud.spool().look(step.run);
  EXPECT_TRUE(eventually([&] { return !rgpud.spool().is_alive(step.run); }));
  ASSERT_TRUE(found.record.end);
  EXPECT_EQ(found.record.end->end, ended.end);
}

TEST_F(Step, ElapsedTimeIsMeasured) {
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\nsleep 0.3\n"));
  const RunEnd end = rgpud.wait(step, Kind::ended).end;
  EXPECT_GE(end.elapsed_ms, 300);
  EXPECT_LT(end.elapsed_ms, 10'000);
}

TEST_F(Step, AnAllocationEndsWhenNobodyIsInIt) {
  rgpud.facts().session_linger = std::chrono::milliseconds(300);
  auto launch = rgpud.batch("");
  launch.payload.mode = LaunchMode::hold;
  auto step = rgpud.start(launch);
  rgpud.wait(step, Kind::started);
  EXPECT_EQ(rgpud.end_of(step), "exited by signal 1: the rrun or ralloc that held it has gone");
}

TEST_F(Step, AnAllocationIsEndedLikeAnyRun) {
  auto launch = rgpud.batch("");
  launch.payload.mode = LaunchMode::hold;
  auto step = rgpud.start(launch);
  rgpud.wait(step, Kind::started);
  rgpud.command(step, StepCommand{});
  EXPECT_EQ(rgpud.end_of(step), "cancelled 0");
}

TEST_F(Step, ScriptKnowsItsNameAndArguments) {
  auto launch = rgpud.batch("#!/bin/bash\necho \"$0 $# $1\"; echo ${BASH_VERSION:+bash}\n");
  launch.payload.arguments = {"a b", "c"};
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out"), rgpud.path("spool/scripts/1.0") + " 2 a b\nbash\n");
  EXPECT_FALSE(std::filesystem::exists(rgpud.path("spool/scripts/1.0")));
}

TEST_F(Step, ScriptWithoutInterpreterLineIsForTheShell) {
  EXPECT_EQ(rgpud.run(rgpud.batch("echo plain; exit 4\n")), "exited 4");
  EXPECT_EQ(rgpud.read("out"), "plain\n");
}

TEST_F(Step, MissingInterpreterIsNamed) {
  EXPECT_EQ(
      rgpud.run(rgpud.batch("#!/no/such/shell -x\necho\n")),
      "launch_failed: cannot run the script's interpreter '/no/such/shell -x': No such file or "
      "directory");
}

TEST_F(Step, MissingCommandIsNamed) {
  EXPECT_EQ(rgpud.run(rgpud.tasks(1, {"foo-is-not-here", "x"})),
            "launch_failed: cannot run 'foo-is-not-here': No such file or directory");
}

TEST_F(Step, CommandIsFoundOnTheJobsPath) {
  rgpud.write("hello", "#!/bin/sh\necho hello $1\n");
  ::chmod(rgpud.path("hello").c_str(), 0755);
  auto launch = rgpud.tasks(1, {"hello", "you"});
  launch.payload.environment = {"PATH=/usr/bin:" + rgpud.directory()};
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "hello you\n");
}

TEST_F(Step, MissingWorkingDirectoryIsNamed) {
  auto launch = rgpud.batch("#!/bin/sh\n");
  launch.payload.working_directory = "/no/such/place";
  launch.payload.stdout_pattern = "/dev/null";
  EXPECT_EQ(rgpud.run(launch),
            "launch_failed: cannot enter working directory '/no/such/place': No such file or "
            "directory");
}

TEST_F(Step, UnwritableOutputIsNamed) {
  auto launch = rgpud.batch("#!/bin/sh\n");
  launch.payload.stdout_pattern = "no/such/%j.out";
  EXPECT_EQ(rgpud.run(launch), "launch_failed: cannot open output file '" +
                                   rgpud.path("no/such/1.out") + "': No such file or directory");
}

TEST_F(Step, StderrGoesWithStdoutOrToItsOwnFile) {
  const std::string script = "#!/bin/sh\necho one; echo two >&2; echo three\n";
  EXPECT_EQ(rgpud.run(rgpud.batch(script)), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "one\ntwo\nthree\n");
  auto launch = rgpud.batch(script);
  launch.payload.stdout_pattern = "%x-%4j-%u-%N-%t.out";
  launch.payload.stderr_pattern = "%j.err";
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("test-0002-someone-n1-0.out"), "one\nthree\n");
  EXPECT_EQ(rgpud.read("2.err"), "two\n");
}

TEST_F(Step, FirstRunTruncatesAndARestartAppends) {
  rgpud.write("out", "old\n");
  auto launch = rgpud.batch("#!/bin/sh\necho run $ROTA_RESTART_COUNT\n");
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "run 0\n");
  launch.run.restart = 1;
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "run 0\nrun 1\n");
}

TEST_F(Step, StandardInputIsEmptyOrTheFileNamed) {
  EXPECT_EQ(rgpud.run(rgpud.batch("#!/bin/sh\ncat; echo end\n")), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "end\n");
  rgpud.write("in", "words\n");
  auto launch = rgpud.batch("#!/bin/sh\ncat\n");
  launch.payload.stdin_path = "in";
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "words\n");
}

TEST_F(Step, UmaskAndLimitsAreTheSubmitters) {
  auto launch = rgpud.batch("#!/bin/sh\numask; ulimit -Sn; ulimit -c\n");
  launch.payload.umask = 027;
  // A hard limit beyond what anybody may set here is lowered, not fatal.
  launch.payload.limits = {{RLIMIT_NOFILE, 100, ~std::uint64_t{0}}, {RLIMIT_CORE, 0, 0}};
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "0027\n100\n0\n");
}

TEST_F(Step, JobInheritsNothingOfRgpud) {
  auto launch = rgpud.batch(
      "#!/bin/sh\n"
      "ls /proc/self/fd | wc -l\n"
      "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2 | sort -u\n"
      "test $(ps -o sid= -p $$) -eq $$ && echo own session\n");
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  // ls has 0, 1, 2 and the directory it reads.
  EXPECT_EQ(rgpud.read("out"), "4\n0000000000000000\nown session\n");
}

TEST_F(Step, EveryTaskRunsWithItsNumber) {
  auto launch = rgpud.tasks(3, {"sh", "-c", "echo $ROTA_PROCID $SLURM_LOCALID $ROTA_NTASKS"});
  launch.part.task_first = 5;
  launch.payload.stdout_pattern = "out.%t";
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  EXPECT_EQ(rgpud.read("out.5") + rgpud.read("out.6") + rgpud.read("out.7"),
            "5 0 3\n6 1 3\n7 2 3\n");
}

TEST_F(Step, TasksThatShareAFileLoseNoLine) {
  auto launch = rgpud.tasks(4, {"sh", "-c", "echo $ROTA_PROCID"});
  rgpud.write("out", "old\n");
  EXPECT_EQ(rgpud.run(launch), "exited 0");
  std::string text = rgpud.read("out");
  std::sort(text.begin(), text.end());
  EXPECT_EQ(text, "\n\n\n\n0123");
}

TEST_F(Step, AFailedTaskEndsTheOthers) {
  auto step =
      rgpud.start(rgpud.tasks(3, {"sh", "-c", "test $ROTA_PROCID = 1 && exit 7; exec sleep 1000"}));
  EXPECT_EQ(rgpud.end_of(step), "exited 7");
}

TEST_F(Step, ATaskThatCannotStartEndsTheOthers) {
  auto launch = rgpud.tasks(2, {"sleep", "1000"});
  launch.payload.stdout_pattern = "out.%t";
  ASSERT_EQ(::mkdir(rgpud.path("out.1").c_str(), 0755), 0);
  EXPECT_EQ(rgpud.run(launch),
            "launch_failed: cannot open output file '" + rgpud.path("out.1") + "': Is a directory");
}

TEST_F(Step, OtherNodesOfABatchJobHoldUntilTold) {
  auto launch = rgpud.batch("#!/bin/sh\nexit 5\n");
  launch.nodes = {"n0", "n1"};
  launch.tasks_per_node = {1, 1};
  launch.node_index = 1;
  auto step = rgpud.start(launch);
  rgpud.wait(step, Kind::started);
  rgpud.command(step, 0);
  EXPECT_EQ(rgpud.end_of(step), "cancelled 0");
}

TEST_F(Step, TheFirstWordSaysWhyItEnds) {
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\nexec sleep 1000\n"));
  rgpud.wait(step, Kind::started);
  StepCommand end;
  end.cause = EndCause::gpu_failed;
  end.detail = "GPU 3 failed: Xid 48";
  rgpud.command(step, end);
  rgpud.command(step, StepCommand{});
  EXPECT_EQ(rgpud.end_of(step), "gpu_failed by signal 15: GPU 3 failed: Xid 48");
}

TEST_F(Step, TimeLimitEndsPolitelyThenNot) {
  auto launch =
      rgpud.batch("#!/bin/sh\ntrap 'echo term; exit 9' TERM\nwhile :; do sleep 0.01; done\n");
  launch.spec.time_limit_seconds = 1;
  EXPECT_EQ(rgpud.run(launch), "timeout 9");
  EXPECT_TRUE(rgpud.read("out").ends_with("term\n"));
  launch = rgpud.batch("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.01; done\n");
  launch.spec.time_limit_seconds = 1;
  auto step = rgpud.start(launch);
  const RunEnd end = rgpud.wait(step, Kind::ended).end;
  EXPECT_EQ(describe(end), "timeout by signal 9");
  EXPECT_GE(end.elapsed_ms, 1500);  // the limit and the kill wait
}

// The kill wait is half a second here; the order gives more, and a second order takes it back.
TEST_F(Step, AnEndMayHaveItsOwnSignalAndGrace) {
  const char* const deaf =
      "#!/bin/sh\ntrap 'echo usr1' USR1\ntrap '' TERM\necho ready\n"
      "while :; do sleep 0.01; done\n";
  auto step = rgpud.start(rgpud.batch(deaf));
  ASSERT_TRUE(eventually([&] { return rgpud.read("out") == "ready\n"; }));
  rgpud.command(step, {.signal = 0, .end_signal = SIGUSR1, .grace_ms = 1000});
  const RunEnd end = rgpud.wait(step, Kind::ended).end;
  EXPECT_EQ(describe(end), "cancelled by signal 9");
  EXPECT_GE(end.elapsed_ms, 1000);
  EXPECT_NE(rgpud.read("out").find("usr1\n"), std::string::npos);

  step = rgpud.start(rgpud.batch(deaf));
  ASSERT_TRUE(eventually([&] { return rgpud.read("out").ends_with("ready\n"); }));
  rgpud.command(step, {.signal = 0, .end_signal = SIGUSR1, .grace_ms = 1'000'000});
  ASSERT_TRUE(eventually([&] { return rgpud.read("out").ends_with("usr1\n"); }));
  rgpud.command(step, 0);
  EXPECT_EQ(rgpud.end_of(step), "cancelled by signal 9");
}

TEST_F(Step, TheTimeLimitIsAnnounced) {
  auto launch = rgpud.batch("#!/bin/sh\ntrap 'exit 7' USR2\nwhile :; do sleep 0.01; done\n");
  launch.spec.time_limit_seconds = 1000;
  launch.spec.signal = SIGUSR2;
  launch.spec.signal_seconds = 999;
  auto step = rgpud.start(launch);
  const RunEnd end = rgpud.wait(step, Kind::ended).end;
  EXPECT_EQ(describe(end), "exited 7");
  EXPECT_GE(end.elapsed_ms, 1000);
}

TEST_F(Step, EndOrderReachesAStoppedProcess) {
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\nkill -STOP $$\nexit 1\n"));
  rgpud.wait(step, Kind::started);
  rgpud.command(step, 0);
  EXPECT_EQ(rgpud.end_of(step), "cancelled by signal 15");
}

TEST_F(Step, EndOrderReachesAProcessThatHangsInOpen) {
  ASSERT_EQ(::mkfifo(rgpud.path("out").c_str(), 0666), 0);
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\n"));
  rgpud.command(step, 0);
  EXPECT_EQ(rgpud.end_of(step).substr(0, 9), "cancelled");
}

TEST_F(Step, SignalsAreDelivered) {
  auto step = rgpud.start(rgpud.batch(
      "#!/bin/sh\ntrap 'echo usr1; exit 0' USR1\necho ready\nwhile :; do sleep 0.01; done\n"));
  ASSERT_TRUE(eventually([&] { return rgpud.read("out") == "ready\n"; }));
  rgpud.command(step, SIGUSR1);
  EXPECT_EQ(rgpud.end_of(step), "exited 0");
  // The shell's sleep gets the signal too, as every process does, and the shell may say so.
  EXPECT_TRUE(rgpud.read("out").ends_with("usr1\n"));
}

TEST_F(Step, NothingOutlivesTheJob) {
  // Forks twice, leaves the session, ignores SIGTERM and lets its parents end.
  const std::string daemon =
      "(trap '' TERM HUP; setsid sh -c 'echo $$ > daemon; exec sleep 1000' &) &\n";
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\n" + daemon +
                                      "while ! test -s daemon; do sleep 0.01; done\nexit 2\n"));
  EXPECT_EQ(rgpud.end_of(step), "exited 2");
  EXPECT_TRUE(is_gone(pid_in(rgpud.read("daemon"))));
  EXPECT_TRUE(carriers_of("ROTA_RUN=" + run_token(rgpud.facts(), step.run), ::geteuid()).empty());
}

TEST_F(Step, SurvivesItsNurseryAndIsFoundAgain) {
  ASSERT_EQ(::mkfifo(rgpud.path("go").c_str(), 0666), 0);
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\nread line < go\nexit 6\n"));
  const WallTime begun = rgpud.wait(step, Kind::started).start_time;
  rgpud.close_nursery();
  step.socket.reset();  // rgpud has died
  EXPECT_TRUE(rgpud.spool().look(step.run).is_alive);
  auto listening = rgpud.spool().listen();  // and is back
  ASSERT_TRUE(listening);
  ASSERT_TRUE(eventually([&] {
    step.socket.reset(::accept(listening->get(), nullptr, nullptr));
    return static_cast<bool>(step.socket);
  }));
  EXPECT_EQ(rgpud.wait(step, Kind::hello).run, step.run);
  EXPECT_EQ(rgpud.wait(step, Kind::started).start_time, begun);
  rgpud.write("go", "now\n");
  EXPECT_EQ(rgpud.end_of(step), "exited 6");
}

TEST_F(Step, EndIsOnRecordWhenNobodyListens) {
  ASSERT_EQ(::mkfifo(rgpud.path("go").c_str(), 0666), 0);
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\nread line < go\nexit 6\n"));
  rgpud.wait(step, Kind::started);
  step.socket.reset();
  rgpud.write("go", "now\n");
  ASSERT_TRUE(eventually([&] { return !rgpud.spool().is_alive(step.run); }));
  const auto found = rgpud.spool().look(step.run);
  ASSERT_TRUE(found.record.end);
  EXPECT_EQ(describe(found.record.end->end), "exited 6");
}

TEST_F(Step, SigtermToRstepdEndsTheRun) {
  auto step = rgpud.start(rgpud.batch("#!/bin/sh\necho $PPID > parent\nexec sleep 1000\n"));
  ASSERT_TRUE(eventually([&] { return pid_in(rgpud.read("parent")) > 0; }));
  const pid_t rstepd = pid_in(rgpud.read("parent"));
  ::kill(rstepd, SIGHUP);
  ::kill(rstepd, SIGINT);
  ::kill(rstepd, SIGTERM);
  EXPECT_EQ(rgpud.end_of(step), "cancelled by signal 15: rstepd was told to end");
}

// rstepd is killed: the lock is free, and what it leaves is found by cgroup and by variable.
TEST_F(Step, WhatAKilledRstepdLeavesCanBeFound) {
  auto step = rgpud.start(rgpud.batch(
      "#!/bin/sh\necho $PPID > parent\n(setsid sh -c 'echo > up; exec sleep 1000' &) &\n"
      "exec sleep 1000\n"));
  ASSERT_TRUE(
      eventually([&] { return pid_in(rgpud.read("parent")) > 0 && rgpud.read("up") == "\n"; }));
  ::kill(pid_in(rgpud.read("parent")), SIGKILL);
  EXPECT_TRUE(rgpud.wait_hangup(step));
  // A dying process closes its files one after the other.
  EXPECT_TRUE(eventually([&] { return !rgpud.spool().is_alive(step.run); }));
  const auto found = rgpud.spool().look(step.run);
  EXPECT_FALSE(found.is_alive);
  EXPECT_FALSE(found.record.end);
  ASSERT_TRUE(found.record.order);
  const std::string token = "ROTA_RUN=" + run_token(rgpud.facts(), step.run);
  const auto left = [&] { return carriers_of(token, ::geteuid()); };
  EXPECT_TRUE(eventually([&] { return left().size() == 2; }));
  RunCgroups cgroups(found.record.order->cgroups);
  if (!rgpud.facts().cgroups.tracking.empty()) {
    EXPECT_EQ(cgroups.processes().size(), 2u);
    cgroups.kill();
  } else {
    for (const pid_t pid : left()) ::kill(pid, SIGKILL);
  }
  EXPECT_TRUE(eventually([&] { return left().empty() && cgroups.remove(); }));
}

class RootStep : public Step {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "needs root";
  }
};

TEST_F(RootStep, RunsAsTheOwner) {
  auto launch = rgpud.batch("#!/bin/sh\nid -u; id -g; id -G; echo $0; touch mine\n");
  launch.owner = {65534, 65534, "nobody"};
  auto step = rgpud.start(launch, {65534, 1234});
  EXPECT_EQ(rgpud.end_of(step), "exited 0");
  EXPECT_EQ(rgpud.read("out"),
            "65534\n65534\n65534 1234\n" + rgpud.path("spool/scripts/1.0") + "\n");
  struct stat status {};
  ASSERT_EQ(::stat(rgpud.path("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534u);
}

TEST_F(RootStep, OpensOutputWithTheOwnersRights) {
  rgpud.write("secret", "");
  ::chmod(rgpud.path("secret").c_str(), 0600);
  auto launch = rgpud.batch("#!/bin/sh\necho overwritten\n");
  launch.owner = {65534, 65534, "nobody"};
  launch.payload.stdout_pattern = "secret";
  EXPECT_EQ(rgpud.run(launch), "launch_failed: cannot open output file '" + rgpud.path("secret") +
                                   "': Permission denied");
  EXPECT_EQ(rgpud.read("secret"), "");
}

TEST_F(RootStep, MemoryLimitIsKeptAndTold) {
  if (rgpud.facts().cgroups.memory.empty()) GTEST_SKIP() << rgpud.facts().cgroups.trouble;
  auto launch = rgpud.batch("#!/bin/sh\nhead -c 200m /dev/zero | tail -n 1 | wc -c\n");
  launch.part.memory_bytes = 64 << 20;
  auto step = rgpud.start(launch);
  EXPECT_EQ(rgpud.end_of(step), "out_of_memory 0: over its memory limit of 64 MiB on n1");
  EXPECT_EQ(step.notes, std::vector<std::string>{});
}

// Where there is no cgroup v2, processes are moved instead of born there.
TEST_F(RootStep, TheFirstVersionOfCgroupsWillDo) {
  const CgroupBase base =
      cgroup_prepare(cgroup_mounts(file_read("/proc/mounts"), "v1"), "rota-test-v1", "n1.v1");
  if (!base.trouble.empty()) GTEST_SKIP() << base.trouble;
  rgpud.facts().cgroups = base;
  auto launch = rgpud.batch(
      "#!/bin/sh\ngrep -E '(memory|cpuset|freezer)' /proc/self/cgroup | cut -d: -f3 | sort -u\n"
      "(trap '' TERM; setsid sh -c 'echo $$ > daemon; exec sleep 1000' &) &\n"
      "while ! test -s daemon; do sleep 0.01; done\n");
  launch.part.memory_bytes = 256 << 20;
  auto step = rgpud.start(launch, {}, {0});
  EXPECT_EQ(rgpud.end_of(step), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "/rota-test-v1/n1.v1/1.0\n");
  EXPECT_EQ(step.notes, std::vector<std::string>{});
  EXPECT_TRUE(is_gone(pid_in(rgpud.read("daemon"))));
  for (const std::string& directory : {base.tracking, base.memory, base.cpuset, base.devices}) {
    EXPECT_FALSE(std::filesystem::exists(directory + "/1.0"));
    EXPECT_TRUE(cgroup_remove(directory.substr(0, directory.rfind('/'))));
  }
}

// Half of the described machine is node 0, which every machine has.
TEST_F(RootStep, MemoryIsBoundNearTheCpus) {
  rgpud.facts().cpus = {{0, 0}, {1, 1}};
  for (const auto& [wish, policy] :
       {std::pair("prefer", "prefer"), std::pair("strict", "bind"), std::pair("none", "default")}) {
    rgpud.facts().bind_memory = wish;
    auto launch = rgpud.batch("#!/bin/sh\nhead -n 1 /proc/self/numa_maps | cut -d' ' -f 2-3\n");
    auto step = rgpud.start(launch, {}, {0});
    EXPECT_EQ(rgpud.end_of(step), "exited 0");
    EXPECT_TRUE(rgpud.read("out").starts_with(policy)) << wish << ": " << rgpud.read("out");
    EXPECT_EQ(step.notes, std::vector<std::string>{});
  }
}

TEST_F(RootStep, CpusAreBoundAndCgroupsRemoved) {
  const CgroupBase& base = rgpud.facts().cgroups;
  if (base.cpuset.empty()) GTEST_SKIP() << base.trouble;
  auto launch = rgpud.batch("#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status | cut -f2\n");
  const RunId run = launch.run;
  auto step = rgpud.start(launch, {}, {0});
  EXPECT_EQ(rgpud.end_of(step), "exited 0");
  EXPECT_EQ(rgpud.read("out"), "0\n");
  EXPECT_EQ(step.notes, std::vector<std::string>{});
  for (const std::string& directory : {base.tracking, base.memory, base.cpuset})
    EXPECT_FALSE(std::filesystem::exists(directory + "/" + std::to_string(run.job.value) + ".0"));
}

}  // namespace
}  // namespace rota::gpud
