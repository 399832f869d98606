// testsuite/unit/sched/gpu_mesh_test.cpp - which GPUs of a node go together.
#include "sched/gpu_mesh.h"

#include <gtest/gtest.h>

#include <random>

#include "common/format.h"

namespace rota::sched {
namespace {

using Matrix = std::vector<std::vector<std::int32_t>>;

NodeInventory node_of(const Matrix& links) {
  NodeInventory inventory;
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    Gpu& gpu = inventory.gpus.emplace_back();
    gpu.uuid = format("GPU-{}", i);
    gpu.index = i;
    gpu.links = links[i];
  }
  return inventory;
}

std::shared_ptr<const GpuMesh> mesh_of(const Matrix& links) {
  return GpuMesh::of(node_of(links), std::vector<bool>(links.size()));
}

/// As NVML reports it of a DGX-1: two quads; each GPU has links to its quad and to one of the
/// other, and reaches the rest over the sockets.
const Matrix dgx1 = {{0, 1, 1, 2, 2, -50, -50, -50}, {1, 0, 2, 1, -50, 2, -50, -50},
                     {1, 2, 0, 2, -50, -50, 1, -50}, {2, 1, 2, 0, -50, -50, -50, 1},
                     {2, -50, -50, -50, 0, 1, 1, 2}, {-50, 2, -50, -50, 1, 0, 2, 1},
                     {-50, -50, 1, -50, 1, 2, 0, 2}, {-50, -50, -50, 1, 2, 1, 2, 0}};

std::string chosen(const GpuMesh& mesh, const std::vector<std::uint32_t>& idle,
                   std::uint32_t count) {
  std::string text;
  for (const std::uint32_t gpu : mesh.choose(idle, count)) text += format("{}", gpu);
  return text;
}

TEST(GpuMesh, FourOfADgx1AreAQuad) {
  const auto mesh = mesh_of(dgx1);
  EXPECT_EQ(chosen(*mesh, {0, 1, 2, 3, 4, 5, 6, 7}, 4), "0123");
  EXPECT_EQ(chosen(*mesh, {0, 1, 3, 4, 5, 6, 7}, 4), "4567")
      << "2 is gone: the other quad is whole";
}

// A pair with two links, and the quad that it leaves whole.
TEST(GpuMesh, TwoLeaveAQuadWhole) {
  const auto mesh = mesh_of(dgx1);
  EXPECT_EQ(chosen(*mesh, {0, 1, 2, 3, 4, 5, 6, 7}, 2), "03");
  EXPECT_EQ(chosen(*mesh, {1, 2, 4, 5, 6, 7}, 2), "12") << "not 15, although as close";
}

// Single GPUs come from the quad that is broken already.
TEST(GpuMesh, OneComesFromWhatIsBroken) {
  const auto mesh = mesh_of(dgx1);
  EXPECT_EQ(chosen(*mesh, {0, 1, 2, 3, 4, 5, 6}, 1), "4");
  EXPECT_EQ(chosen(*mesh, {0, 1, 2, 3, 6}, 1), "6");
}

// Four GPUs without NVLink: pairs share a PCIe switch.
TEST(GpuMesh, PcieSwitchesCountWhereThereAreNoLinks) {
  const auto mesh =
      mesh_of({{0, -40, -10, -40}, {-40, 0, -40, -10}, {-10, -40, 0, -40}, {-40, -10, -40, 0}});
  EXPECT_EQ(chosen(*mesh, {0, 1, 2, 3}, 2), "02");
  EXPECT_EQ(chosen(*mesh, {1, 2, 3}, 2), "13");
  EXPECT_EQ(chosen(*mesh, {1, 2, 3}, 1), "2");
}

TEST(GpuMesh, IsNothingWhereAllAreAlike) {
  EXPECT_EQ(mesh_of({}), nullptr);
  EXPECT_EQ(mesh_of({{0}}), nullptr);
  EXPECT_EQ(mesh_of({{0, 12, 12}, {12, 0, 12}, {12, 12, 0}}), nullptr) << "an NVSwitch";
  EXPECT_EQ(mesh_of({{}, {}}), nullptr) << "a node that says nothing of links";
  EXPECT_NE(mesh_of(dgx1), nullptr);
}

// The node has lost GPU 1, and tells links among the others in NVML's order; in the controller's
// list the lost one keeps its place, and one that came later stands behind it.
TEST(GpuMesh, ReadsLinksInTheOrderOfThoseThatAreThere) {
  NodeInventory inventory = node_of({{0, 2, -50}, {}, {-50, -50, 0}, {2, 0, -50}});
  inventory.gpus[0].index = 0;
  inventory.gpus[3].index = 1;
  inventory.gpus[2].index = 2;
  const auto mesh = GpuMesh::of(inventory, {false, true, false, false});
  EXPECT_EQ(chosen(*mesh, {0, 2, 3}, 2), "03");
}

TEST(GpuMesh, TakesAllOrNone) {
  const auto mesh = mesh_of(dgx1);
  EXPECT_EQ(chosen(*mesh, {1, 5}, 2), "15");
  EXPECT_EQ(chosen(*mesh, {1, 5}, 0), "");
}

/// Eight boards of four, all GPUs of a board linked: more sets than are compared one by one.
TEST(GpuMesh, GrowsWhereSetsAreMany) {
  Matrix links(32, std::vector<std::int32_t>(32, -50));
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t j = 0; j < 32; ++j)
      if (i != j && i % 8 == j % 8) links[i][j] = 4;
  const auto mesh = mesh_of(links);
  std::vector<std::uint32_t> idle;
  for (std::uint32_t i = 0; i < 32; ++i)
    if (i != 3) idle.push_back(i);
  // 3 is taken, so its board is the last to be touched by those who need whole boards.
  const auto four = mesh->choose(idle, 4);
  EXPECT_EQ(four, (std::vector<std::uint32_t>{0, 8, 16, 24}));
  const auto eight = mesh->choose(idle, 8);
  EXPECT_EQ(eight, (std::vector<std::uint32_t>{0, 1, 8, 9, 16, 17, 24, 25}));
}

/// Drawn meshes: no set of the same size is closer, and among the equally close none leaves more.
TEST(GpuMesh, NoSetIsBetter) {
  std::mt19937 chance(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = 2 + chance() % 6;
    Matrix links(size, std::vector<std::int32_t>(size, 0));
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const int kind = static_cast<int>(chance() % 4);
        links[i][j] = links[j][i] = kind == 0 ? 1 : kind == 1 ? 2 : kind == 2 ? -10 : -50;
      }
    const auto mesh = mesh_of(links);
    if (mesh == nullptr) continue;
    std::vector<std::uint32_t> idle;
    for (std::uint32_t i = 0; i < size; ++i)
      if (chance() % 4 != 0) idle.push_back(i);
    if (idle.empty()) continue;
    const auto count = static_cast<std::uint32_t>(1 + chance() % idle.size());
    const auto picked = mesh->choose(idle, count);
    ASSERT_EQ(picked.size(), count);
    const auto worth = [&](const std::vector<std::uint32_t>& gpus) {
      std::vector<std::uint32_t> rest;
      std::set_difference(idle.begin(), idle.end(), gpus.begin(), gpus.end(),
                          std::back_inserter(rest));
      return std::pair(mesh->closeness(gpus), mesh->closeness(rest));
    };
    for (std::uint32_t bits = 0; bits < (1U << idle.size()); ++bits) {
      std::vector<std::uint32_t> other;
      for (std::size_t i = 0; i < idle.size(); ++i)
        if ((bits >> i & 1) != 0) other.push_back(idle[i]);
      if (other.size() != count) continue;
      ASSERT_LE(worth(other), worth(picked)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace rota::sched
