// testsuite/unit/commands/json_test.cpp - the JSON writer: any bytes in, correct JSON out.
#include "commands/json.h"

#include <gtest/gtest.h>

namespace rota::commands {
namespace {

std::string quote(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(Json, StringsAreEscaped) {
  EXPECT_EQ(quote("plain"), R"("plain")");
  EXPECT_EQ(quote(""), R"("")");
  EXPECT_EQ(quote("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(quote("a\nb\tc\rd"), R"("a\nb\tc\rd")");
  EXPECT_EQ(quote(std::string_view("\0\x01\x1b\x1f\x7f", 5)),
            R"("\u0000\u0001\u001b\u001f\u007f")");
}

TEST(Json, Utf8StaysAsItIs) {
  EXPECT_EQ(quote("größe 模型 😀"), "\"größe 模型 😀\"");
  EXPECT_EQ(quote("\u00a0\uffff\U0010ffff"), "\"\u00a0\uffff\U0010ffff\"");
}

TEST(Json, WhatIsNoUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(quote("a\xff"
                  "b"),
            "\"a\ufffd"
            "b\"");
  EXPECT_EQ(quote("\x80"), "\"\ufffd\"") << "a continuation without its head";
  EXPECT_EQ(quote("\xc3"), "\"\ufffd\"") << "a head without its continuation";
  EXPECT_EQ(quote("\xe2\x82"), "\"\ufffd\ufffd\"");
  EXPECT_EQ(quote("\xe2\x82x"), "\"\ufffd\ufffdx\"");
  EXPECT_EQ(quote("\xc0\xaf"), "\"\ufffd\ufffd\"") << "a slash in two bytes";
  EXPECT_EQ(quote("\xe0\x80\xaf"), "\"\ufffd\ufffd\ufffd\"") << "a slash in three";
  EXPECT_EQ(quote("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"") << "half of a surrogate pair";
  EXPECT_EQ(quote("\xf4\x90\x80\x80"), "\"\ufffd\ufffd\ufffd\ufffd\"") << "beyond Unicode";
}

TEST(Json, DocumentsHaveTheirCommas) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.field("none", std::vector<int>().size());
  json.field("text", "x");
  json.field("yes", true);
  json.field("low", INT64_MIN);
  json.field("high", UINT64_MAX);
  json.key("list");
  json.begin_array();
  json.value(1);
  json.begin_object();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.null();
  json.end_array();
  json.field_or_null("there", true, 5);
  json.field_or_null("gone", false, 5);
  json.end_object();
  EXPECT_EQ(out, R"({"none":0,"text":"x","yes":true,"low":-9223372036854775808,)"
                 R"("high":18446744073709551615,"list":[1,{},[],null],"there":5,"gone":null})");
}

TEST(JsonDeathTest, AValueWithoutItsKeyIsOurMistake) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  EXPECT_DEATH(json.value(1), "key_written_");
}

TEST(Json, UnitsAreExact) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  for (const std::int64_t count : {0, 1, 1'500'000, 2'000'000, -250'000}) json.units(count, 6);
  json.units(INT64_MAX, 6);
  json.units(7, 0);
  json.end_array();
  EXPECT_EQ(out, "[0,0.000001,1.5,2,-0.25,9223372036854.775807,7]");
}

TEST(Json, DecimalsHaveTheDigitsTheyAreGiven) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.decimal(95.746, 2);
  json.decimal(100, 2);
  json.decimal(-0.5, 0);
  json.end_array();
  EXPECT_EQ(out, "[95.75,100.00,-0]");
}

}  // namespace
}  // namespace rota::commands
