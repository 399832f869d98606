// testsuite/unit/model/node_wish_test.cpp - what -w, -x and -C may say.
#include "model/node_wish.h"

#include <gtest/gtest.h>

#include "common/format.h"

namespace rota {
namespace {

/// "(a100 h100)(lab)", or what is wrong.
std::string parsed(std::string_view text) {
  const auto constraint = constraint_parse(text);
  if (!constraint) return constraint.error().detail;
  std::string shown;
  for (const auto& words : *constraint) shown += format("({})", fmt::join(words, " "));
  return shown;
}

TEST(Constraint, OrBindsMoreTightlyThanAnd) {
  EXPECT_EQ(parsed("a100"), "(a100)");
  EXPECT_EQ(parsed("a100|h100&lab"), "(a100 h100)(lab)");
  EXPECT_EQ(parsed("lab,a100|h100"), "(lab)(a100 h100)");
  EXPECT_EQ(parsed(" NVIDIA H100 80GB HBM3 | l4 "), "(NVIDIA H100 80GB HBM3 l4)");
}

TEST(Constraint, BracketsAreSpreadOut) {
  EXPECT_EQ(parsed("(a100|h100)&lab"), "(a100 h100)(lab)");
  EXPECT_EQ(parsed("(a&b)|c"), "(a c)(b c)");
  EXPECT_EQ(parsed("( a & b ) | ( c & d )"), "(a c)(a d)(b c)(b d)");
  EXPECT_EQ(parsed("a&(b|(c&d))"), "(a)(b c)(b d)");
  EXPECT_EQ(parsed("(a"), "the constraint '(a', column 1: this '(' is never closed");
  EXPECT_EQ(parsed("a)"), "the constraint 'a)', column 2: this ')' has no '(' before it");
  EXPECT_EQ(parsed("a(b)"),
            "the constraint 'a(b)', column 2: '|' or '&' is missing before the '('");
  EXPECT_EQ(parsed("(a)b"),
            "the constraint '(a)b', column 4: '|' or '&' is missing behind the ')'");
  EXPECT_EQ(parsed("((((((((((a))))))))))"),
            "the constraint '((((((((((a))))))))))', column 9: brackets are nested too deeply");
  std::string many = "(a&b)";
  for (int i = 0; i < 8; ++i) many += "|(a&b)";
  EXPECT_EQ(parsed(many), "the constraint '" + many +
                              "' says too much at once; name a group of nodes in rota.yaml");
}

TEST(Constraint, WhatIsWrongHasItsColumn) {
  EXPECT_EQ(parsed("a100|"),
            "the constraint 'a100|', column 6: the name of a type or group is missing");
  EXPECT_EQ(parsed("&a"), "the constraint '&a', column 1: the name of a type or group is missing");
  EXPECT_EQ(parsed(""), "the constraint '', column 1: the name of a type or group is missing");
  EXPECT_EQ(parsed("[a*2&b]"),
            "the constraint '[a*2&b]', column 1: '[' is not understood; write types or groups of "
            "nodes with '|' (or), '&' (and) and brackets ( ) between them");
  EXPECT_EQ(parsed(std::string(1025, 'x')),
            "the constraint has 1025 bytes, at most 1024 are allowed");
}

TEST(NodeWish, IsCheckedFieldByField) {
  EXPECT_TRUE(validate(NodeWish{}));
  EXPECT_TRUE(validate(NodeWish{"n[1-4]", "n2", "a|b"}));
  EXPECT_EQ(validate(NodeWish{"n[1-", "", ""}).error().detail,
            "the list of nodes: host list column 2: this '[' is never closed");
  EXPECT_EQ(validate(NodeWish{"", "a b", ""}).error().detail,
            "the list of nodes to leave out: host list column 2: ' ' cannot stand in a name; "
            "letters, digits, '-', '.' and '_' can");
  EXPECT_EQ(validate(NodeWish{std::string(20'000, 'x'), "", ""}).error().detail,
            "the list of nodes has 20000 bytes, at most 16384 are allowed");
}

TEST(NodeWish, ReadsAsASentence) {
  EXPECT_EQ(text_of(NodeWish{}), "");
  EXPECT_EQ(text_of(NodeWish{"n[1-4]", "n2", "a|b"}), "of n[1-4] without n2 with 'a|b'");
  EXPECT_EQ(text_of(NodeWish{"", "n2", ""}), "without n2");
}

}  // namespace
}  // namespace rota
