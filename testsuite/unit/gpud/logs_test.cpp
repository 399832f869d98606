// testsuite/unit/gpud/logs_test.cpp - rlogs' side of rgpud: tickets, files, following, slow
// readers.
#include "gpud/logs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fstream>

#include "common/clock.h"
#include "fake_connection.h"
#include "net/ticket.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

using net::FakeConnection;

class LogsTest : public ::testing::Test {
 protected:
  LogsTest() {
    auto spool = Spool::open(place.path("node"));
    EXPECT_TRUE(spool);
    NodeFacts facts = place.facts();
    facts.spool_dir = spool->directory();
    facts.scripts_dir = spool->scripts_directory();
    Shell::Options options;
    options.ticket_key = std::string(32, 'k');
    shell.emplace(io.get_executor(), std::move(options), *std::move(spool), facts,
                  StepHarness::program());
    EXPECT_TRUE(shell->start());
    logs.emplace(io.get_executor(), *shell, wall_now());
    shell->on_run_ended = [this](RunId run) { logs->run_ended(run); };
    command = std::make_shared<FakeConnection>(io.get_executor(), 1000);
    logs->serve(command);
  }

  proto::LogRead request(const std::string& name) {
    proto::LogRead read;
    read.ticket.uid = 1000;
    read.ticket.job = JobId{1};
    read.ticket.purpose = "logs";
    read.ticket.owner = {::geteuid(), ::getegid(), "ada"};
    read.ticket.stdout_path = place.path(name);
    read.ticket.stderr_path = place.path(name + ".err");
    read.ticket.expires = {wall_now().microseconds + 10'000'000};
    net::sign(read.ticket, shell->ticket_key());
    return read;
  }
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_for(std::chrono::milliseconds(5));
    }
    return condition();
  }
  std::string data() const {
    std::string text;
    for (const auto& chunk : command->sent_of<proto::LogChunk>()) text += chunk.data;
    return text;
  }
  bool is_done() const {
    return !command->sent.empty() && (command->sent.back().flags & proto::frame_more) == 0;
  }
  /// What one request is answered: the file's text, or the error.
  std::string ask(const proto::LogRead& read) {
    command->sent.clear();
    command->arrive(read, 7);
    EXPECT_TRUE(until([&] { return is_done(); }));
    for (const auto& frame : command->sent) EXPECT_EQ(frame.call, 7u);
    const auto errors = command->sent_of<proto::ErrorReply>();
    return errors.empty() ? data() : "error: " + errors[0].detail;
  }
  /// A running job with id 1.
  void start_job(const std::string& script) {
    auto launch = place.batch(script);
    proto::Frame frame{proto::LaunchRun::number, 0, 0, proto::encode(launch)};
    ASSERT_TRUE(shell->received(frame));
    ASSERT_TRUE(until([&] { return ::access(place.path("out").c_str(), F_OK) == 0; }));
  }

  StepHarness place;
  boost::asio::io_context io;
  std::optional<Shell> shell;
  std::optional<LogServer> logs;
  std::shared_ptr<FakeConnection> command;
};

TEST_F(LogsTest, SendsTheFile) {
  place.write("log", "one\ntwo\n");
  place.write("log.err", "oops\n");
  EXPECT_EQ(ask(request("log")), "one\ntwo\n");
  proto::LogRead read = request("log");
  read.errors = true;
  EXPECT_EQ(ask(read), "oops\n");
  read = request("log");
  read.offset = 4;
  EXPECT_EQ(ask(read), "two\n");
  read.offset = 400;
  EXPECT_EQ(ask(read), "");
  read = request("log");
  read.tail_lines = 1;
  EXPECT_EQ(ask(read), "two\n");
}

TEST_F(LogsTest, NamesWhatCannotBeRead) {
  EXPECT_EQ(ask(request("missing")),
            "error: cannot read '" + place.path("missing") + "': No such file or directory");
  ASSERT_EQ(::mkdir(place.path("dir").c_str(), 0755), 0);
  EXPECT_EQ(ask(request("dir")),
            "error: cannot read '" + place.path("dir") + "' is not a regular file");
  ASSERT_EQ(::mkfifo(place.path("fifo").c_str(), 0666), 0);
  EXPECT_EQ(ask(request("fifo")),
            "error: cannot read '" + place.path("fifo") + "' is not a regular file");
}

TEST_F(LogsTest, ReadsWithTheOwnersRights) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  place.write("log", "secret\n");
  ::chmod(place.path("log").c_str(), 0600);
  proto::LogRead read = request("log");
  read.ticket.owner = {65534, 65534, "nobody"};
  net::sign(read.ticket, shell->ticket_key());
  EXPECT_EQ(ask(read), "error: cannot read '" + place.path("log") + "': Permission denied");
}

TEST_F(LogsTest, RefusesABadTicket) {
  place.write("log", "one\n");
  proto::LogRead read = request("log");
  read.ticket.stdout_path = "/etc/shadow";
  EXPECT_EQ(ask(read), "error: the ticket was not signed by this node's controller");
  read = request("log");
  read.ticket.uid = 1001;
  net::sign(read.ticket, shell->ticket_key());
  EXPECT_EQ(ask(read).substr(0, 34), "error: the ticket is for uid 1001 ");
  read = request("log");
  read.ticket.purpose = "exec";
  net::sign(read.ticket, shell->ticket_key());
  EXPECT_EQ(ask(read), "error: the ticket is for 'exec', not for logs");
}

TEST_F(LogsTest, FollowsUntilTheRunHasEnded) {
  // One for each word: whoever opens a fifo again may meet the writer of the last one, and its end.
  for (const char* name : {"go", "end"}) ASSERT_EQ(::mkfifo(place.path(name).c_str(), 0666), 0);
  start_job("#!/bin/sh\necho first\nread line < go\necho $line\nread line < end\necho last\n");
  proto::LogRead read = request("out");
  read.follow = true;
  command->arrive(read, 7);
  ASSERT_TRUE(until([&] { return data() == "first\n"; }));
  EXPECT_FALSE(is_done());
  place.write("go", "more\n");
  ASSERT_TRUE(until([&] { return data() == "first\nmore\n"; }));
  place.write("end", "\n");
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(data(), "first\nmore\nlast\n");
  // The run is over: following it again is reading it.
  EXPECT_EQ(ask(read), "first\nmore\nlast\n");
}

TEST_F(LogsTest, ASlowReaderIsWaitedFor) {
  const std::string text(8 << 20, 'x');
  place.write("log", text);
  command->is_slow = true;
  command->arrive(request("log"), 7);
  ASSERT_TRUE(until([&] { return command->backlog_bytes() >= (1 << 20); }));
  io.restart();
  io.run_for(std::chrono::milliseconds(200));  // time enough to go too far
  EXPECT_LE(command->backlog_bytes(), (1u << 20) + (128u << 10));
  while (!is_done()) {
    command->take_backlog();
    ASSERT_TRUE(until([&] { return is_done() || command->backlog_bytes() >= (1 << 20); }));
  }
  EXPECT_EQ(data().size(), text.size());
}

TEST_F(LogsTest, SeveralAtOnceButNotWithoutEnd) {
  start_job("#!/bin/sh\nexec sleep 1000\n");
  proto::LogRead read = request("out");
  read.follow = true;
  for (std::uint32_t call = 1; call <= 9; ++call) command->arrive(read, call);
  ASSERT_TRUE(until([&] { return !command->sent_of<proto::ErrorReply>().empty(); }));
  EXPECT_EQ(command->sent_of<proto::ErrorReply>()[0].detail,
            "8 files are being read in this session already");
  EXPECT_EQ(command->sent.back().call, 9u);
}

TEST_F(LogsTest, AnswersAPing) {
  command->arrive(proto::PingRequest{55}, 3);
  ASSERT_TRUE(until([&] { return !command->sent.empty(); }));
  EXPECT_EQ(command->sent_of<proto::PingReply>()[0].token, 55u);
}

}  // namespace
}  // namespace rota::gpud
