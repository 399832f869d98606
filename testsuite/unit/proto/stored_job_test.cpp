// testsuite/unit/proto/stored_job_test.cpp - jobs in a store that an earlier release wrote.
#include <gtest/gtest.h>

#include "model/job.h"
#include "walk.h"

namespace rota::proto {
namespace {

// Bytes of release 0.1. They never change; fields that were added since are not in them.
constexpr std::string_view ending =
    "f900000007000000000000004900000005000000747261696e06000000766973696f6e01010000000000000010"
    "000000020000000100000000000000000000000c00000000000000000000000000000000000000000000000110"
    "000000e80300006400000004000000616e6e610401000000e803000000000000d0070000000000000000000000"
    "000000010000002000000002000000010000000100000002000000000003000400000005000000000000000200"
    "000001000000020000000200000001000000020000000118000000010300000000000000a00f00000000000003"
    "00000077687901a00f00000000000002020000000100000001000000";
constexpr std::string_view waiting =
    "a200000008000000000000004a00000005000000747261696e0700000064656661756c74010100000000000000"
    "10000000000000000100000000000000000000000c000000000000000000000000000000000000000000000001"
    "10000000e80300006400000004000000616e6e610100000000e803000000000000000000000000000000000000"
    "00000000000000000000000000000000000000000000000000000100000000";

/// All boxes that were never written to show the same default.
template <class T>
bool is_empty(const Box<T>& box) {
  return &*box == &*Box<T>();
}

Job job_of(std::string_view hex) {
  const auto job = decode<Job>(from_hex(hex));
  EXPECT_TRUE(job);
  return job ? *job : Job{};
}

TEST(StoredJob, AJobThatWasStarted) {
  const Job job = job_of(ending);
  Job same;
  same.id = {7};
  same.spec.name = "train";
  same.spec.project = "vision";
  same.spec.task.gpu_count = 2;
  same.owner = {1000, 100, "anna"};
  same.state = JobState::completing;
  same.restarts = 1;
  same.submit_time = {1000};
  same.cancel_requested = true;
  same.mode = LaunchMode::tasks;
  LastRun& run = same.last.edit();
  run.start_time = {2000};
  run.placement = {NodePart{NodeId{2}, 1, 1, {0, 3}, 4, 5}};
  run.nodes = {NodeId{1}, NodeId{2}};
  run.started = {NodeId{1}, NodeId{2}};
  run.tasks_per_node = {1, 1};
  run.end = RunEnd{EndCause::exited, 3, 0, 4000, "why"};
  run.elapsed_ms = 4000;
  EXPECT_EQ(job, same);
  EXPECT_EQ(job_of(to_hex(encode(same))), same);
}

TEST(StoredJob, AJobThatWaits) {
  const Job job = job_of(waiting);
  EXPECT_EQ(job.id, JobId{8});
  EXPECT_EQ(job.spec.project, "default");
  EXPECT_EQ(job.owner.user, "anna");
  EXPECT_EQ(job.submit_time.microseconds, 1000);
  EXPECT_EQ(*job.last, LastRun{});
  EXPECT_TRUE(is_empty(job.last)) << "a waiting job carries an empty run";
  EXPECT_EQ(job_of(to_hex(encode(job))), job);
}

// A million of them wait: a field more is a megabyte more.
TEST(StoredJob, IsSmall) { EXPECT_LE(sizeof(Job), 280u); }

TEST(Box, IsAValue) {
  Box<std::string> box;
  EXPECT_EQ(*box, "");
  box.edit() = "text";
  Box<std::string> copy = box;
  EXPECT_EQ(copy, box);
  copy.edit() += "s";
  EXPECT_EQ(*box + " " + *copy, "text texts");
  copy.edit().clear();
  EXPECT_EQ(copy, Box<std::string>());
  EXPECT_FALSE(is_empty(copy));
  copy.tidy();
  EXPECT_TRUE(is_empty(copy));
  box = Box<std::string>();
  EXPECT_TRUE(box->empty());
}

}  // namespace
}  // namespace rota::proto
