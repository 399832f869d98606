// testsuite/unit/gpud/exec_test.cpp - processes that commands put into a run: real ones, behind
// handmade frames.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "common/clock.h"
#include "fake_connection.h"
#include "gpud/launch/process_tree.h"
#include "gpud/logs.h"
#include "net/ticket.h"
#include "step_harness.h"

namespace rota::gpud {
namespace {

using net::FakeConnection;
using proto::ExecStream;

constexpr std::uint32_t call = 7;

class ExecTest : public ::testing::Test {
 protected:
  ExecTest() {
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
    server.emplace(io.get_executor(), *shell, wall_now());
    connect();
  }

  void connect() {
    command = std::make_shared<FakeConnection>(io.get_executor(), 1000);
    server->serve(command);
  }
  bool until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_for(std::chrono::milliseconds(5));
    }
    return condition();
  }
  /// A run with id 1 that does nothing until it is ended.
  void start_job(std::vector<std::string> environment = {"PATH=/usr/bin:/bin"}) {
    auto launch = place.batch("#!/bin/sh\necho up\nexec sleep 1000\n");
    launch.payload.environment = std::move(environment);
    proto::Frame frame{proto::LaunchRun::number, 0, 0, proto::encode(launch)};
    ASSERT_TRUE(shell->received(frame));
    ASSERT_TRUE(until([&] { return place.read("out") == "up\n"; }));
    // Its first line may be there before rgpud has heard of its start.
    ASSERT_TRUE(until([&] { return run(request({"true"})) == "||0"; }));
    command->sent.clear();
  }
  proto::ExecStart request(std::vector<std::string> words) {
    proto::ExecStart start;
    start.ticket.uid = 1000;
    start.ticket.job = JobId{1};
    start.ticket.purpose = "exec";
    start.ticket.owner = {::geteuid(), ::getegid(), "ada"};
    start.ticket.expires = {wall_now().microseconds + 10'000'000};
    net::sign(start.ticket, shell->ticket_key());
    start.words = std::move(words);
    start.credit = 1 << 20;
    return start;
  }
  std::string data(ExecStream stream) const {
    std::string text;
    for (const auto& each : command->sent_of<proto::ExecData>())
      if (each.stream == stream) text += each.data;
    return text;
  }
  bool is_done() const {
    return !command->sent.empty() && (command->sent.back().flags & proto::frame_more) == 0;
  }
  /// "out|errors|code", or the error.
  std::string run(const proto::ExecStart& start) {
    command->sent.clear();
    command->arrive(start, call);
    EXPECT_TRUE(until([&] { return is_done(); }));
    return outcome();
  }
  std::string outcome() const {
    for (const auto& frame : command->sent) EXPECT_EQ(frame.call, call);
    const auto errors = command->sent_of<proto::ErrorReply>();
    if (!errors.empty()) return "error: " + errors[0].detail;
    const auto ends = command->sent_of<proto::ExecEnd>();
    if (ends.size() != 1) return "no end";
    std::string text = data(ExecStream::output) + '|' + data(ExecStream::errors) + '|';
    text += ends[0].exit_signal != 0 ? "signal " + std::to_string(ends[0].exit_signal)
                                     : std::to_string(ends[0].exit_code);
    return ends[0].detail.empty() ? text : text + ": " + ends[0].detail;
  }
  void input(const std::string& text) {
    command->arrive(proto::ExecData{ExecStream::input, text}, call);
  }

  StepHarness place;
  boost::asio::io_context io;
  std::optional<Shell> shell;
  std::optional<LogServer> server;
  std::shared_ptr<FakeConnection> command;
};

TEST_F(ExecTest, RunsAndTellsTheEnd) {
  start_job();
  EXPECT_EQ(run(request({"echo", "hello", "you"})), "hello you\n||0");
  EXPECT_EQ(run(request({"sh", "-c", "echo a; echo b >&2; exit 3"})), "a\n|b\n|3");
  EXPECT_EQ(run(request({"sh", "-c", "kill -9 $$"})), "||signal 9");
}

TEST_F(ExecTest, NamesWhatCannotBeRun) {
  start_job();
  EXPECT_EQ(run(request({"no-such-thing"})),
            "||127: cannot run 'no-such-thing': No such file or directory");
  EXPECT_EQ(run(request({"/etc/passwd"})), "||126: cannot run '/etc/passwd': Permission denied");
}

TEST_F(ExecTest, AClosedDirectoryOnThePathIsNotTheProgramsFault) {
  if (is_root()) GTEST_SKIP() << "nothing is closed to root";
  ASSERT_EQ(::mkdir(place.path("closed").c_str(), 0), 0);
  start_job({"PATH=" + place.path("closed") + ":/usr/bin:/bin"});
  EXPECT_EQ(run(request({"no-such-thing"})),
            "||127: cannot run 'no-such-thing': No such file or directory");
}

TEST_F(ExecTest, HasTheVariablesOfTheTaskAndItsOwn) {
  start_job({"PATH=/usr/bin:/bin", "A=1", "TERM=dumb"});
  proto::ExecStart start = request({"sh", "-c", "echo $A $TERM $ROTA_JOB_ID; pwd"});
  start.environment = {"TERM=vt100"};
  EXPECT_EQ(run(start), "1 vt100 1\n" + place.directory() + "\n||0");
}

TEST_F(ExecTest, WithoutWordsItIsAShell) {
  start_job({"PATH=/usr/bin:/bin", "SHELL=/bin/dash"});
  proto::ExecStart start = request({});
  start.input = true;
  command->arrive(start, call);
  input("echo $0\n");
  input("");
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(outcome(), "/bin/dash\n||0");
}

TEST_F(ExecTest, InputThatComesEarlyIsKept) {
  start_job();
  proto::ExecStart start = request({"cat"});
  start.input = true;
  command->arrive(start, call);
  input(std::string("one\0two\n", 8));
  input("");
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(outcome(), std::string("one\0two\n", 8) + "||0");
}

TEST_F(ExecTest, OnATerminal) {
  start_job();
  proto::ExecStart start = request({"sh", "-c", "test -t 0 && test -t 2 && stty size </dev/tty"});
  start.pty = true;
  start.rows = 13;
  start.columns = 57;
  EXPECT_EQ(run(start), "13 57\r\n||0");
}

TEST_F(ExecTest, NeverSendsMoreThanThereIsCreditFor) {
  start_job();
  proto::ExecStart start = request({"sh", "-c", "head -c 300000 /dev/zero"});
  start.credit = 1000;
  command->arrive(start, call);
  ASSERT_TRUE(until([&] { return data(ExecStream::output).size() >= 1000; }));
  io.restart();
  io.run_for(std::chrono::milliseconds(100));  // time enough to go too far
  EXPECT_EQ(data(ExecStream::output).size(), 1000u);
  proto::ExecControl more;
  more.credit = 2000;
  command->arrive(more, call);
  ASSERT_TRUE(until([&] { return data(ExecStream::output).size() >= 3000; }));
  more.credit = 1 << 20;
  command->arrive(more, call);
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(data(ExecStream::output).size(), 300000u);
}

TEST_F(ExecTest, ACommandThatOverrunsItsCreditIsCutOff) {
  start_job();
  proto::ExecStart start = request({"sleep", "1000"});
  start.input = true;
  command->arrive(start, call);
  ASSERT_TRUE(until([&] { return !command->sent_of<proto::ExecStarted>().empty(); }));
  for (int i = 0; i < 5; ++i) input(std::string(500'000, 'x'));
  EXPECT_TRUE(until([&] { return !command->is_open(); }));
}

TEST_F(ExecTest, CreditForInputComesBackAsItIsTaken) {
  start_job();
  proto::ExecStart start = request({"sh", "-c", "wc -c"});
  start.input = true;
  command->arrive(start, call);
  std::uint64_t sent = 0, allowed = 0;
  const auto credit = [&] {
    allowed = 0;
    for (const auto& each : command->sent_of<proto::ExecStarted>()) allowed += each.credit;
    for (const auto& each : command->sent_of<proto::ExecControl>()) allowed += each.credit;
    return allowed;
  };
  while (sent < 5'000'000) {
    ASSERT_TRUE(until([&] { return credit() >= sent + 250'000; }));
    input(std::string(250'000, 'x'));
    sent += 250'000;
  }
  input("");
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(outcome(), "5000000\n||0");
}

TEST_F(ExecTest, SignalsReachTheProcess) {
  start_job();
  command->arrive(request({"sh", "-c",
                           "trap 'echo hit; exit 4' USR1; echo up; while :; do sleep "
                           "0.05; done"}),
                  call);
  ASSERT_TRUE(until([&] { return data(ExecStream::output) == "up\n"; }));
  proto::ExecControl signal;
  signal.signal = SIGUSR1;
  command->arrive(signal, call);
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(data(ExecStream::output), "up\nhit\n");
  EXPECT_EQ(command->sent_of<proto::ExecEnd>()[0].exit_code, 4);
}

TEST_F(ExecTest, WhenTheCommandGoesTheProcessIsHungUp) {
  start_job();
  command->arrive(request({"sh", "-c",
                           "trap '' PIPE; trap 'echo hung >hung; exit' HUP; echo up; while :; do "
                           "sleep 0.05; done"}),
                  call);
  ASSERT_TRUE(until([&] { return data(ExecStream::output) == "up\n"; }));
  command->close("gone");
  EXPECT_TRUE(until([&] { return place.read("hung") == "hung\n"; }));
}

TEST_F(ExecTest, EndsWithTheRun) {
  start_job();
  command->arrive(request({"sleep", "1000"}), call);
  ASSERT_TRUE(until([&] { return !command->sent_of<proto::ExecStarted>().empty(); }));
  const proto::EndRun end{RunId{JobId{1}, 0}, 0, 100};
  ASSERT_TRUE(shell->received({proto::EndRun::number, 0, 0, proto::encode(end)}));
  ASSERT_TRUE(until([&] { return is_done(); }));
  EXPECT_EQ(outcome(), "||signal 15");
}

// A held run ends on the word of who holds it, and no other run does.
TEST_F(ExecTest, AHoldIsFinishedByItsHolder) {
  auto launch = place.batch("");
  launch.payload.mode = LaunchMode::hold;
  ASSERT_TRUE(shell->received({proto::LaunchRun::number, 0, 0, proto::encode(launch)}));
  proto::ExecStart start = request({});
  start.kind = proto::ExecKind::hold;
  start.ends_run = true;
  bool is_held = false;  // refused until rgpud has heard of its start
  ASSERT_TRUE(until([&] {
    if (is_held) return true;
    command->sent.clear();
    command->arrive(start, call);
    until([&] { return !command->sent.empty(); });
    return is_held = !command->sent_of<proto::ExecStarted>().empty();
  }));
  command->arrive(request({"echo", "in"}), 8);
  ASSERT_TRUE(until([&] { return data(ExecStream::output) == "in\n"; }));
  proto::ExecControl control;
  control.finish = 7;
  command->arrive(control, call);
  ASSERT_TRUE(until([&] { return shell->is_over(launch.run); }));
  ASSERT_TRUE(until([&] { return command->sent_of<proto::ExecEnd>().size() == 2; }));
}

TEST_F(ExecTest, OnlyAnAllocationIsHeld) {
  start_job();
  proto::ExecStart start = request({});
  start.kind = proto::ExecKind::hold;
  EXPECT_EQ(run(start), "||1: the job is no allocation that could be held");
}

TEST_F(ExecTest, RefusesABadTicket) {
  start_job();
  proto::ExecStart start = request({"true"});
  start.ticket.job = JobId{2};
  EXPECT_EQ(run(start), "error: the ticket was not signed by this node's controller");
  start = request({"true"});
  start.ticket.purpose = "logs";
  net::sign(start.ticket, shell->ticket_key());
  EXPECT_EQ(run(start), "error: the ticket is for 'logs', not for exec");
  start = request({"true"});
  start.ticket.expires = {wall_now().microseconds - 1};
  net::sign(start.ticket, shell->ticket_key());
  EXPECT_EQ(run(start).substr(0, 29), "error: the ticket has expired");
}

TEST_F(ExecTest, ATicketForAPortOpensNothingElse) {
  start_job();
  const auto with_port = [this](proto::ExecKind kind, std::uint16_t port) {
    proto::ExecStart start = request({"true"});
    start.ticket.purpose = "port";
    start.ticket.port = 1;
    net::sign(start.ticket, shell->ticket_key());
    start.kind = kind;
    start.port = port;
    return start;
  };
  using proto::ExecKind;
  const std::string refusal = "error: the ticket is for port 1 and for nothing else";
  // Nobody listens there, but it was tried.
  EXPECT_EQ(run(with_port(ExecKind::connect, 1)).find("error:"), std::string::npos);
  EXPECT_EQ(run(with_port(ExecKind::connect, 2)), refusal);
  for (const ExecKind kind : {ExecKind::command, ExecKind::hold, ExecKind::attach})
    EXPECT_EQ(run(with_port(kind, 1)), refusal);
  proto::ExecStart start = with_port(ExecKind::connect, 1);
  start.ends_run = true;
  EXPECT_EQ(run(start), refusal);
  start = with_port(ExecKind::connect, 1);
  start.ticket.port = 2;
  EXPECT_EQ(run(start), "error: the ticket was not signed by this node's controller");
}

TEST_F(ExecTest, RefusesWhatMakesNoSense) {
  start_job();
  proto::ExecStart start = request({std::string("a\0b", 3)});
  EXPECT_EQ(run(start), "error: a word has a NUL byte");
  start = request({"true"});
  start.environment = {"=x"};
  EXPECT_EQ(run(start), "error: environment entry '=x' is not NAME=value");
  start = request({"true"});
  start.task = 1;
  EXPECT_EQ(run(start), "||1: task 1 is not on this node");
  start = request({"true"});
  start.ticket.job = JobId{9};
  net::sign(start.ticket, shell->ticket_key());
  EXPECT_EQ(run(start), "error: job 9 does not run here (any more)");
  start = request({std::string(200'000, 'x')});
  EXPECT_EQ(run(start).substr(0, 22), "error: the command has");
}

TEST_F(ExecTest, ManyInOneSession) {
  start_job();
  for (std::uint32_t i = 1; i <= 30; ++i) command->arrive(request({"echo", std::to_string(i)}), i);
  ASSERT_TRUE(until([&] { return command->sent_of<proto::ExecEnd>().size() == 30; }));
  std::map<std::uint32_t, std::string> said;
  for (const auto& frame : command->sent)
    if (frame.type == proto::ExecData::number)
      said[frame.call] += proto::decode<proto::ExecData>(frame.body)->data;
  for (std::uint32_t i = 1; i <= 30; ++i) EXPECT_EQ(said[i], std::to_string(i) + "\n");
}

}  // namespace
}  // namespace rota::gpud
