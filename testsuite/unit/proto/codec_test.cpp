// testsuite/unit/proto/codec_test.cpp - the bytes of each kind of field, and lies about them.
#include "proto/codec.h"

#include <gtest/gtest.h>

#include "walk.h"

namespace rota::proto {
namespace {

enum class Colour : std::uint8_t { red = 1, blue = 2 };

struct Inner {
  std::uint8_t small = 1;
  static auto fields(auto& m) { return std::tie(m.small); }
};
struct Outer {
  bool flag = false;
  std::uint16_t two = 0;
  std::int32_t four = 0;
  Colour colour = Colour::red;
  JobId job;
  WallTime time;
  std::string text;
  std::vector<std::uint16_t> numbers;
  std::optional<Inner> maybe;
  std::vector<Inner> inners;
  static auto fields(auto& m) {
    return std::tie(m.flag, m.two, m.four, m.colour, m.job, m.time, m.text, m.numbers, m.maybe,
                    m.inners);
  }
};

std::string read(std::string_view hex) {
  const auto value = decode<Outer>(from_hex(hex));
  return value ? written(*value) : value.error().message();
}

const std::string malformed = "malformed message: record cut short or out of range";

TEST(Codec, WritesLittleEndianWithCounts) {
  Outer value;
  value.flag = true;
  value.two = 0x0102;
  value.four = -2;
  value.colour = Colour::blue;
  value.job = JobId{0x0a0b};
  value.time = WallTime{-1};
  value.text = "hi";
  value.numbers = {1, 2};
  value.maybe = Inner{7};
  value.inners = {Inner{8}};
  EXPECT_EQ(to_hex(encode(value)),
            "35000000"              // length of what follows
            "01"                    // flag
            "0201"                  // two
            "feffffff"              // four
            "02"                    // colour
            "0b0a000000000000"      // job
            "ffffffffffffffff"      // time
            "020000006869"          // text
            "0200000001000200"      // numbers
            "010100000007"          // maybe: there, a record of one byte
            "010000000100000008");  // inners: one, a record of one byte
  EXPECT_EQ(read(to_hex(encode(value))), "(true 258 -2 2 2571 -1 'hi' [1 2] (7) [(8)])");
}

TEST(Codec, AnEmptyRecordIsAllDefaults) {
  EXPECT_EQ(read("00000000"), "(false 0 0 1 0 0 '' [] ? [])");
}

TEST(Codec, RefusesLies) {
  EXPECT_EQ(read(""), malformed);
  EXPECT_EQ(read("000000"), malformed);
  EXPECT_EQ(read("ffffffff"), malformed);    // longer than what is there
  EXPECT_EQ(read("0100000002"), malformed);  // a bool that is neither
  EXPECT_EQ(read("02000000"
                 "0102"),
            malformed);  // half a number
  EXPECT_EQ(read("00000000"
                 "00"),
            "malformed message: bytes after the record");
  const std::string head =
      "01"
      "0201"
      "feffffff"
      "02"
      "0b0a000000000000"
      "ffffffffffffffff";
  EXPECT_EQ(read("1c000000" + head + "ffffffff"), malformed);    // text
  EXPECT_EQ(read("1d000000" + head + "0200000068"), malformed);  // text
  EXPECT_EQ(read("20000000" + head +
                 "00000000"
                 "ffffffff"),
            malformed);  // numbers
  EXPECT_EQ(read("22000000" + head +
                 "00000000"
                 "020000000100"),
            malformed);  // numbers
  EXPECT_EQ(read("21000000" + head +
                 "00000000"
                 "00000000"
                 "02"),
            malformed);  // maybe
  EXPECT_EQ(read("25000000" + head +
                 "00000000"
                 "00000000"
                 "0101000000"),
            malformed);  // maybe
}

struct Heavy {
  std::string a, b, c, d;
  static auto fields(auto& m) { return std::tie(m.a, m.b, m.c, m.d); }
};
struct Many {
  std::vector<Heavy> items;
  static auto fields(auto& m) { return std::tie(m.items); }
};

// A count is believed only as far as there are bytes for it.
TEST(Codec, ALargeCountCostsNothing) {
  EXPECT_FALSE(
      decode<Many>(from_hex("08000000"
                            "00ffffff"
                            "00000000")));
  EXPECT_EQ(decode<Many>(from_hex("08000000"
                                  "01000000"
                                  "00000000"))
                ->items.size(),
            1u);
}

}  // namespace
}  // namespace rota::proto
