// testsuite/unit/gpud/job_map_test.cpp - what monitoring reads of jobs and GPUs.
#include "gpud/job_map.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/format.h"
#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

class JobMapTest : public ::testing::Test {
 protected:
  JobMapTest() {
    std::string pattern = testing::TempDir() + "map.XXXXXX";
    dir_ = mkdtemp(pattern.data());
    for (std::uint32_t i = 0; i < 3; ++i) {
      Gpu& gpu = inventory_.gpus.emplace_back();
      gpu.uuid = format("GPU-{}", i);
      gpu.index = i;
    }
  }
  ~JobMapTest() override { std::filesystem::remove_all(dir_); }

  JobMap make() const { return {dir_ + "/dcgm", dir_ + "/stats", inventory_}; }
  /// "dcgm/0=12; stats/0=12 1000", in the order of names.
  std::string files() const {
    std::map<std::string, std::string> all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(dir_))
      if (file.is_regular_file()) {
        std::string text = file_read(file.path());
        for (char& c : text)
          if (c == '\n') c = ',';
        all[std::filesystem::relative(file.path(), dir_)] = text;
      }
    std::string line;
    for (const auto& [name, text] : all)
      line += format("{}{}={}", line.empty() ? "" : "; ", name, text);
    return line;
  }

  std::string dir_;
  NodeInventory inventory_;
};

TEST_F(JobMapTest, OneFileForEachGpuThatAJobHas) {
  JobMap map = make();
  map.update({{JobId{12}, 1000, {"GPU-2", "GPU-0"}}});
  EXPECT_EQ(files(), "dcgm/0=12,; dcgm/2=12,; stats/0=12 1000,; stats/2=12 1000,");
  map.update({{JobId{13}, 1001, {"GPU-0"}}});
  EXPECT_EQ(files(), "dcgm/0=13,; stats/0=13 1001,");
  map.update({});
  EXPECT_EQ(files(), "");
}

// The exporter counts instances as the driver does; jobstats knows them by UUID.
TEST_F(JobMapTest, AnInstanceHasAFileOfItsOwn) {
  const std::vector<JobHolder> holders = {{JobId{12}, 1000, {}, {{"MIG-a", 2, 7, 0}}}};
  make().update(holders);
  EXPECT_EQ(files(), "dcgm/2.7=12,; stats/MIG-a=12 1000,");
  make().update({{JobId{13}, 1001, {"GPU-0"}}});
  EXPECT_EQ(files(), "dcgm/0=13,; stats/0=13 1001,") << "what an earlier rgpud left is gone";
}

TEST_F(JobMapTest, ALineForEachJobThatShares) {
  JobMap map = make();
  map.update({{JobId{7}, 1, {"GPU-1"}}, {JobId{8}, 2, {"GPU-1"}}});
  EXPECT_EQ(files(), "dcgm/1=7,8,; stats/1=7 1,8 2,");
}

// An rgpud that was killed leaves files of jobs that are over by now.
TEST_F(JobMapTest, WhatAnEarlierOneLeftIsRemoved) {
  make().update({{JobId{1}, 0, {"GPU-0", "GPU-1"}}});
  JobMap map = make();
  map.update({{JobId{2}, 0, {"GPU-1"}}});
  EXPECT_EQ(files(), "dcgm/1=2,; stats/1=2 0,");
}

TEST_F(JobMapTest, OnlyWhatIsWished) {
  JobMap map("", dir_ + "/stats", inventory_);
  map.update({{JobId{1}, 5, {"GPU-0", "GPU-unknown"}}});
  EXPECT_EQ(files(), "stats/0=1 5,");
  JobMap none("", "", inventory_);
  none.update({{JobId{2}, 5, {"GPU-0"}}});
  EXPECT_EQ(files(), "stats/0=1 5,");
}

TEST_F(JobMapTest, ADirectoryThatCannotBeWrittenIsNoReasonToStop) {
  std::ofstream(dir_ + "/dcgm") << "a file";
  JobMap map = make();
  map.update({{JobId{1}, 5, {"GPU-0"}}});
  EXPECT_EQ(files(), "dcgm=a file; stats/0=1 5,");
}

TEST(JobHolders, AreRunsThatHaveNotEnded) {
  std::map<RunId, Agent::Run> runs;
  const auto add = [&runs](std::uint64_t job, proto::RunPhase phase,
                           std::vector<std::string> gpus) {
    Agent::Run& run = runs[{JobId{job}, 0}];
    run.phase = phase;
    run.launch.owner.uid = 1000;
    run.launch.gpu_uuids = std::move(gpus);
  };
  add(1, proto::RunPhase::ended, {"GPU-0"});
  add(2, proto::RunPhase::running, {"GPU-1"});
  add(3, proto::RunPhase::starting, {"GPU-2"});
  add(4, proto::RunPhase::running, {});
  std::string text;
  for (const JobHolder& holder : job_holders(runs))
    text += format("{} {} {}; ", holder.job.value, holder.uid, holder.gpu_uuids.front());
  EXPECT_EQ(text, "2 1000 GPU-1; 3 1000 GPU-2; ");
}

}  // namespace
}  // namespace rota::gpud
