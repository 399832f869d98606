// testsuite/unit/common/yaml_test.cpp - the tree of a YAML text: values, places, bounds, and back.
#include "common/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "common/format.h"

namespace rota {
namespace {

/// "{a@1:1: [1@1:5 2@1:8]@1:4}@1:1".
std::string shown(const YamlNode& node) {
  std::string text;
  if (node.is_scalar()) text = node.plain ? node.text : "'" + node.text + "'";
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    text += text.empty() ? "" : " ";
    if (node.is_mapping()) text += shown(node.keys[i]) + ": ";
    text += shown(node.items[i]);
  }
  if (node.is_list()) text = "[" + text + "]";
  if (node.is_mapping()) text = "{" + text + "}";
  return format("{}@{}:{}", text, node.mark.line, node.mark.column);
}

std::string tree(std::string_view text, const YamlBounds& bounds = {}) {
  const auto root = yaml_parse(text, "f", bounds);
  if (!root) return root.error().detail;
  return *root ? shown(**root) : "nothing";
}

TEST(Yaml, EveryValueKnowsItsPlace) {
  EXPECT_EQ(tree("a: 1\nb:\n  - x\n  - 'y'\n"), "{a@1:1: 1@1:4 b@2:1: [x@3:5 'y'@4:5]@3:3}@1:1");
  EXPECT_EQ(tree("{a: {b: }}"), "{a@1:2: {b@1:6: @1:9}@1:5}@1:1");
  EXPECT_EQ(tree("just a word"), "just a word@1:1");
}

TEST(Yaml, AnEmptyDocumentIsNothing) {
  for (const char* text : {"", "# only this\n", "---\n", "~", "null"})
    EXPECT_EQ(tree(text), "nothing") << text;
}

TEST(Yaml, WhatIsNotWrittenOutIsRefused) {
  EXPECT_EQ(tree("a: *b\n"), "f:1:4: aliases (*name) are not allowed here; write the value out");
  EXPECT_EQ(tree("a: &b [1]\n"), "f:1:4: anchors (&name) are not allowed here");
  EXPECT_EQ(tree("a: !x [1]\n"), "f:1:4: tags (!name) are not allowed here");
  EXPECT_EQ(tree("a: 1\n---\nb: 1\n"),
            "f:2:1: a second document starts here; the file must hold one");
}

TEST(Yaml, BoundsHold) {
  EXPECT_EQ(tree("[1, 2, 3]", {.nodes_max = 3}), "f:1:8: the file holds more than 3 values");
  EXPECT_EQ(tree("[[[1]]]", {.depth_max = 3}), "f:1:4: values are nested over 3 deep");
  EXPECT_EQ(tree("[[1]]", {.depth_max = 3}), "[[1@1:3]@1:2]@1:1");
  EXPECT_EQ(tree("a: 1", {.bytes_max = 3}), "f:1:1: the file is over 3 bytes");
  EXPECT_EQ(tree(std::string(100'000, '[')).substr(0, 30), "f:1:9: values are nested over ");
}

TEST(Yaml, ANameStandsOnce) {
  YamlOnce once;
  EXPECT_TRUE(once.check("f", "a", {1, 1}));
  EXPECT_TRUE(once.check("f", "b", {2, 1}));
  const auto twice = once.check("f", "a", {3, 1});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().detail, "f:3:1: 'a' stands here a second time; first in line 1");
}

// Whatever is written is read back as it was.
TEST(Yaml, AScalarComesBack) {
  EXPECT_EQ(yaml_scalar("team-a"), "team-a");
  EXPECT_EQ(yaml_scalar("1.5"), "1.5");
  EXPECT_EQ(yaml_scalar("it's"), "'it''s'");
  for (const char* text : {"",    "null", "~",    "a b",  "a: b", "#x",  "- x",
                           "'",   "''",   "\"",   "[x]",  "{",    "x,y", "&a",
                           "*a",  "!t",   "%x",   "|",    ">",    "@x",  "`",
                           " a",  "a ",   "a:",   "-",    "?",    "é",   "\xf0\x9f\x98\x80",
                           "yes", "on",   "0x10", "1_000"}) {
    const std::string line = format("[{}]", yaml_scalar(text));
    const auto root = yaml_parse(line, "f", {});
    ASSERT_TRUE(root && *root) << line;
    ASSERT_EQ((*root)->items.size(), 1u) << line;
    EXPECT_EQ((*root)->items[0].text, text) << line;
    EXPECT_FALSE((*root)->items[0].is_empty()) << line;
  }
}

}  // namespace
}  // namespace rota
