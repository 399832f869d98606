// testsuite/unit/gpud/tail_test.cpp - where the last lines of a file begin.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpud/launch/file.h"
#include "gpud/launch/log_reader.h"

namespace rota::gpud {
namespace {

std::string tail(const std::string& text, std::int64_t lines) {
  const Fd file(::memfd_create("log", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return text.substr(tail_offset(file.get(), lines));
}

TEST(Tail, GivesTheLastLines) {
  EXPECT_EQ(tail("a\nb\nc\n", 0), "");
  EXPECT_EQ(tail("a\nb\nc\n", 1), "c\n");
  EXPECT_EQ(tail("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(tail("a\nb\nc\n", 3), "a\nb\nc\n");
  EXPECT_EQ(tail("a\nb\nc\n", 99), "a\nb\nc\n");
}

TEST(Tail, ALastLineWithoutNewlineIsALine) {
  EXPECT_EQ(tail("a\nb\nc", 1), "c");
  EXPECT_EQ(tail("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(tail("c", 1), "c");
}

TEST(Tail, EmptyLinesCount) {
  EXPECT_EQ(tail("a\n\n\n", 1), "\n");
  EXPECT_EQ(tail("a\n\n\n", 2), "\n\n");
  EXPECT_EQ(tail("\n", 1), "\n");
  EXPECT_EQ(tail("", 1), "");
}

// Lines that are longer than the block in which the file is read backwards.
TEST(Tail, LongLinesSpanBlocks) {
  const std::string line(200'000, 'x');
  EXPECT_EQ(tail(line + "\n" + line + "\n", 1), line + "\n");
  EXPECT_EQ(tail(line + "\n" + line + "\nend", 2), line + "\nend");
  std::string many;
  for (int i = 0; i < 50'000; ++i) many += std::to_string(i) + "\n";
  EXPECT_EQ(tail(many, 3), "49997\n49998\n49999\n");
  EXPECT_EQ(tail(many, 50'000), many);
}

}  // namespace
}  // namespace rota::gpud
