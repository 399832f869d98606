// testsuite/unit/common/config_topology_test.cpp - where nodes lie, and what is wrong with it.
#include <gtest/gtest.h>

#include "common/config.h"
#include "common/format.h"

namespace rota {
namespace {

/// "block,rack: a/1=n1,n2 a/2=n3", or the error.
std::string topology(const std::string& below) {
  const auto config = config_parse("topology:\n" + below, "r.yaml");
  if (!config) return config.error().detail;
  std::string text = format("{}:", fmt::join(config->topology.levels, ","));
  for (const NetworkPlace& place : config->topology.places)
    text += format(" {}={}", fmt::join(place.path, "/"), fmt::join(place.nodes, ","));
  return text;
}
std::string places(const std::string& lines) {
  return topology("  levels: [block, rack]\n  places:\n" + lines);
}

TEST(ConfigTopology, LevelsAndPlaces) {
  EXPECT_EQ(topology(""), ":");
  EXPECT_EQ(topology("  levels: [rack]\n  places:\n    r1: n[1-2]\n    r2: n3\n"),
            "rack: r1=n1,n2 r2=n3");
  EXPECT_EQ(places("    a/1: n[9-10],n9\n    b/1: x\n"), "block,rack: a/1=n10,n9 b/1=x");
  EXPECT_EQ(topology("  places: {a/1: n1}\n  levels: [block, rack]\n"), "block,rack: a/1=n1");
}

TEST(ConfigTopology, LevelsThatAreNone) {
  EXPECT_EQ(topology("  places: {a: n1}\n"),
            "r.yaml:2:3: topology has no levels; write them from wide to narrow, such as 'levels: "
            "[block, rack]'");
  EXPECT_EQ(topology("  levels: [block, rack]\n"),
            "r.yaml:2:3: topology has no places; below 'places:' write a line such as "
            "'block-1/rack-1: dgx[01-04]' for each rack");
  EXPECT_EQ(topology("  levels: rack\n"),
            "r.yaml:2:11: topology.levels takes a list from wide to narrow, such as [block, rack]");
  EXPECT_EQ(topology("  levels: []\n"),
            "r.yaml:2:11: topology.levels takes a list from wide to narrow, such as [block, rack]");
  EXPECT_EQ(topology("  levels: [[a]]\n"),
            "r.yaml:2:12: the name of a level is needed here, such as rack");
  EXPECT_EQ(topology("  levels: [rack, Rack]\n"),
            "r.yaml:2:18: level 'Rack' stands here a second time");
  EXPECT_EQ(topology("  levels: [ra:ck]\n"),
            "r.yaml:2:12: the name of a level must be 1 to 64 letters, digits, '-', '_' or '.', "
            "not 'ra:ck'");
  EXPECT_EQ(topology("  levels: [rack, Required]\n"),
            "r.yaml:2:18: 'Required' has a meaning of its own in rsubmit --topology; choose "
            "another name for the level");
  EXPECT_EQ(topology("  levels: [a, b, c, d, e, f, g, h, i]\n"), "r.yaml:2:36: more than 8 levels");
  EXPECT_EQ(topology("  level: [rack]\n"),
            "r.yaml:2:3: unknown key 'topology.level'; did you mean 'topology.levels'?");
  EXPECT_EQ(topology("  switches: [rack]\n"),
            "r.yaml:2:3: unknown key 'topology.switches'; 'topology' has levels, places");
  EXPECT_EQ(topology("  levels: [rack]\n  levels: [rack]\n"),
            "r.yaml:3:3: 'topology.levels' stands here a second time; first in line 2");
}

TEST(ConfigTopology, PlacesThatAreNone) {
  EXPECT_EQ(places("    a: n1\n"),
            "r.yaml:4:5: 'a' has 1 part, a place has one for each of the 2 levels: block-1/rack-1");
  EXPECT_EQ(places("    a/1/x: n1\n"),
            "r.yaml:4:5: 'a/1/x' has 3 parts, a place has one for each of the 2 levels: "
            "block-1/rack-1");
  EXPECT_EQ(places("    a/: n1\n"),
            "r.yaml:4:5: the name of a place must be 1 to 64 letters, digits, '-', '_' or '.', not "
            "''");
  EXPECT_EQ(places("    a/1: n1\n    a/1: n2\n"),
            "r.yaml:5:5: 'topology.places.a/1' stands here a second time; first in line 4");
  EXPECT_EQ(places("    a/1: n1\n    A/2: n2\n"),
            "r.yaml:5:5: 'A' is written 'a' in line 4; write it the same");
  EXPECT_EQ(places("    a/1: n[1-3]\n    a/2: n[3-4]\n"),
            "r.yaml:5:10: node 'n3' lies in a/1 already, by line 4; a node has one place");
  EXPECT_EQ(places("    a/1: n[3-1]\n"),
            "r.yaml:4:10: a/1: host list column 3: 3-1 counts down; write 1-3");
  EXPECT_EQ(places("    a/1:\n"), "r.yaml:4:9: a/1 takes a host list, such as dgx[01-04]");
  EXPECT_EQ(places("    a/1: [n1]\n"), "r.yaml:4:10: a/1 takes a host list, such as dgx[01-04]");
  EXPECT_EQ(topology("  levels: [rack]\n  places: [n1]\n"),
            "r.yaml:3:11: topology.places takes lines such as 'rack-1: dgx[01-04]', indented below "
            "it");
}

TEST(ConfigTopology, HasBounds) {
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += format("    a/{}: n{}\n", i, i);
  EXPECT_EQ(places(many), "r.yaml:10004:5: more than 10000 places");
  EXPECT_EQ(places("    a/1: a[1-100000]\n    a/2: b[1-100000]\n    a/3: c1\n"),
            "r.yaml:6:10: the places have more than 200000 nodes in all");
}

}  // namespace
}  // namespace rota
