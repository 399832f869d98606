// testsuite/unit/common/hostlist_test.cpp - node[01-04,7] and back.
#include "common/hostlist.h"

#include <gtest/gtest.h>

#include <random>

namespace rota {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

/// The names that `text` stands for; or the error.
std::string expanded(std::string_view text) {
  const auto names = hostlist_expand(text);
  return names ? joined(*names) : names.error().detail;
}

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    all.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return all;
}
std::string folded(const std::string& names) { return hostlist_fold(words(names)); }

TEST(HostlistExpand, NamesWithoutBracketsStandForThemselves) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("login1"), "login1");
  EXPECT_EQ(expanded("b,a,b"), "b a b");
  EXPECT_EQ(expanded("gpu-1.rack_2.example.org"), "gpu-1.rack_2.example.org");
}

TEST(HostlistExpand, RangesCountUpAndKeepTheirWidth) {
  EXPECT_EQ(expanded("n[1-3],x"), "n1 n2 n3 x");
  EXPECT_EQ(expanded("node[01-04,7]"), "node01 node02 node03 node04 node7");
  EXPECT_EQ(expanded("n[8-11]"), "n8 n9 n10 n11");
  EXPECT_EQ(expanded("n[08-11]"), "n08 n09 n10 n11");
  EXPECT_EQ(expanded("n[098-101]"), "n098 n099 n100 n101");
  EXPECT_EQ(expanded("n[98-101]"), "n98 n99 n100 n101");
  EXPECT_EQ(expanded("n[5-5]"), "n5");
  EXPECT_EQ(expanded("n[3,1,2]"), "n3 n1 n2");
  EXPECT_EQ(expanded("[1-2]"), "1 2");
}

TEST(HostlistExpand, TextMayFollowAndGroupsMultiply) {
  EXPECT_EQ(expanded("n[1-2].lan"), "n1.lan n2.lan");
  EXPECT_EQ(expanded("r[1-2]n[1-3]"), "r1n1 r1n2 r1n3 r2n1 r2n2 r2n3");
  EXPECT_EQ(expanded("[1-2][3-4]"), "13 14 23 24");
}

TEST(HostlistExpand, SaysTheColumnAndWhatWouldBeRight) {
  EXPECT_EQ(expanded("n[1-3"), "host list column 2: this '[' is never closed");
  EXPECT_EQ(expanded("n["), "host list column 2: this '[' is never closed");
  EXPECT_EQ(expanded("n1]"), "host list column 3: ']' closes no '['");
  EXPECT_EQ(
      expanded("n[]"),
      "host list column 3: numbers and ranges are needed between brackets, as in [1-4,7], not ']'");
  EXPECT_EQ(
      expanded("n[1-]"),
      "host list column 5: numbers and ranges are needed between brackets, as in [1-4,7], not ']'");
  EXPECT_EQ(
      expanded("n[a-b]"),
      "host list column 3: numbers and ranges are needed between brackets, as in [1-4,7], not 'a'");
  EXPECT_EQ(
      expanded("n[1-2-3]"),
      "host list column 6: numbers and ranges are needed between brackets, as in [1-4,7], not '-'");
  EXPECT_EQ(
      expanded("n[1,]"),
      "host list column 5: numbers and ranges are needed between brackets, as in [1-4,7], not ']'");
  EXPECT_EQ(expanded("n[1[2]]"), "host list column 4: brackets do not nest; write n[1-2][1-2]");
  EXPECT_EQ(expanded("n[3-1]"), "host list column 3: 3-1 counts down; write 1-3");
  EXPECT_EQ(expanded(",n1"), "host list column 1: a name is missing");
  EXPECT_EQ(expanded("n1,,n2"), "host list column 4: a name is missing");
  EXPECT_EQ(expanded("n1,"), "host list column 4: a name is missing");
  EXPECT_EQ(
      expanded("n1 n2"),
      "host list column 3: ' ' cannot stand in a name; letters, digits, '-', '.' and '_' can");
  EXPECT_EQ(
      expanded("n1\n"),
      "host list column 3: '\\n' cannot stand in a name; letters, digits, '-', '.' and '_' can");
}

TEST(HostlistExpand, MixedWidthsAreAskedBack) {
  EXPECT_EQ(expanded("n[1-05]"), "host list column 3: 1-05 mixes widths; write 01-05 or 1-5");
  EXPECT_EQ(expanded("n[001-10]"),
            "host list column 3: 001-10 mixes widths; write 001-010 or 1-10");
}

TEST(HostlistExpand, LimitsHoldBeforeAnythingIsBuilt) {
  EXPECT_EQ(hostlist_expand("n[1-100000]")->size(), 100'000u);
  EXPECT_EQ(expanded("n[1-100001]"), "host list column 1: more than 100000 names");
  EXPECT_EQ(expanded("x,n[1-100000]"), "host list column 3: more than 100000 names");
  EXPECT_EQ(expanded("n[0-999999999999999][0-999999999999999][0-999999999999999]"),
            "host list column 1: more than 100000 names");
  EXPECT_EQ(expanded("n[1-99999][1-99999]"), "host list column 1: more than 100000 names");
  EXPECT_EQ(expanded("n[0000000000000001]"), "host list column 3: a number has at most 15 digits");
  EXPECT_EQ(expanded(std::string(253, 'a')), std::string(253, 'a'));
  EXPECT_EQ(expanded("x," + std::string(254, 'a')),
            "host list column 3: a name has at most 253 bytes");
}

TEST(HostlistFold, NeighboursFoldAndOrderStays) {
  EXPECT_EQ(folded(""), "");
  EXPECT_EQ(folded("x"), "x");
  EXPECT_EQ(folded("n1 n2 n3 x"), "n[1-3],x");
  EXPECT_EQ(folded("node01 node02 node03 node04 node7"), "node[01-04,7]");
  EXPECT_EQ(folded("n1 n3 n5"), "n[1,3,5]");
  EXPECT_EQ(folded("n3 n1 n2"), "n[3,1-2]");
  EXPECT_EQ(folded("n1 x n2"), "n1,x,n2");
  EXPECT_EQ(folded("a b c"), "a,b,c");
}

TEST(HostlistFold, WidthsAndSuffixesAreKept) {
  EXPECT_EQ(folded("n8 n9 n10 n11"), "n[8-11]");
  EXPECT_EQ(folded("n08 n09 n10"), "n[08-10]");
  EXPECT_EQ(folded("n9 n010"), "n[9,010]");
  EXPECT_EQ(folded("n099 n100"), "n[099-100]");
  EXPECT_EQ(folded("n1.lan n2.lan"), "n[1-2].lan");
  EXPECT_EQ(folded("n1.lan n2.wan"), "n1.lan,n2.wan");
  EXPECT_EQ(folded("r1n1 r1n2 r2n1 r2n2"), "r1n[1-2],r2n[1-2]");
  EXPECT_EQ(folded("r1n1 r2n1"), "r[1-2]n1");
  EXPECT_EQ(folded("n1 n1"), "n[1,1]");
  EXPECT_EQ(folded("n1000000000000001 n1000000000000002"), "n1000000000000001,n1000000000000002");
}

std::string random_name(std::mt19937& random) {
  static const std::vector<std::string> texts{"n", "node", "a-", "r1n", "", "gpu.", "x_"};
  std::string name = texts[random() % texts.size()];
  std::string digits = std::to_string(random() % (random() % 4 == 0 ? 2000 : 14));
  const std::size_t width = random() % 3 == 0 ? 3 : 1;
  while (digits.size() < width) digits.insert(0, "0");
  if (random() % 8 != 0 || name.empty()) name += digits;
  if (random() % 4 == 0) name += random() % 2 == 0 ? ".lan" : "-9";
  return name;
}

// Any list comes back name by name, in its order, whatever fold() made of it.
TEST(HostlistProperty, ExpandingWhatWasFoldedGivesTheSameNames) {
  std::mt19937 random(20261116);
  std::size_t shorter = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> names;
    for (std::size_t count = random() % 20; count > 0; --count) {
      names.push_back(random_name(random));
      // Runs of neighbours, so that ranges really occur.
      if (random() % 2 == 0)
        for (std::size_t run = random() % 5, i = 0; i < run; ++i)
          names.push_back("n" + std::to_string(7 + i));
    }
    const std::string text = hostlist_fold(names);
    const auto again = hostlist_expand(text);
    ASSERT_TRUE(again) << text << ": " << again.error().detail;
    ASSERT_EQ(joined(*again), joined(names)) << text;
    shorter += text.size() < joined(names).size() ? 1 : 0;
  }
  EXPECT_GT(shorter, 1000u);
}

// Whatever bytes come, the answer is a list or a sentence with a column: never a crash.
TEST(HostlistProperty, NoiseIsReadOrRefused) {
  std::mt19937 random(7);
  const std::string alphabet = "n01[],-9x.[ \n\\";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t size = random() % 14; size > 0; --size)
      text += alphabet[random() % alphabet.size()];
    const auto names = hostlist_expand(text);
    if (names)
      ASSERT_LE(names->size(), hostlist_size_max);
    else
      ASSERT_EQ(names.error().detail.rfind("host list column ", 0), 0u) << text;
  }
}

TEST(HostlistProperty, AHundredThousandNamesFoldToOneRange) {
  const auto names = hostlist_expand("node[00001-99999]");
  ASSERT_TRUE(names);
  EXPECT_EQ(hostlist_fold(*names), "node[00001-99999]");
}

}  // namespace
}  // namespace rota
