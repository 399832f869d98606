// testsuite/unit/sim/pack_test.cpp - the packing experiment: its files and what it counts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/format.h"
#include "sim/pack_run.h"

namespace rota::sim {
namespace {

/// Three files in a directory of their own, gone at the end.
class Files {
 public:
  Files() : dir_(std::filesystem::temp_directory_path() / format("rota-pack.{}", getpid())) {
    std::filesystem::create_directory(dir_);
  }
  ~Files() { std::filesystem::remove_all(dir_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  Result<PackTrace> read() const {
    std::ofstream(dir_ / "nodes.csv") << nodes;
    std::ofstream(dir_ / "tasks.csv") << tasks;
    std::ofstream(dir_ / "arrivals.csv") << arrivals;
    return read_pack_trace({dir_ / "nodes.csv", dir_ / "tasks.csv", dir_ / "arrivals.csv"});
  }
  /// What is wrong with the files, from their names on.
  std::string error() const {
    const auto trace = read();
    if (trace) return "";
    return trace.error().detail.substr(dir_.string().size() + 1);
  }

  std::string nodes =
      "node,cpu_milli,mem_mib,gpus,gpu_model\n"
      "a,8000,1000,2,T4\n"
      "b,8000,1000,0,\n"
      "c,8000,1000,2,A10\n";
  std::string tasks =
      "task,cpu_milli,mem_mib,gpus,gpu_milli,gpu_models\n"
      "0,1000,10,1,500,\n"
      "1,1000,10,2,1000,A10|H100\n"
      "2,1000,10,0,0,\n";
  std::string arrivals =
      "7,nodes,2,0,1\n"
      "7,tasks,0,0,1,2,0\n";

 private:
  std::filesystem::path dir_;
};

std::string number(const std::optional<double>& value) {
  return value ? format("{:.2f}", *value) : "-";
}

/// "alloc100 alloc130".
std::string outcome(const Files& files, PackPolicy policy, std::uint64_t seed) {
  const auto trace = files.read();
  if (!trace) return trace.error().detail;
  const PackOutcome out = run_pack(*trace, trace->arrivals.at(seed), policy);
  return number(out.alloc100) + " " + number(out.alloc130);
}

TEST(PackTrace, ReadsNodesTasksAndArrivals) {
  const Files files;
  const auto trace = files.read();
  ASSERT_TRUE(trace) << trace.error().detail;
  EXPECT_EQ(trace->gpu_count(), 4);
  ASSERT_EQ(trace->nodes.size(), 3u);
  EXPECT_EQ(trace->nodes[2].model, 1);
  EXPECT_EQ(trace->nodes[2].memory_bytes, 1000 << 20);
  ASSERT_EQ(trace->tasks.size(), 3u);
  EXPECT_EQ(trace->tasks[0].gpu_share, 500'000);
  EXPECT_EQ(trace->tasks[0].models, ~0u);
  EXPECT_EQ(trace->tasks[1].models, 2u) << "no node has an H100";
  EXPECT_EQ(trace->arrivals.at(7).tasks, (std::vector<std::uint32_t>{0, 0, 1, 2, 0}));
}

TEST(PackTrace, SaysWhatIsWrongWithNodes) {
  Files files;
  files.nodes = "node,cpu_milli,mem_mib,gpus,gpu_model\na,8000,1000,33,T4\n";
  EXPECT_EQ(files.error(), "nodes.csv:2:13: gpus: '33' is not a number from 0 to 32");
  files.nodes = "node,cpu_milli,mem_mib,gpus,gpu_model\na,8000,1000,3,\n";
  EXPECT_EQ(files.error(), "nodes.csv:2:15: gpu_model: empty; expected the name of a GPU model");
  files.nodes = "node,cpu_milli,mem_mib,gpus,gpu_model\na,8000,1000,0,\n";
  EXPECT_EQ(files.error(), "nodes.csv: no node with a GPU");
  files.nodes = "node,cpu_milli,mem_mib,gpus,gpu_model\n";
  for (int i = 0; i < 33; ++i) files.nodes += format("n{0},1,1,1,m{0}\n", i);
  EXPECT_EQ(files.error(),
            "nodes.csv:34:11: gpu_model: 'm32' is one model too many; at most 32 are possible");
}

TEST(PackTrace, SaysWhatIsWrongWithTasks) {
  Files files;
  const std::string header = "cpu_milli,mem_mib,gpus,gpu_milli,gpu_models\n";
  files.tasks = header + "1,1,2,500,\n";
  EXPECT_EQ(files.error(), "tasks.csv:2:7: gpu_milli: '500' is not a number from 1000 to 1000");
  files.tasks = header + "1,1,0,500,\n";
  EXPECT_EQ(files.error(), "tasks.csv:2:7: gpu_milli: '500' is not a number from 0 to 0");
  files.tasks = header + "1,1,1,0,\n";
  EXPECT_EQ(files.error(), "tasks.csv:2:7: gpu_milli: '0' is not a number from 1 to 1000");
  files.tasks = header;
  EXPECT_EQ(files.error(), "arrivals.csv:2:3: there are no tasks");
}

TEST(PackTrace, SaysWhatIsWrongWithArrivals) {
  Files files;
  const auto with = [&](const std::string& text) {
    files.arrivals = text;
    return files.error();
  };
  EXPECT_EQ(with(""), "arrivals.csv:1:1: empty; expected SEED,nodes,RANK...");
  EXPECT_EQ(with("7,nodes,0,1,2\n"), "arrivals.csv: no line of tasks for seed 7");
  EXPECT_EQ(with("7,tasks,0\n"), "arrivals.csv: no line of nodes for seed 7");
  EXPECT_EQ(with("7,jobs,0\n"),
            "arrivals.csv:1:3: expected SEED,nodes,RANK... or SEED,tasks,ROW...");
  EXPECT_EQ(with("7\n"), "arrivals.csv:1:1: expected SEED,nodes,RANK... or SEED,tasks,ROW...");
  EXPECT_EQ(with("x,nodes,0\n"),
            "arrivals.csv:1:1: 'x' is not a number from 0 to 9223372036854775807");
  EXPECT_EQ(with("7,nodes,0,1\n"), "arrivals.csv:1:3: 2 ranks; expected one for each of 3 nodes");
  EXPECT_EQ(with("7,nodes,0,1,1\n"), "arrivals.csv:1:13: rank 1 is given twice");
  EXPECT_EQ(with("7,nodes,0,1,3\n"), "arrivals.csv:1:13: '3' is not a number from 0 to 2");
  EXPECT_EQ(with("7,tasks,0,3\n"), "arrivals.csv:1:11: '3' is not a number from 0 to 2");
  EXPECT_EQ(with("7,tasks,0\n7,tasks,0\n"), "arrivals.csv:2:1: a second line of tasks for seed 7");
}

// Four GPUs. Asked for after each arrival: 25, 50, 100, 100, 105 and 130 %; the value at 100 is the
// mean of the two arrivals there. The gang finds its A10s, the last share of 0.2 and the 1.0 that
// follows do not all fit.
TEST(PackRun, CountsTheArrivalsAtThatPercent) {
  Files files;
  files.tasks =
      "cpu_milli,mem_mib,gpus,gpu_milli,gpu_models\n"
      "0,0,1,1000,T4\n"
      "0,0,2,1000,A10\n"
      "0,0,0,0,\n"
      "0,0,1,200,\n"
      "0,0,1,1000,\n";
  files.arrivals = "1,nodes,0,1,2\n1,tasks,0,0,1,2,3,4\n";
  EXPECT_EQ(outcome(files, PackPolicy::least_loss, 1), "100.00 100.00");
  files.arrivals = "1,nodes,0,1,2\n1,tasks,1,1,2,3,4\n";
  EXPECT_EQ(outcome(files, PackPolicy::least_loss, 1), "50.00 80.00");
  files.arrivals = "1,nodes,0,1,2\n1,tasks,0,0\n";
  EXPECT_EQ(outcome(files, PackPolicy::first_fit, 1), "- -") << "no arrival at either";
}

// First fit goes by rank: with the T4 node in front the free share takes a T4 that the next two
// need, with the A10 node in front it does not.
TEST(PackRun, FirstFitGoesByRank) {
  Files files;
  files.tasks =
      "cpu_milli,mem_mib,gpus,gpu_milli,gpu_models\n"
      "0,0,1,1000,\n"
      "0,0,1,1000,T4\n";
  files.arrivals = "1,nodes,0,1,2\n1,tasks,0,0,1,1\n2,nodes,2,1,0\n2,tasks,0,0,1,1\n";
  EXPECT_EQ(outcome(files, PackPolicy::first_fit, 1), "50.00 -");
  EXPECT_EQ(outcome(files, PackPolicy::first_fit, 2), "100.00 -");
}

}  // namespace
}  // namespace rota::sim
