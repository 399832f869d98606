// testsuite/unit/common/shared_text_test.cpp - what is equal shares its memory, and nothing else
// notices.
#include "common/shared_text.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace rota {
namespace {

TEST(SharedText, IsThePlaceOfAPointerAndEqualOnesShare) {
  EXPECT_EQ(sizeof(SharedText), sizeof(void*));
  const SharedText a = "vision";
  const SharedText b = std::string("vision");
  EXPECT_EQ(&a.str(), &b.str());
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, "vision");
  EXPECT_NE(a, SharedText("speech"));
}

TEST(SharedText, NothingIsEmpty) {
  const SharedText none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none, "");
  EXPECT_EQ(none, SharedText(""));
  EXPECT_EQ(none.size(), 0u);
}

TEST(SharedText, IsOrderedAsItsText) {
  EXPECT_LT(SharedText(""), SharedText("a"));
  EXPECT_LT(SharedText("a"), SharedText("b"));
}

/// Whoever sends many names cannot make the table large; what was handed out stays as it was.
TEST(SharedText, ManyDifferentOnesStayWhatTheyAre) {
  std::vector<SharedText> texts;
  for (int i = 0; i < 100'000; ++i) texts.emplace_back(std::to_string(i));
  for (int i = 0; i < 100'000; ++i)
    ASSERT_EQ(texts[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST(SharedText, AThousandNamesFindEachOther) {
  std::vector<SharedText> texts;
  for (int i = 0; i < 1000; ++i) texts.emplace_back("project-" + std::to_string(i));
  int shared = 0;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 1000; ++i) {
      const SharedText again = "project-" + std::to_string(i);
      shared += &again.str() == &texts[static_cast<std::size_t>(i)].str();
    }
  EXPECT_GT(shared, 2'000);
}

TEST(SharedText, LongOnesAreTheirOwn) {
  const std::string text(1000, 'x');
  EXPECT_EQ(SharedText(text), SharedText(text));
}

TEST(SharedText, GoesFromThreadToThread) {
  SharedText text = "vision";
  std::thread other([copy = text, &text] { text = copy.str() + "2"; });
  other.join();
  EXPECT_EQ(text, "vision2");
}

}  // namespace
}  // namespace rota
