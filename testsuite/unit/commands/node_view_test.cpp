// testsuite/unit/commands/node_view_test.cpp - nodes and GPUs as rows and as JSON.
#include "commands/node_view.h"

#include <gtest/gtest.h>

#include "commands/health_view.h"

namespace rota::commands {
namespace {

Gpu gpu(std::uint32_t index) {
  Gpu gpu;
  gpu.uuid = "GPU-000" + std::to_string(index);
  gpu.model = "Tesla V100-SXM2-32GB";
  gpu.memory_bytes = std::uint64_t{32} << 30;
  gpu.index = index;
  gpu.pci_bus_id = "00000000:06:00.0";
  gpu.numa_node = static_cast<std::int32_t>(index) - 1;
  return gpu;
}

/// Two GPUs, the first held by job 12 and half used, the second shared by two others.
NodeView up_node() {
  NodeView node;
  node.identity = {"dgx1", "10.0.0.1:7118", "0.1.0", "boot"};
  node.state = NodeState::up;
  node.since = {1'794'794'400'000'000};
  node.inventory.cpu_count = 80;
  node.inventory.memory_bytes = std::uint64_t{512} << 30;
  node.inventory.gpus = {gpu(0), gpu(1)};
  node.cpus_held = 4;
  node.memory_held_bytes = std::uint64_t{64} << 30;
  node.gpu_holders = {JobId{12}, JobId{}};
  node.gpu_sharers = {{1, JobId{13}, 500'000}, {1, JobId{14}, 250'000}};
  node.usage = {{"GPU-0000", 50, std::uint64_t{16} << 30, 1}};
  node.type = "v100-sxm2-32gb";
  node.groups = {"dgx", "lab"};
  node.place = "b1/r2";
  GpuHealth& health = node.health.emplace_back();
  health.uuid = "GPU-0001";
  health.condition = GpuCondition::draining;
  health.reason = "Xid 48: double bit ECC error";
  health.since = node.since;
  return node;
}

NodeView down_node() {
  NodeView node;
  node.identity.name = "dgx2";
  node.reason = "its connection was lost";
  return node;
}

TEST(NodeTable, OneRowForEachNode) {
  EXPECT_EQ("\n" + node_table({up_node(), down_node()}).render({}), R"(
NODE STATE   GPUS MODEL                TYPE           GROUPS  PLACE CPUS       MEMORY REASON
dgx1 up    1.75/2 Tesla V100-SXM2-32GB v100-sxm2-32gb dgx,lab b1/r2 4/80 64GiB/512GiB
dgx2 down     0/0 -                    -              -       -      0/0        0B/0B its connection was lost
)");
}

TEST(NodeTable, OneRowForEachGpu) {
  EXPECT_EQ("\n" + gpu_table({up_node(), down_node()}).render({}), R"(
NODE GPU MODEL                MEMORY  USED UTIL LAYOUT            JOB CONDITION UUID     REASON
dgx1   0 Tesla V100-SXM2-32GB  32GiB 16GiB  50% whole              12 ok        GPU-0000
dgx1   1 Tesla V100-SXM2-32GB  32GiB     -    - shared 13:0.5 14:0.25 draining  GPU-0001 Xid 48: double bit ECC error
)");
}

TEST(NodeText, HasTheNodeAndItsGpus) {
  EXPECT_EQ(node_text(up_node()),
            "node: dgx1\nstate: up\nsince: 2026-11-16T02:00:00Z\naddress: 10.0.0.1:7118\n"
            "version: 0.1.0\ntype: v100-sxm2-32gb\ngroups: dgx,lab\nplace: b1/r2\ncpus: 80\n"
            "cpus_held: 4\nmemory: 512GiB\nmemory_held: 64GiB\ngpus: 2\ngpus_held: 1.75\n"
            "gpu0: Tesla V100-SXM2-32GB, 32GiB, GPU-0000, whole, jobs 12, 50% busy, 16GiB used, "
            "ok\n"
            "gpu1: Tesla V100-SXM2-32GB, 32GiB, GPU-0001, shared, jobs 13:0.5 14:0.25, draining "
            "(Xid 48: double bit ECC error)\n");
  EXPECT_EQ(node_text(down_node()),
            "node: dgx2\nstate: down\nreason: its connection was lost\ncpus: 0\ncpus_held: 0\n"
            "memory: 0B\nmemory_held: 0B\ngpus: 0\ngpus_held: 0\n");
}

TEST(NodeTable, DrawsWhatAGpuIsCutInto) {
  NodeView node;
  node.identity.name = "a1";
  node.state = NodeState::up;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Gpu a100 = gpu(i);
    a100.model = "A100";
    a100.mig.switches = i > 0;
    a100.mig.is_on = i == 0;
    a100.mig.profiles = {{.name = "7g.40gb", .compute_slices = 7, .size = 8, .starts = {0}}};
    node.inventory.gpus.push_back(a100);
  }
  node.inventory.gpus[1].mig.blocked = 0b11;
  node.mig_holders = {{{1, 4, 4, 500'000, "3g.20gb"}, JobId{7}},
                      {{1, 2, 1, 125'000, "1g.5gb"}, JobId{9}}};
  EXPECT_EQ("\n" + gpu_table({node}).render({}), R"(
NODE GPU MODEL MEMORY USED UTIL LAYOUT                    JOB CONDITION UUID     REASON
a1     0 A100   32GiB    -    - [........]                  - ok        GPU-0000
a1     1 A100   32GiB    -    - [##1.3333] 7:3g.20gb 9:1g.5gb ok        GPU-0001
a1     2 A100   32GiB    -    - idle                        - ok        GPU-0002
)");
  EXPECT_NE(node_table({node}).render({}).find("0.625/3"), std::string::npos);
  std::string out;
  JsonWriter json(out);
  write_node(json, node);
  EXPECT_NE(out.find(R"("mig":{"possible":true,"slices":8,"profiles":["7g.40gb"],"instances":[)"
                     R"({"profile":"3g.20gb","start":4,"size":4,"job":7},)"
                     R"({"profile":"1g.5gb","start":2,"size":1,"job":9}]})"),
            std::string::npos)
      << out;
}

TEST(NodeTable, NamesAreSortedAsPeopleCount) {
  std::vector<NodeView> nodes;
  for (const char* name : {"n10", "n9", "login", "n09", "n2-b", "n2-a", "n"}) {
    nodes.emplace_back();
    nodes.back().identity.name = name;
  }
  sort_by_name(nodes);
  std::string text;
  for (const NodeView& node : nodes) text += node.identity.name + " ";
  EXPECT_EQ(text, "login n n2-a n2-b n09 n9 n10 ");
}

// The keys, their order and their types are promised in doc/json.md.
TEST(NodeJson, HasEverything) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  write_node(json, up_node());
  write_node(json, down_node());
  json.end_array();
  EXPECT_EQ(
      out,
      R"([{"name":"dgx1","state":"up","reason":null,"since":"2026-11-16T02:00:00Z","cpus":80,)"
      R"("cpus_held":4,"memory_bytes":549755813888,"memory_held_bytes":68719476736,"gpus":[)"
      R"({"index":0,"uuid":"GPU-0000","model":"Tesla V100-SXM2-32GB","memory_bytes":34359738368,)"
      R"("job":12,"shares":[],"mig":null,)"
      R"("utilization_percent":50,"memory_used_bytes":17179869184,"processes":1,)"
      R"("pci_bus_id":"00000000:06:00.0","numa_node":null,"condition":"ok","condition_reason":null,)"
      R"("condition_since":null},)"
      R"({"index":1,"uuid":"GPU-0001","model":"Tesla V100-SXM2-32GB","memory_bytes":34359738368,)"
      R"("job":null,"shares":[{"job":13,"share":0.5},{"job":14,"share":0.25}],)"
      R"("mig":null,)"
      R"("utilization_percent":null,"memory_used_bytes":null,"processes":null,)"
      R"("pci_bus_id":"00000000:06:00.0","numa_node":0,"condition":"draining",)"
      R"("condition_reason":"Xid 48: double bit ECC error",)"
      R"("condition_since":"2026-11-16T02:00:00Z"}],)"
      R"("type":"v100-sxm2-32gb","groups":["dgx","lab"],)"
      R"("place":"b1/r2","address":"10.0.0.1:7118","version":"0.1.0"},)"
      R"({"name":"dgx2","state":"down","reason":"its connection was lost","since":null,"cpus":0,)"
      R"("cpus_held":0,"memory_bytes":0,"memory_held_bytes":0,"gpus":[],"type":null,"groups":[],)"
      R"("place":null,"address":"","version":""}])");
}

HealthEvent event() {
  HealthEvent event;
  event.at = {1'794'794'400'000'000};
  event.node = "dgx1";
  event.uuid = "GPU-0001";
  event.after = GpuCondition::draining;
  event.xid = 48;
  event.text = "Xid 48: double bit ECC error";
  event.jobs = {JobId{12}, JobId{13}};
  return event;
}

TEST(HealthTable, OneRowForEachEvent) {
  HealthEvent of_node;
  of_node.at = event().at;
  of_node.node = "dgx1";
  of_node.before = of_node.after = GpuCondition::failed;
  of_node.text = "check ended with 1";
  EXPECT_EQ("\n" + health_table({event(), of_node}).render({}), R"(
TIME                 NODE GPU      CONDITION   XID JOBS  WHAT
2026-11-16T02:00:00Z dgx1 GPU-0001 ok>draining  48 12,13 Xid 48: double bit ECC error
2026-11-16T02:00:00Z dgx1 -        failed        - -     check ended with 1
)");
  EXPECT_EQ(health_json({event()}),
            R"({"events":[{"time":"2026-11-16T02:00:00Z","node":"dgx1","gpu":"GPU-0001",)"
            R"("before":"ok","after":"draining","xid":48,"jobs":[12,13],)"
            R"("text":"Xid 48: double bit ECC error"}]})"
            "\n");
}

}  // namespace
}  // namespace rota::commands
