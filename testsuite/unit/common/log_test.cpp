// testsuite/unit/common/log_test.cpp - lines as they stand in the file.
#include "common/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

namespace rota {
namespace {

/// A directory for log files, and standard error back in place at the end.
class LogTest : public testing::Test {
 protected:
  LogTest() {
    directory_ = testing::TempDir() + "rota-log-XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    unsetenv("JOURNAL_STREAM");
  }
  ~LogTest() override {
    EXPECT_TRUE(log::open("test", "", log::Level::info));
    unsetenv("JOURNAL_STREAM");
    std::filesystem::remove_all(directory_);
  }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  static std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  /// The file's lines with time and pid, which change, left out.
  static std::string lines(const std::string& file) {
    static const std::regex moving("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z (\\w+)\\[" +
                                   std::to_string(getpid()) + "\\] ");
    return std::regex_replace(content(file), moving, "$1 ");
  }

  std::string directory_;
};

TEST_F(LogTest, ALineHasTimeProgramPidLevelAndText) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  log::info("{} nodes are up", 3);
  const std::regex shape("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z rctld\\[" +
                         std::to_string(getpid()) + "\\] info: 3 nodes are up\n");
  EXPECT_TRUE(std::regex_match(content(path("a")), shape)) << content(path("a"));
}

TEST_F(LogTest, LinesBelowTheLevelAreLeftOut) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::warning));
  log::debug("d");
  log::info("i");
  log::warning("w");
  log::error("e");
  EXPECT_EQ(lines(path("a")), "rctld warning: w\nrctld error: e\n");
  EXPECT_FALSE(log::enabled(log::Level::info));
  EXPECT_TRUE(log::enabled(log::Level::error));
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::debug));
  log::debug("d");
  EXPECT_EQ(lines(path("a")), "rctld warning: w\nrctld error: e\nrctld debug: d\n");
}

// A peer that calls itself "x\n... rctld[1] error: disk full" gets one line, not two.
TEST_F(LogTest, NobodyForgesALine) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  log::info("hello from {}", "x\n2026-11-16T03:00:00.000000Z rctld[1] error: disk full\x1b[2J");
  EXPECT_EQ(lines(path("a")),
            "rctld info: hello from x\\n2026-11-16T03:00:00.000000Z rctld[1] error: disk "
            "full\\x1b[2J\n");
}

TEST_F(LogTest, AnEndlessLineIsCut) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  log::info("{}", std::string(100'000, 'x'));
  const std::string text = lines(path("a"));
  EXPECT_EQ(text, "rctld info: " + std::string(16384, 'x') + " [83616 bytes more]\n");
}

TEST_F(LogTest, ReopenFollowsARotation) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  log::info("before");
  std::filesystem::rename(path("a"), path("a.1"));
  log::info("still the old file");
  log::reopen();
  log::info("after");
  EXPECT_EQ(lines(path("a.1")), "rctld info: before\nrctld info: still the old file\n");
  EXPECT_EQ(lines(path("a")), "rctld info: after\n");
}

TEST_F(LogTest, ReopenThatFailsGoesOnWithTheOldFile) {
  std::filesystem::create_directory(path("d"));
  ASSERT_TRUE(log::open("rctld", path("d/a"), log::Level::info));
  std::filesystem::rename(path("d"), path("e"));
  log::reopen();
  log::info("after");
  EXPECT_EQ(lines(path("e/a")), "rctld warning: cannot reopen the log " + path("d/a") +
                                    ": No such file or directory; going on with the old file\n"
                                    "rctld info: after\n");
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsAnErrorAndChangesNothing) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  const auto opened = log::open("other", path("missing/b"), log::Level::error);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().detail, "cannot open the log " + path("missing/b") +
                                       " for appending: No such file or directory");
  log::info("still here");
  EXPECT_EQ(lines(path("a")), "rctld info: still here\n");
}

TEST_F(LogTest, AppendsAndIsNotForEverybody) {
  const mode_t mask = umask(0);
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  umask(mask);
  log::info("1");
  ASSERT_TRUE(log::open("rgpud", path("a"), log::Level::info));
  log::info("2");
  EXPECT_EQ(lines(path("a")), "rctld info: 1\nrgpud info: 2\n");
  struct stat status {};
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(LogTest, ManyThreadsWriteWholeLines) {
  ASSERT_TRUE(log::open("rctld", path("a"), log::Level::info));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([thread] {
      for (int i = 0; i < 500; ++i) log::info("{} {} {}", thread, i, std::string(200, 'x'));
    });
  // Rotations while they write.
  for (int i = 0; i < 20; ++i) {
    std::filesystem::rename(path("a"), path("old" + std::to_string(i)));
    log::reopen();
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> seen;
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    std::istringstream text(lines(file.path()));
    for (std::string line; std::getline(text, line);) seen.insert(line);
  }
  EXPECT_EQ(seen.size(), 2000u);
  EXPECT_EQ(seen.count("rctld info: 3 499 " + std::string(200, 'x')), 1u);
}

/// Runs `body` with standard error in a file, and gives the file's text.
template <class Body>
std::string on_stderr(const std::string& file, Body body) {
  const int saved = dup(STDERR_FILENO);
  const int fd = open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(fd, STDERR_FILENO);
  close(fd);
  body();
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string identity(int fd) {
  struct stat status {};
  fstat(fd, &status);
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

TEST_F(LogTest, TheJournalAddsTheTimeItself) {
  const std::string text = on_stderr(path("e"), [] {
    setenv("JOURNAL_STREAM", identity(STDERR_FILENO).c_str(), 1);
    ASSERT_TRUE(log::open("rctld", "", log::Level::info));
    log::info("ready");
  });
  EXPECT_EQ(text, "rctld[" + std::to_string(getpid()) + "] info: ready\n");
}

// The variable is inherited: a daemon started from a unit's shell with its own standard error.
TEST_F(LogTest, AJournalThatIsNotStandardErrorDoesNotCount) {
  setenv("JOURNAL_STREAM", "1:2", 1);
  const std::string text = on_stderr(path("e"), [] {
    ASSERT_TRUE(log::open("rctld", "-", log::Level::info));
    log::info("ready");
  });
  EXPECT_TRUE(std::regex_match(text, std::regex("\\d{4}-.*Z rctld\\[\\d+\\] info: ready\n")))
      << text;
}

TEST_F(LogTest, ErrnoSurvives) {
  ASSERT_TRUE(log::open("rctld", "/dev/full", log::Level::info));
  errno = ENOENT;
  log::info("lost");
  EXPECT_EQ(errno, ENOENT);
}

TEST(LogLevel, HasFourNames) {
  EXPECT_EQ(log::level_from("debug").value(), log::Level::debug);
  EXPECT_EQ(log::level_from("info").value(), log::Level::info);
  EXPECT_EQ(log::level_from("warning").value(), log::Level::warning);
  EXPECT_EQ(log::level_from("error").value(), log::Level::error);
  EXPECT_EQ(log::level_from("loud").error().detail,
            "log level 'loud' is none of debug, info, warning, error");
}

}  // namespace
}  // namespace rota
