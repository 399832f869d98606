// testsuite/unit/gpud/step_task_test.cpp - what a step's task gets: variables, GPUs, a gate, a
// port.
#include "gpud/launch/step_task.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "gpud/meeting_ports.h"

namespace rota::gpud {
namespace {

TEST(StepTask, OfANameTheFirstCounts) {
  const std::vector<std::string> first = {"A=1", "B=2"}, second = {"B=3", "AA=4", "A=5"};
  std::string text;
  for (char* variable : merged_environment({&first, &second}))
    if (variable != nullptr) text += std::string(variable) + ' ';
  EXPECT_EQ(text, "A=1 B=2 AA=4 ");
}

std::string divided(const StepOrder& order, std::uint32_t first, std::uint32_t count) {
  return gpus_of_task(gpus_of_run(order), first, count).value_or("none");
}

// A script's process sees all GPUs of its node; those of a step's tasks are parts of that.
TEST(StepTask, GpusAreDividedInOrder) {
  StepOrder order;
  order.tasks.resize(1);
  order.tasks[0].environment = {"X=1", "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-c,GPU-d"};
  EXPECT_EQ(divided(order, 0, 2), "GPU-a,GPU-b");
  EXPECT_EQ(divided(order, 2, 2), "GPU-c,GPU-d");
  EXPECT_EQ(divided(order, 3, 2), "none");
  EXPECT_EQ(divided(order, 4'294'967'295, 2), "none");
}

TEST(StepTask, GpusOfAllTasksAreTheRuns) {
  StepOrder order;
  order.tasks.resize(3);
  order.tasks[0].environment = {"CUDA_VISIBLE_DEVICES=GPU-a,GPU-z"};
  order.tasks[1].environment = {"CUDA_VISIBLE_DEVICES=GPU-b,GPU-z"};
  order.tasks[2].environment = {"CUDA_VISIBLE_DEVICES="};
  EXPECT_EQ(divided(order, 0, 3), "GPU-a,GPU-z,GPU-b");
}

TEST(StepTask, TheGateHandsVariablesOver) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  open_gate(ends[1], {"A=1", "B=x y"});
  ::close(ends[1]);
  std::vector<std::string> variables;
  EXPECT_TRUE(wait_at_gate(ends[0], variables));
  EXPECT_EQ(variables, (std::vector<std::string>{"A=1", "B=x y"}));
  ::close(ends[0]);
}

TEST(StepTask, AClosedGateLetsNobodyThrough) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  std::vector<std::string> variables;
  EXPECT_FALSE(wait_at_gate(ends[0], variables));
  ::close(ends[0]);
}

TEST(StepTask, AProgramIsLookedForAsExecDoesIt) {
  EXPECT_EQ(find_program("sh"), 0);
  EXPECT_EQ(find_program("/bin/sh"), 0);
  EXPECT_EQ(find_program("no-such-program"), ENOENT);
  EXPECT_EQ(find_program("/etc/passwd"), EACCES);
  EXPECT_EQ(find_program("/tmp"), EACCES);
}

TEST(MeetingPorts, ATakenOneIsNotGivenAgain) {
  MeetingPorts ports([](std::uint16_t) { return true; });
  const RunId run{JobId{7}, 0};
  const std::uint16_t first = ports.take(run).value();
  EXPECT_EQ(first, MeetingPorts::first_choice(run));
  EXPECT_NE(ports.take(run).value(), first);
  EXPECT_FALSE(ports.take_first_choice(run));
  ports.release(first);
  EXPECT_EQ(ports.take_first_choice(run).value(), first);
}

TEST(MeetingPorts, WhatSomebodyListensOnIsPassedOver) {
  const RunId run{JobId{7}, 0};
  const std::uint16_t first = MeetingPorts::first_choice(run);
  MeetingPorts ports([first](std::uint16_t port) { return port != first; });
  EXPECT_EQ(ports.take(run).value(), first + 1);
  EXPECT_EQ(
      ports.take_first_choice(run).error().detail,
      "TCP port " + std::to_string(first) + ", where the job's processes would meet, is in use");
}

TEST(MeetingPorts, NeighboursAndRestartsChooseApart) {
  std::set<std::uint16_t> seen;
  for (std::uint64_t job = 1; job <= 1000; ++job)
    seen.insert(MeetingPorts::first_choice({JobId{job}}));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_NE(MeetingPorts::first_choice({JobId{1}, 0}), MeetingPorts::first_choice({JobId{1}, 1}));
  for (const std::uint16_t port : seen) EXPECT_TRUE(port >= 10'240 && port < 32'768) << port;
}

TEST(MeetingPorts, ARealListenerIsSeen) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_FALSE(MeetingPorts::is_unused(ntohs(address.sin_port)));
  ::close(listener);
  EXPECT_TRUE(MeetingPorts::is_unused(ntohs(address.sin_port)));
}

}  // namespace
}  // namespace rota::gpud
