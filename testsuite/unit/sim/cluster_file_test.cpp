// testsuite/unit/sim/cluster_file_test.cpp - clusters from YAML, and every way to be wrong.
#include "sim/cluster_file.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"

namespace rota::sim {
namespace {

/// "n[1-2] gpus=8 ...; ...", or the error.
std::string cluster(std::string_view text) {
  const auto root = yaml_parse(text, "c.yaml", {});
  if (!root) return root.error().detail;
  if (!*root) return "empty";
  const auto read = cluster_read(**root, "c.yaml");
  if (!read) return read.error().detail;
  std::string all;
  for (const NodeGroup& group : read->groups)
    all +=
        format("{} gpus={} model={} gpu_memory={} cpus={} memory={};", hostlist_fold(group.names),
               group.gpu_count, group.model, size_format(group.gpu_memory_bytes), group.cpu_count,
               size_format(group.memory_bytes));
  return all;
}

/// "name: nodes; ...".
std::string groups(std::string_view text) {
  const auto root = yaml_parse(text, "c.yaml", {});
  const auto read = cluster_read(**root, "c.yaml");
  if (!read) return read.error().detail;
  std::string all;
  for (const NamedNodes& group : read->named_groups())
    all += format("{}: {};", group.name, hostlist_fold(group.nodes));
  return all;
}

TEST(ClusterFile, NodesAreInGroups) {
  EXPECT_EQ(groups("nodes:\n"
                   "  - {names: 'a[1-2]', gpus: 4, groups: [Fast, all]}\n"
                   "  - {names: b, gpus: 4, groups: all}\n"
                   "  - {names: c, gpus: 4}\n"),
            "all: a[1-2],b;fast: a[1-2];");
  EXPECT_EQ(groups("nodes: [{names: a, gpus: 4}]"), "");
  EXPECT_EQ(groups("nodes: [{names: a, gpus: 4, groups: [x, {}]}]"),
            "c.yaml:1:41: groups: one word is needed here");
}

TEST(ClusterFile, SaysWhatNodesHave) {
  EXPECT_EQ(cluster("nodes:\n"
                    "  - {names: 'a[1-2],x', gpus: 4, model: V100, gpu_memory: 32GiB, cpus: 80,\n"
                    "     memory: 512GiB}\n"
                    "  - {names: b, gpus: 0, cpus: 2}\n"),
            "a[1-2],x gpus=4 model=V100 gpu_memory=32GiB cpus=80 memory=512GiB;"
            "b gpus=0 model= gpu_memory=80GiB cpus=2 memory=64GiB;");
  EXPECT_EQ(cluster("nodes: [{names: a, gpus: 8}]"),
            "a gpus=8 model= gpu_memory=80GiB cpus=128 memory=512GiB;")
      << "what is not said does not stand in the way of the GPUs";
}

TEST(ClusterFile, Counts) {
  const auto root = yaml_parse("nodes: [{names: 'a[1-3]', gpus: 8}, {names: b, gpus: 2}]", "c", {});
  const auto read = cluster_read(**root, "c");
  EXPECT_EQ(read->gpu_count(), 26u);
  EXPECT_EQ(read->node_count(), 4u);
  EXPECT_EQ(read->gpus_per_node_max(), 8u);
  EXPECT_EQ(read->groups[1].inventory().gpus.size(), 2u);
}

TEST(ClusterFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(cluster("nodes: [{names: a}]"), "c.yaml:1:9: a node needs 'gpus:'");
  EXPECT_EQ(cluster("nodes: [{gpus: 8}]"), "c.yaml:1:9: a node needs 'names:'");
  EXPECT_EQ(cluster("nodes:\n- names: a\n  gpu: 8"),
            "c.yaml:3:3: a node has no key 'gpu'; did you mean 'gpus'?");
  EXPECT_EQ(cluster("node: []"), "c.yaml:1:1: a cluster has no key 'node'; did you mean 'nodes'?");
  EXPECT_EQ(cluster("[]"), "c.yaml:1:1: a cluster has keys: nodes");
  EXPECT_EQ(cluster("nodes: []"),
            "c.yaml:1:8: nodes: a list is needed here, such as - {names: 'n[1-4]', gpus: 8}");
  EXPECT_EQ(cluster("nodes: [{names: a, gpus: 257}]"),
            "c.yaml:1:26: gpus must be a number from 0 to 256");
  EXPECT_EQ(cluster("nodes: [{names: a, gpus: [1]}]"),
            "c.yaml:1:26: gpus must be a number from 0 to 256");
  EXPECT_EQ(cluster("nodes: [{names: a, gpus: 1, cpus: 0}]"),
            "c.yaml:1:35: cpus must be a number from 1 to 65536");
  EXPECT_EQ(cluster("nodes: [{names: a, gpus: 1, memory: lots}]").substr(0, 22),
            "c.yaml:1:37: memory: '");
  EXPECT_EQ(cluster("nodes: [{names: a, gpus: 1, memory: 2P}]"),
            "c.yaml:1:37: memory must be at most 1PiB");
  EXPECT_EQ(cluster("nodes: [{names: 'a[1-2]', gpus: 1}, {names: a2, gpus: 1}]"),
            "c.yaml:1:45: node 'a2' is there twice");
  EXPECT_EQ(cluster("nodes: [{names: a, names: b, gpus: 1}]").substr(0, 12), "c.yaml:1:20:");
  EXPECT_EQ(cluster("nodes: [{names: 'a[1-', gpus: 1}]").substr(0, 12), "c.yaml:1:17:");
  EXPECT_EQ(cluster("nodes: [{names: 'a[1-99999],b[1-99999]', gpus: 1}]").substr(0, 12),
            "c.yaml:1:17:");
}

}  // namespace
}  // namespace rota::sim
