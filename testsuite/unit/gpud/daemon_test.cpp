// testsuite/unit/gpud/daemon_test.cpp - names and addresses by which a node is known.
#include "gpud/daemon.h"

#include <gtest/gtest.h>

namespace rota::gpud {
namespace {

std::string address(const std::string& listen, const std::string& wanted = "") {
  Config config;
  config.node_listen = listen;
  config.node_address = wanted;
  return public_address(config, "n1", 40123);
}

TEST(PublicAddress, IsTheOneConfigured) {
  EXPECT_EQ(address("0.0.0.0:7118", "gpu1.example:99"), "gpu1.example:99");
  EXPECT_EQ(address("0.0.0.0:0", "10.1.2.3:0"), "10.1.2.3:40123");
  EXPECT_EQ(address("[::]:0", "[fd00::1]:0"), "[fd00::1]:40123");
}

TEST(PublicAddress, IsWhereItListensOrTheNodesName) {
  EXPECT_EQ(address("127.0.0.1:0"), "127.0.0.1:40123");
  EXPECT_EQ(address("[::1]:7118"), "[::1]:40123");
  EXPECT_EQ(address("0.0.0.0:7118"), "n1:40123");
  EXPECT_EQ(address("[::]:7118"), "n1:40123");
}

TEST(NodeName, ComesFromTheConfigurationOrTheHost) {
  Config config;
  config.node_name = "dgx1-3";
  EXPECT_EQ(*node_name(config), "dgx1-3");
  config.node_name = "";
  const auto host = node_name(config);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->find('.'), std::string::npos);
}

TEST(NodeName, NamesFilesAndCgroupsSoItIsPlain) {
  for (const char* name : {"a/b", "..", ".x", "a b", "n1\n", "n\xc3\xa4"}) {
    Config config;
    config.node_name = name;
    EXPECT_FALSE(node_name(config)) << name;
  }
  Config config;
  config.node_name = std::string(201, 'x');
  EXPECT_FALSE(node_name(config));
}

}  // namespace
}  // namespace rota::gpud
