// testsuite/unit/common/escape_test.cpp - other people's words, made safe to print.
#include "common/escape.h"

#include <gtest/gtest.h>

namespace rota {
namespace {

using namespace std::string_literals;

TEST(Escape, PlainTextStaysAsItIs) {
  EXPECT_EQ(escaped(""), "");
  EXPECT_EQ(escaped("node01 is up: 8 GPUs, 'ok' \\ \"fine\""),
            "node01 is up: 8 GPUs, 'ok' \\ \"fine\"");
  EXPECT_EQ(escaped("Universität 京都"), "Universität 京都");
}

TEST(Escape, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(escaped("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(escaped("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(escaped("a\0b\x7f"s), "a\\x00b\\x7f");
}

// U+009B is a terminal's escape sequence in one character, two bytes in UTF-8.
TEST(Escape, C1ControlsAreControlsToo) {
  EXPECT_EQ(escaped("a\xc2\x9b"
                    "31m"),
            "a\\xc2\\x9b31m");
  EXPECT_EQ(escaped("\xc2\xa7"), "\xc2\xa7");  // a section sign is none
  EXPECT_EQ(escaped("cut\xc2"), "cut\xc2");
}

TEST(Escape, QuotesAndCutsAtACharacter) {
  EXPECT_EQ(quoted("n1\n"), "'n1\\n'");
  EXPECT_EQ(quoted(std::string(64, 'a')), "'" + std::string(64, 'a') + "'");
  EXPECT_EQ(quoted(std::string(65, 'a')), "'" + std::string(64, 'a') + "...'");
  // The 64th and 65th byte are one letter: it goes as a whole.
  EXPECT_EQ(quoted(std::string(63, 'a') + "\xc3\xa4tail"), "'" + std::string(63, 'a') + "...'");
}

}  // namespace
}  // namespace rota
