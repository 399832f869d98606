// testsuite/unit/gpud/mps_keeper_test.cpp - MPS daemons of runs, real processes of the fake
// program: started, shared, ended, kept over restarts, and what goes wrong with them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "common/clock.h"
#include "common/format.h"
#include "gpud/mps/keeper.h"
#include "gpud/steps.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

const std::string gpu_a = "GPU-aaaaaaaa-0000-0000-0000-000000000001";
const std::string gpu_b = "GPU-bbbbbbbb-0000-0000-0000-000000000002";
const std::string fake_program = TEST_FAKEGPU_DIR "/nvidia-cuda-mps-control";

constexpr RunId run_of(std::uint64_t job) { return {JobId{job}, 0}; }
Owner me() { return {::geteuid(), ::getegid(), "me"}; }
/// Another user, where there can be one; nobody need know the number.
Owner other() { return {54'321, 54'321, "other"}; }

class MpsKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rota-mps-XXXXXX";
    directory = ::mkdtemp(name);
    ::chmod(directory.c_str(), 0711);
    options.directory = directory + "/spool/mps";
    options.program = fake_program;
    options.gpus = {gpu_a, gpu_b};
    start();
  }
  void TearDown() override {
    stop();
    for (const auto& file : fs::recursive_directory_iterator(directory)) {
      if (file.path().filename() != "nvidia-cuda-mps-control.pid") continue;
      if (const pid_t pid = pid_in(file.path()); pid > 1) ::kill(pid, SIGKILL);
    }
    fs::remove_all(directory);
  }

  /// One rgpud, with the runs that an earlier one has left.
  void start(const std::vector<MpsKeeper::Living>& living = {}) {
    io.emplace();
    auto spool = Spool::open(directory + "/spool");
    ASSERT_TRUE(spool) << spool.error().message();
    NodeFacts facts;
    facts.name = "n1";
    facts.spool_dir = spool->directory();
    steps.emplace(io->get_executor(), *std::move(spool), facts, StepHarness::program(),
                  Steps::Events{});
    const auto opened = steps->open();
    ASSERT_TRUE(opened) << opened.error().message();
    keeper.emplace(io->get_executor(), options,
                   [this](UserOrder order) { return steps->run_as(std::move(order)); });
    keeper->settle(living);
  }
  /// As kill -9 would: nobody is told.
  void stop() {
    keeper.reset();
    steps.reset();
    io.reset();
  }

  void prepare(std::uint64_t job, const Owner& owner, const std::vector<std::string>& gpus) {
    keeper->prepare(run_of(job), owner, {owner.gid}, gpus,
                    [this, job](Result<std::vector<MpsAccess>> all) {
                      EXPECT_FALSE(answers.contains(job)) << "told twice";
                      std::string& text = answers[job];
                      text = all ? "ready" : all.error().detail;
                      if (all)
                        for (const MpsAccess& access : *all) text += ' ' + access.pipe_directory;
                    });
    EXPECT_FALSE(answers.contains(job)) << "not from within";
  }
  bool until(const std::function<bool()>& condition) {
    const MonoTime end = mono_now() + std::chrono::seconds(20);
    while (!condition() && mono_now() < end) {
      io->restart();
      io->run_for(milliseconds(10));
    }
    return condition();
  }
  /// What the run was told, once it was.
  std::string answer(std::uint64_t job) {
    until([&] { return answers.contains(job); });
    return answers[job];
  }
  bool ends_up_empty() {
    return until([this] { return keeper->size() == 0; });
  }

  std::string place(const std::string& gpu, const Owner& owner) const {
    return options.directory + '/' + MpsPlace::name_for(gpu, owner.uid, options.gpus);
  }
  static pid_t pid_in(const std::string& path) { return std::atoi(file_read(path).c_str()); }
  pid_t pid_of(const std::string& gpu, const Owner& owner) const {
    return pid_in(place(gpu, owner) + "/pipe/nvidia-cuda-mps-control.pid");
  }
  static bool is_alive(pid_t pid) {
    const std::string stat = file_read(format("/proc/{}/stat", pid));
    return pid > 1 && !stat.empty() && stat.substr(stat.rfind(')') + 2, 1) != "Z";
  }
  /// A program in the place of NVIDIA's.
  std::string script(const std::string& text) const {
    const std::string path = directory + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << text << '\n';
    ::chmod(path.c_str(), 0755);
    return path;
  }
  void restart_with(const std::string& program) {
    stop();
    options.program = program;
    start();
  }

  std::string directory;
  MpsKeeper::Options options;
  std::optional<boost::asio::io_context> io;
  std::optional<Steps> steps;
  std::optional<MpsKeeper> keeper;
  std::map<std::uint64_t, std::string> answers;
};

TEST_F(MpsKeeperTest, RunsOfOneUserShareOneUntilTheLastIsOver) {
  prepare(1, me(), {gpu_a});
  EXPECT_EQ(answer(1), "ready " + place(gpu_a, me()) + "/pipe");
  const pid_t pid = pid_of(gpu_a, me());
  ASSERT_TRUE(is_alive(pid));
  prepare(2, me(), {gpu_a});
  EXPECT_EQ(answer(2), answer(1));
  EXPECT_EQ(pid_of(gpu_a, me()), pid) << "the same one";
  keeper->release(run_of(1));
  prepare(3, me(), {gpu_a});
  EXPECT_EQ(answer(3), answer(1));
  EXPECT_TRUE(is_alive(pid));
  EXPECT_TRUE(keeper->serves(gpu_a));
  EXPECT_FALSE(keeper->serves(gpu_b));
  keeper->release(run_of(3));
  keeper->release(run_of(2));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_FALSE(is_alive(pid));
  EXPECT_TRUE(fs::is_empty(options.directory)) << "nothing is left";
}

TEST_F(MpsKeeperTest, EachGpuHasItsOwn) {
  prepare(1, me(), {gpu_a, gpu_b});
  EXPECT_EQ(answer(1), "ready " + place(gpu_a, me()) + "/pipe " + place(gpu_b, me()) + "/pipe");
  const pid_t pid = pid_of(gpu_b, me());
  EXPECT_NE(pid_of(gpu_a, me()), pid);
  const std::string environment = file_read(format("/proc/{}/environ", pid));
  EXPECT_NE(environment.find("CUDA_VISIBLE_DEVICES=" + gpu_b), std::string::npos);
  EXPECT_EQ(environment.find("ROTA_"), std::string::npos) << "it is nobody's job";
  keeper->release(run_of(1));
  EXPECT_TRUE(ends_up_empty());
}

TEST_F(MpsKeeperTest, EachUserHasItsOwn) {
  if (!is_root()) GTEST_SKIP() << "only root runs programs of others";
  prepare(1, me(), {gpu_a});
  prepare(2, other(), {gpu_a});
  EXPECT_EQ(answer(1), "ready " + place(gpu_a, me()) + "/pipe");
  EXPECT_EQ(answer(2), "ready " + place(gpu_a, other()) + "/pipe");
  const pid_t pid = pid_of(gpu_a, other());
  EXPECT_NE(pid_of(gpu_a, me()), pid);
  EXPECT_NE(file_read(format("/proc/{}/status", pid)).find("Uid:\t54321\t54321\t54321"),
            std::string::npos);
  EXPECT_NE(file_read(format("/proc/{}/status", pid)).find("Groups:\t54321 \n"), std::string::npos);
  for (const char* name : {"/pipe", "/log"}) {
    struct stat status {};
    ASSERT_EQ(::stat((place(gpu_a, other()) + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 54'321u);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << "closed to all others";
  }
  keeper->release(run_of(2));
  EXPECT_TRUE(until([this] { return keeper->size() == 1; }));
  EXPECT_FALSE(is_alive(pid));
  EXPECT_TRUE(is_alive(pid_of(gpu_a, me())));
  keeper->release(run_of(1));
  EXPECT_TRUE(ends_up_empty());
}

TEST_F(MpsKeeperTest, TheNextRunComesWhileTheLastOneIsEnded) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t pid = pid_of(gpu_a, me());
  keeper->release(run_of(1));
  prepare(2, me(), {gpu_a});
  EXPECT_EQ(answer(2), answer(1));
  EXPECT_TRUE(is_alive(pid_of(gpu_a, me())));
  // And while it is being started.
  prepare(3, me(), {gpu_b});
  keeper->release(run_of(3));
  keeper->release(run_of(2));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_FALSE(answers.contains(3)) << "nobody is told after the release";
  EXPECT_FALSE(is_alive(pid));
  EXPECT_TRUE(fs::is_empty(options.directory));
}

// ---- what goes wrong ----

TEST_F(MpsKeeperTest, WhatCannotBeHadIsSaidInItsWords) {
  const auto refused = [this](std::uint64_t job, const std::string& program) {
    restart_with(program);
    prepare(job, me(), {gpu_a});
    const std::string said = answer(job);
    keeper->release(run_of(job));
    EXPECT_TRUE(ends_up_empty());
    EXPECT_TRUE(fs::is_empty(options.directory));
    return said;
  };
  options.start_patience = milliseconds(100);
  options.call_limit = milliseconds(300);
  const std::string start =
      format("the MPS daemon of uid {} on {} cannot be had: ", ::geteuid(), gpu_a);
  EXPECT_EQ(refused(1, "/no/such/program"),
            start + "/no/such/program: cannot be run: No such file or directory");
  EXPECT_EQ(refused(2, "rota-no-such-program"),
            start + "rota-no-such-program: cannot be run: No such file or directory");
  const std::string program = directory + "/program";
  EXPECT_EQ(refused(3, script("echo first; echo no MPS today >&2; exit 3")),
            start + program + ": no MPS today");
  EXPECT_EQ(refused(4, script("exit 3")), start + program + ": it ended with 3");
  EXPECT_EQ(refused(5, script("kill -9 $$")), start + program + ": it was ended by signal 9");
  EXPECT_EQ(refused(6, script("echo wait; exec sleep 1000")),
            start + program + ": it did not end in time (wait)");
  EXPECT_EQ(refused(7, script("test \"$1\" = -d || { echo nobody there; exit 1; }")),
            start + program + ": nobody there")
      << "one that says it has started, and is not there";
  EXPECT_EQ(refused(8, script("exit 0")), start + program + ": it gives no answer");
  EXPECT_EQ(refused(9, script("echo 100.0")),
            start + place(gpu_a, me()) + "/pipe does not tell which process it is");
}

TEST_F(MpsKeeperTest, AGpuThatIsNotHere) {
  prepare(1, me(), {"GPU-cccccccc-0000-0000-0000-000000000003"});
  EXPECT_EQ(answer(1), "this node has no GPU 'GPU-cccccccc-0000-0000-0000-000000000003' for MPS");
  keeper->release(run_of(1));
  EXPECT_TRUE(ends_up_empty());
}

TEST_F(MpsKeeperTest, APathThatIsTooLongForSockets) {
  stop();
  options.directory = directory + "/spool/" + std::string(80, 'x') + "/mps";
  fs::create_directories(directory + "/spool/" + std::string(80, 'x'));
  start();
  prepare(1, me(), {gpu_a});
  EXPECT_NE(answer(1).find("is too long a path for the sockets of an MPS daemon: give "
                           "node.spool_dir a shorter one"),
            std::string::npos)
      << answer(1);
}

TEST_F(MpsKeeperTest, OneThatDiesUnderItsRunsIsReplacedForTheNext) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t first = pid_of(gpu_a, me());
  ::kill(first, SIGKILL);
  prepare(2, me(), {gpu_a});
  EXPECT_EQ(answer(2), answer(1));
  const pid_t second = pid_of(gpu_a, me());
  EXPECT_NE(second, first);
  EXPECT_TRUE(is_alive(second));
  keeper->release(run_of(1));
  keeper->release(run_of(2));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_FALSE(is_alive(second));
}

TEST_F(MpsKeeperTest, OneThatHangsIsRefusedAndThenKilled) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t pid = pid_of(gpu_a, me());
  // Short limits only from here on: on a busy machine its start may take longer.
  stop();
  options.call_limit = options.end_patience = milliseconds(200);
  start({{run_of(1), me(), {gpu_a}}});
  ::kill(pid, SIGSTOP);
  prepare(2, me(), {gpu_a});
  EXPECT_EQ(answer(2), format("the MPS daemon of uid {} on {} does not answer: {}: it did not end "
                              "in time",
                              ::geteuid(), gpu_a, fake_program));
  keeper->release(run_of(2));
  keeper->release(run_of(1));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << "the kernel takes its time";
  EXPECT_TRUE(fs::is_empty(options.directory));
}

TEST_F(MpsKeeperTest, WhatTheUserPutsThereHarmsNobody) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const std::string pipe = place(gpu_a, me()) + "/pipe";
  const std::string outside = directory + "/outside";
  std::ofstream(outside) << "1\n";
  fs::create_directory(pipe + "/own");
  fs::create_symlink(outside, pipe + "/link");
  keeper->release(run_of(1));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_TRUE(fs::exists(outside));
  EXPECT_FALSE(fs::exists(fs::symlink_status(pipe + "/link")));
  // The pid file of the next is not what it seems to be.
  const std::string pid_file = pipe + "/nvidia-cuda-mps-control.pid";
  fs::create_symlink(outside, pid_file);
  EXPECT_FALSE(MpsPlace(place(gpu_a, me())).find(::geteuid()));
  fs::remove(pid_file);
  std::ofstream(pid_file) << ::getpid() << '\n';
  EXPECT_FALSE(MpsPlace(place(gpu_a, me())).find(::geteuid())) << "a process, but no daemon";
  prepare(2, me(), {gpu_a});
  EXPECT_EQ(answer(2), "ready " + pipe);
  fs::remove(pipe + "/own");
  keeper->release(run_of(2));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_TRUE(fs::is_empty(options.directory));
}

// ---- another rgpud ----

TEST_F(MpsKeeperTest, ARestartKeepsThoseOfLivingRunsAndEndsTheOthers) {
  prepare(1, me(), {gpu_a});
  prepare(2, me(), {gpu_b});
  answer(1);
  answer(2);
  const pid_t kept = pid_of(gpu_a, me());
  const pid_t left = pid_of(gpu_b, me());
  stop();
  EXPECT_TRUE(is_alive(kept) && is_alive(left)) << "they outlive us";
  start({{run_of(1), me(), {gpu_a}}});
  EXPECT_TRUE(until([this] { return keeper->size() == 1; }));
  EXPECT_FALSE(is_alive(left));
  EXPECT_TRUE(is_alive(kept));
  prepare(3, me(), {gpu_a});
  EXPECT_EQ(answer(3), "ready " + place(gpu_a, me()) + "/pipe");
  EXPECT_EQ(pid_of(gpu_a, me()), kept);
  keeper->release(run_of(1));
  keeper->release(run_of(3));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_FALSE(is_alive(kept));
  EXPECT_TRUE(fs::is_empty(options.directory));
}

TEST_F(MpsKeeperTest, OneThatDiedWhileNobodyLookedIsReplaced) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t first = pid_of(gpu_a, me());
  stop();
  ::kill(first, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(first); }));
  start({{run_of(1), me(), {gpu_a}}, {run_of(2), me(), {gpu_b}}});
  EXPECT_EQ(keeper->size(), 2u) << "the runs have them, alive or not";
  prepare(3, me(), {gpu_a});
  EXPECT_EQ(answer(3), "ready " + place(gpu_a, me()) + "/pipe");
  EXPECT_NE(pid_of(gpu_a, me()), first);
  for (const std::uint64_t job : {1, 2, 3}) keeper->release(run_of(job));
  EXPECT_TRUE(ends_up_empty());
  EXPECT_TRUE(fs::is_empty(options.directory));
}

// Killed between the daemon's start and the note of its number.
TEST_F(MpsKeeperTest, OneThatWasJustStartedIsFound) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t pid = pid_of(gpu_a, me());
  stop();
  const MpsPlace place_a(place(gpu_a, me()));
  ASSERT_TRUE(place_a.save({gpu_a, ::geteuid(), ::getegid(), 0, 0}));
  start();
  EXPECT_TRUE(ends_up_empty());
  EXPECT_FALSE(is_alive(pid));
}

TEST_F(MpsKeeperTest, AnotherProcessWithItsNumberIsLeftAlone) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t pid = pid_of(gpu_a, me());
  stop();
  const MpsPlace place_a(place(gpu_a, me()));
  auto record = place_a.load();
  ASSERT_TRUE(record);
  ++record->start_time;
  ASSERT_TRUE(place_a.save(*record));
  start();
  EXPECT_TRUE(ends_up_empty());
  EXPECT_TRUE(is_alive(pid)) << "it was started at another time";
  ::kill(pid, SIGKILL);
}

TEST_F(MpsKeeperTest, WhatCannotBeReadIsRemoved) {
  prepare(1, me(), {gpu_a});
  answer(1);
  const pid_t pid = pid_of(gpu_a, me());
  stop();
  std::ofstream(place(gpu_a, me()) + "/daemon") << "ROTAMPS1 or not";
  fs::create_directories(options.directory + "/stale.1/pipe");
  start();
  EXPECT_EQ(keeper->size(), 0u);
  EXPECT_TRUE(eventually([&] { return !is_alive(pid); }));
  EXPECT_TRUE(fs::is_empty(options.directory));
}

TEST(MpsPlace, NamesAreShortAndTellGpusApart) {
  const std::vector<std::string> gpus = {gpu_a, "GPU-aaaaaaaa-1000-0000-0000-000000000001", gpu_b};
  EXPECT_EQ(MpsPlace::name_for(gpu_b, 7, gpus), "bbbbbbbb.7");
  EXPECT_EQ(MpsPlace::name_for(gpu_a, 7, gpus), "aaaaaaaa-0.7");
  EXPECT_EQ(MpsPlace::name_for(gpus[1], 7, gpus), "aaaaaaaa-1.7");
  EXPECT_EQ(MpsPlace::name_for("odd", 7, {"odd"}), "odd.7");
}

}  // namespace
}  // namespace rota::gpud
