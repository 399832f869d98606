// testsuite/unit/model/node_type_test.cpp - one word for what a node is.
#include "model/node_type.h"

#include <gtest/gtest.h>

namespace rota {
namespace {

TEST(NodeType, VendorsAndSignsGoAndTheRestStays) {
  EXPECT_EQ(type_word("Tesla V100-SXM2-32GB"), "v100-sxm2-32gb");
  EXPECT_EQ(type_word("NVIDIA A100-SXM4-40GB"), "a100-sxm4-40gb");
  EXPECT_EQ(type_word("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3");
  EXPECT_EQ(type_word("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(type_word("  --NVIDIA__(L4)  "), "l4");
  EXPECT_EQ(type_word("Teslax 1"), "teslax-1");  // only whole words are vendors
  EXPECT_EQ(type_word("NVIDIA"), "gpu");
  EXPECT_EQ(type_word(""), "gpu");
}

// What rinfo shows can be written into projects.yaml, and so can NVML's own name.
TEST(NodeType, AWordStaysAsItIs) {
  for (const char* model : {"Tesla V100-SXM2-32GB", "NVIDIA H100 80GB HBM3", "NVIDIA", "L4"})
    EXPECT_EQ(type_word(type_word(model)), type_word(model));
}

std::string type_of(const std::vector<std::string>& models, const std::vector<bool>& absent) {
  NodeInventory inventory;
  for (const std::string& model : models) inventory.gpus.emplace_back().model = model;
  return node_type(inventory, absent);
}

TEST(NodeType, FollowsFromTheGpusThatAreThere) {
  EXPECT_EQ(type_of({}, {}), "cpu");
  EXPECT_EQ(type_of({"Tesla T4", "NVIDIA T4"}, {false, false}), "t4");
  EXPECT_EQ(type_of({"Tesla T4", "NVIDIA L4"}, {false, false}), "mixed");
  // A card was replaced by another model; with none there, it is what it was.
  EXPECT_EQ(type_of({"Tesla T4", "NVIDIA L4"}, {true, false}), "l4");
  EXPECT_EQ(type_of({"Tesla T4", "Tesla T4"}, {true, true}), "t4");
}

TEST(NodeType, TheFirstPartsNameItToo) {
  EXPECT_TRUE(names_type("v100", "v100-sxm2-32gb"));
  EXPECT_TRUE(names_type("v100-sxm2", "v100-sxm2-32gb"));
  EXPECT_TRUE(names_type("v100-sxm2-32gb", "v100-sxm2-32gb"));
  EXPECT_FALSE(names_type("v10", "v100-sxm2-32gb"));
  EXPECT_FALSE(names_type("sxm2", "v100-sxm2-32gb"));
  EXPECT_FALSE(names_type("v100-sxm2-32gb-x", "v100-sxm2-32gb"));
}

}  // namespace
}  // namespace rota
