// testsuite/unit/net/address_test.cpp - host:port in all the ways in which people write it.
#include "net/address.h"

#include <gtest/gtest.h>

#include "common/format.h"

namespace rota::net {
namespace {

std::string parsed(std::string_view text) {
  const auto target = parse_host_port(text);
  if (!target) return target.error().detail;
  return format("host {} port {}", target->host, target->port);
}

std::string literals(std::string_view text) {
  const auto target = parse_host_port(text);
  if (!target) return target.error().detail;
  std::string all;
  for (const auto& endpoint : literal_endpoints(*target))
    all += (all.empty() ? "" : " ") + text_of(endpoint);
  return all;
}

TEST(Address, TakesNamesAndBothKindsOfNumbers) {
  EXPECT_EQ(parsed("node1:7118"), "host node1 port 7118");
  EXPECT_EQ(parsed("10.0.0.1:1"), "host 10.0.0.1 port 1");
  EXPECT_EQ(parsed("[::1]:65535"), "host ::1 port 65535");
  EXPECT_EQ(parsed("127.0.0.1:0"), "host 127.0.0.1 port 0");
}

TEST(Address, SaysWhatIsWrong) {
  const std::string right = "; write host:port, 10.0.0.1:port or [::1]:port";
  EXPECT_EQ(parsed("node1"), "address 'node1': the port is missing" + right);
  EXPECT_EQ(parsed(""), "address '': the port is missing" + right);
  EXPECT_EQ(parsed("node1:"), "address 'node1:': '' is not a port from 0 to 65535" + right);
  EXPECT_EQ(parsed("node1:65536"),
            "address 'node1:65536': '65536' is not a port from 0 to 65535" + right);
  EXPECT_EQ(parsed("node1:-1"), "address 'node1:-1': '-1' is not a port from 0 to 65535" + right);
  EXPECT_EQ(parsed("node1:7x"), "address 'node1:7x': '7x' is not a port from 0 to 65535" + right);
  EXPECT_EQ(parsed("::1:7118"), "address '::1:7118': an IPv6 address needs brackets" + right);
  EXPECT_EQ(parsed(":7118"), "address ':7118': the host is missing" + right);
  EXPECT_EQ(parsed("[]:7118"), "address '[]:7118': the host is missing" + right);
  EXPECT_EQ(parsed("a b:1"), "address 'a b:1': the host's name has a blank in it" + right);
  const std::string longest(253, 'a');
  EXPECT_EQ(parsed(longest + ":1"), "host " + longest + " port 1");
  EXPECT_NE(parsed(longest + "a:1").find("the host's name is too long"), std::string::npos);
}

TEST(Address, LiteralsNeedNoLookUp) {
  EXPECT_EQ(literals("127.0.0.1:7117"), "127.0.0.1:7117");
  EXPECT_EQ(literals("[::1]:7117"), "[::1]:7117");
  EXPECT_EQ(literals("localhost:7117"), "127.0.0.1:7117 [::1]:7117");
  EXPECT_EQ(literals("node1:7117"), "");
  EXPECT_EQ(literals("[::ffff:10.0.0.1]:5"), "10.0.0.1:5");
}

TEST(Address, LookUpFailsWithTheName) {
  const auto found = look_up({"no-such-host.invalid", 1});
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().detail.starts_with("name 'no-such-host.invalid': "))
      << found.error().detail;
}

}  // namespace
}  // namespace rota::net
