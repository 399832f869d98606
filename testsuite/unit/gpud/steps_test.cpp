// testsuite/unit/gpud/steps_test.cpp - rgpud's side of running jobs, with real rstepds: kills and
// restarts included.
#include "gpud/steps.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <filesystem>

#include "gpud/launch/cgroup.h"
#include "gpud/launch/process_tree.h"
#include "gpud/shell.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

/// An rgpud without a network: what it tells the Agent, as text.
class Node {
 public:
  explicit Node(StepHarness& place, const std::string& boot_id = "this-boot") {
    auto spool = Spool::open(place.path("node"));
    EXPECT_TRUE(spool) << spool.error().message();
    facts = place.facts();
    facts.boot_id = boot_id;
    facts.spool_dir = spool->directory();
    facts.scripts_dir = spool->scripts_directory();
    Steps::Events events;
    events.started = [this](RunId run, WallTime, const std::string&) {
      told += run_name(run) + " started\n";
    };
    events.ended = [this](RunId run, RunEnd end) {
      told += run_name(run) + " " + describe(end) + "\n";
    };
    steps.emplace(io.get_executor(), *std::move(spool), facts, StepHarness::program(),
                  std::move(events));
    adopted = steps->adopt();
    const auto opened = steps->open();
    EXPECT_TRUE(opened) << opened.error().message();
  }

  void start(proto::LaunchRun launch) {
    NodeSettings settings;
    settings.kill_wait_ms = 500;
    steps->start({std::move(launch), {}}, settings);
  }
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_for(std::chrono::milliseconds(5));
      steps->tick(MonoTime{});
    }
    return condition();
  }
  bool until_told(const std::string& text) {
    return until([&] { return told.find(text) != std::string::npos; });
  }

  boost::asio::io_context io;
  NodeFacts facts;
  std::string told;
  std::vector<AdoptedRun> adopted;
  std::optional<Steps> steps;
};

pid_t pid_in(const std::string& text) {
  pid_t pid = 0;
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

class StepsTest : public ::testing::Test {
 protected:
  std::string waiting_script() {
    ::mkfifo(place.path("go").c_str(), 0666);
    return "#!/bin/sh\necho $PPID > parent\nread code < go\nexit $code\n";
  }
  pid_t rstepd_of_script() {
    EXPECT_TRUE(eventually([&] { return pid_in(place.read("parent")) > 0; }));
    return pid_in(place.read("parent"));
  }
  std::vector<std::string> files_in(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(place.path(name)))
      names.push_back(item.path().filename());
    return names;
  }

  StepHarness place;
};

TEST_F(StepsTest, TellsStartAndEndOnceAndForgets) {
  Node node(place);
  node.start(place.batch("#!/bin/sh\nexit 3\n"));
  ASSERT_TRUE(node.until_told("exited 3"));
  EXPECT_EQ(node.told, "1.0 started\n1.0 exited 3\n");
  EXPECT_EQ(files_in("node/runs"), std::vector<std::string>{"1.0"});
  node.steps->drop({JobId{1}, 0});
  EXPECT_EQ(files_in("node/runs"), std::vector<std::string>{});
  EXPECT_EQ(files_in("node/scripts"), std::vector<std::string>{});
}

TEST_F(StepsTest, ManyRunsGoThroughFewRstepds) {
  Node node(place);
  for (int job = 1; job <= 30; ++job) {
    auto launch = place.batch("#!/bin/sh\necho $PPID >> parents\n");
    launch.payload.stdout_pattern = "/dev/null";
    node.start(launch);
    ASSERT_TRUE(node.until_told(std::to_string(job) + ".0 exited 0\n"));
  }
  EXPECT_EQ(std::count(node.told.begin(), node.told.end(), '\n'), 60);
  const std::string parents = place.read("parents");
  EXPECT_EQ(parents.find(parents.substr(0, parents.find('\n')), 1) != std::string::npos, true);
}

TEST_F(StepsTest, AtOnceAsManyAsAreStarted) {
  Node node(place);
  for (int job = 1; job <= 20; ++job) {
    auto launch = place.batch("#!/bin/sh\nsleep 0.2\n");
    launch.payload.stdout_pattern = "/dev/null";
    node.start(launch);
  }
  ASSERT_TRUE(
      node.until([&] { return std::count(node.told.begin(), node.told.end(), '\n') == 40; }));
  EXPECT_EQ(node.told.find("failed"), std::string::npos) << node.told;
}

TEST_F(StepsTest, EndBeforeTheStartIsKnown) {
  Node node(place);
  node.start(place.batch("#!/bin/sh\nexec sleep 1000\n"));
  node.steps->end({.order = {.run = {JobId{1}, 0}}});
  ASSERT_TRUE(node.until_told("cancelled"));
}

TEST_F(StepsTest, AKilledRstepdIsANodeFailureAndLeavesNothing) {
  Node node(place);
  node.start(place.batch(
      "#!/bin/sh\necho $PPID > parent\n(setsid sh -c 'echo > up; exec sleep 1000' &) &\n"
      "exec sleep 1000\n"));
  ASSERT_TRUE(node.until_told("started"));
  ASSERT_TRUE(eventually([&] { return place.read("up") == "\n"; }));
  ::kill(rstepd_of_script(), SIGKILL);
  ASSERT_TRUE(node.until_told("node_failed"));
  EXPECT_EQ(node.told, "1.0 started\n1.0 node_failed 0: rstepd was killed\n");
  const std::string token = "ROTA_RUN=" + run_token(node.facts, {JobId{1}, 0});
  EXPECT_TRUE(carriers_of(token, ::geteuid()).empty());
}

TEST_F(StepsTest, WithoutCgroupsAKilledRstepdLeavesNothingEither) {
  const std::string directory = place.facts().cgroups.node_directory;
  place.facts().cgroups = {};
  place.facts().cgroups.node_directory = directory;
  Node node(place);
  node.start(place.batch(
      "#!/bin/sh\necho $PPID > parent\n(setsid sh -c 'echo > up; exec sleep 1000' &) &\n"
      "exec sleep 1000\n"));
  ASSERT_TRUE(node.until_told("started"));
  ASSERT_TRUE(eventually([&] { return place.read("up") == "\n"; }));
  ::kill(rstepd_of_script(), SIGKILL);
  ASSERT_TRUE(node.until_told("node_failed"));
  const std::string token = "ROTA_RUN=" + run_token(node.facts, {JobId{1}, 0});
  EXPECT_TRUE(carriers_of(token, ::geteuid()).empty());
}

TEST_F(StepsTest, ARunGoesOnUnderARestartedRgpud) {
  std::optional<Node> node(place);
  node->start(place.batch(waiting_script()));
  ASSERT_TRUE(node->until_told("started"));
  node.reset();
  node.emplace(place);
  ASSERT_EQ(node->adopted.size(), 1u);
  EXPECT_EQ(node->adopted[0].phase, proto::RunPhase::running);
  EXPECT_EQ(node->adopted[0].launch.run, (RunId{JobId{1}, 0}));
  EXPECT_NE(node->adopted[0].start_time, WallTime{});
  place.write("go", "5\n");
  ASSERT_TRUE(node->until_told("exited 5"));
  EXPECT_EQ(node->told, "1.0 exited 5\n");
}

TEST_F(StepsTest, OrdersForARunThatHasNotCalledYetAreKept) {
  std::optional<Node> node(place);
  node->start(
      place.batch("#!/bin/sh\ntrap 'echo usr1' USR1\ntrap 'exit 0' TERM\necho ready\n"
                  "while :; do sleep 0.01; done\n"));
  ASSERT_TRUE(node->until_told("started"));
  ASSERT_TRUE(eventually([&] { return place.read("out") == "ready\n"; }));
  node.reset();
  node.emplace(place);
  node->steps->signal({JobId{1}, 0}, SIGUSR1);
  node->steps->end({.order = {.run = {JobId{1}, 0}}});
  ASSERT_TRUE(node->until_told("cancelled"));
  EXPECT_NE(place.read("out").find("usr1"), std::string::npos);
}

TEST_F(StepsTest, AnEndThatNobodyHeardIsFound) {
  std::optional<Node> node(place);
  node->start(place.batch(waiting_script()));
  ASSERT_TRUE(node->until_told("started"));
  rstepd_of_script();
  node.reset();
  place.write("go", "5\n");
  const std::string record = place.path("node/runs/1.0");
  ASSERT_TRUE(eventually([&] { return record_parse(file_read(record)).end.has_value(); }));
  node.emplace(place);
  ASSERT_EQ(node->adopted.size(), 1u);
  EXPECT_EQ(node->adopted[0].phase, proto::RunPhase::ended);
  EXPECT_EQ(describe(node->adopted[0].end), "exited 5");
  EXPECT_NE(node->adopted[0].start_time, WallTime{});
}

TEST_F(StepsTest, ARstepdThatDiedWhileRgpudWasAwayIsCleanedUpAfter) {
  std::optional<Node> node(place);
  node->start(place.batch("#!/bin/sh\necho $PPID > parent\nexec sleep 1000\n"));
  ASSERT_TRUE(node->until_told("started"));
  const pid_t rstepd = rstepd_of_script();
  node.reset();
  ::kill(rstepd, SIGKILL);
  node.emplace(place);
  ASSERT_EQ(node->adopted.size(), 1u);
  EXPECT_EQ(node->adopted[0].phase, proto::RunPhase::running);
  ASSERT_TRUE(node->until_told("node_failed"));
  EXPECT_EQ(node->told, "1.0 node_failed 0: rstepd was killed\n");
  const std::string token = "ROTA_RUN=" + run_token(node->facts, {JobId{1}, 0});
  EXPECT_TRUE(carriers_of(token, ::geteuid()).empty());
}

TEST_F(StepsTest, RunsOfAnotherBootAreOver) {
  {
    Node node(place, "boot before");
    node.start(place.batch("#!/bin/sh\necho $PPID > parent\nexec sleep 1000\n"));
    ASSERT_TRUE(node.until_told("started"));
    // The reboot: the record stays as it is, and nobody writes the end to it.
    std::filesystem::copy(place.path("node/runs/1.0"), place.path("kept"));
    ::kill(rstepd_of_script(), SIGTERM);
    ASSERT_TRUE(node.until_told("cancelled"));
  }
  std::filesystem::remove(place.path("node/runs/1.0"));
  std::filesystem::copy(place.path("kept"), place.path("node/runs/1.0"));
  Node node(place, "this boot");
  ASSERT_EQ(node.adopted.size(), 1u);
  EXPECT_EQ(node.adopted[0].phase, proto::RunPhase::ended);
  EXPECT_EQ(describe(node.adopted[0].end), "node_failed 0: the node was restarted under the job");
}

TEST_F(StepsTest, DamagedRecordsAreReportedNotBelieved) {
  { Node node(place); }
  place.write("node/runs/7.0", "garbage");
  place.write("node/runs/8.2", "");
  Node node(place);
  ASSERT_EQ(node.adopted.size(), 2u);
  EXPECT_EQ(node.adopted[1].launch.run, (RunId{JobId{8}, 2}));
  ASSERT_TRUE(
      node.until([&] { return std::count(node.told.begin(), node.told.end(), '\n') == 2; }));
  EXPECT_NE(node.told.find("7.0 node_failed 0: its record was damaged: "), std::string::npos);
  EXPECT_NE(node.told.find("8.2 node_failed 0: its record was damaged: "), std::string::npos);
}

TEST_F(StepsTest, ARecordThatCannotBeWrittenIsALaunchFailure) {
  Node node(place);
  place.write("node/runs/1.0", "in the way");
  node.start(place.batch("#!/bin/sh\n"));
  ASSERT_TRUE(node.until_told("launch_failed by node: "));
  EXPECT_NE(node.told.find("File exists"), std::string::npos);
}

TEST_F(StepsTest, AKilledNurseryIsStartedAgain) {
  Node node(place);
  node.start(place.batch("#!/bin/sh\nps -o ppid= -p $PPID > nursery\n"));
  ASSERT_TRUE(node.until_told("1.0 exited 0"));
  std::string text = place.read("nursery");
  ::kill(pid_in(text.substr(text.find_first_not_of(' '))), SIGKILL);
  node.steps->tick(MonoTime{std::int64_t{1} << 62});  // the idle rstepd is let go as well
  // A run that falls into the gap may fail; the next one must not.
  node.start(place.batch("#!/bin/sh\n"));
  ASSERT_TRUE(node.until_told("2.0 "));
  node.start(place.batch("#!/bin/sh\nexit 4\n"));
  ASSERT_TRUE(node.until_told("3.0 exited 4"));
}

TEST_F(StepsTest, StrayCgroupsAreEmptiedAndRemoved) {
  const std::string base = place.facts().cgroups.tracking;
  if (base.empty()) GTEST_SKIP() << place.facts().cgroups.trouble;
  ASSERT_EQ(::mkdir((base + "/99.0").c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    file_write(base + "/99.0/cgroup.procs", "0");
    for (;;) ::pause();
  }
  ASSERT_TRUE(eventually([&] { return cgroup_processes(base + "/99.0").size() == 1; }));
  Node node(place);
  EXPECT_TRUE(node.until([&] { return !std::filesystem::exists(base + "/99.0"); }));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace rota::gpud
