// testsuite/unit/gpud/masker_test.cpp - secrets hidden in a stream, wherever it is cut.
#include "gpud/launch/masker.h"

#include <gtest/gtest.h>

#include <random>

namespace rota::gpud {
namespace {

/// Text in pieces of `size` bytes, with these secrets hidden.
std::string masked(const std::vector<std::string>& secrets, const std::string& text,
                   std::size_t size) {
  MaskList list;
  for (const std::string& secret : secrets) list.add(secret);
  Masker masker(list);
  std::string output;
  for (std::size_t at = 0; at < text.size(); at += size)
    masker.take(std::string_view(text).substr(at, size), output);
  masker.finish(output);
  return output;
}

/// The same however it is cut.
void expect_masked(const std::vector<std::string>& secrets, const std::string& text,
                   const std::string& expected) {
  for (std::size_t size = 1; size <= text.size() + 1; ++size)
    EXPECT_EQ(masked(secrets, text, size), expected) << "in pieces of " << size;
}

TEST(Masker, HidesASecretWhereverItStands) {
  expect_masked({"hunter2"}, "hunter2", "***");
  expect_masked({"hunter2"}, "a hunter2 b hunter2\n", "a *** b ***\n");
  expect_masked({"hunter2"}, "hunter1 hunter", "hunter1 hunter");
  expect_masked({"hunter2"}, "hunhunter2", "hun***");
  expect_masked({"hunter2"}, "", "");
}

TEST(Masker, TheLongerOneWins) {
  expect_masked({"secret", "secret12345"}, "x secret12345 y secret1 z", "x *** y ***1 z");
  expect_masked({"abcdefgh", "efghijkl"}, "abcdefghijkl.", "***.");
  expect_masked({"aabaab", "baabaa"}, "xaabaabaax", "x***x");
}

TEST(Masker, HidesEachLine) {
  expect_masked({"first line\nsecond line\n"}, "a\nfirst line\nb second line c\n",
                "a\n***\nb *** c\n");
}

TEST(Masker, ALongOneIsHiddenToItsEnd) {
  std::string secret;
  for (int i = 0; i < 50; ++i) secret += std::to_string(1000 + i);
  expect_masked({secret}, "<" + secret + ">", "<***>");
  // A beginning of it is enough, and hides no more than its line.
  expect_masked({secret}, secret.substr(0, 40) + " and so on\nnext", "***\nnext");
}

TEST(Masker, NothingToHide) { expect_masked({"abc"}, "abc abc", "abc abc"); }

/// Against the plain way to do it: what is hidden in whole texts is hidden in pieces.
TEST(Masker, RandomTextsNeverShowASecret) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto word = [&random](std::size_t size) {
      std::string text;
      for (std::size_t i = 0; i < size; ++i) text += "ab\n"[random() % 7 == 0 ? 2u : random() % 2];
      return text;
    };
    std::vector<std::string> secrets;
    for (int i = 0; i < 3; ++i) {
      std::string secret = word(6 + random() % 6);
      for (char& c : secret)
        if (c == '\n') c = 'a';
      secrets.push_back(secret);
    }
    const std::string text = word(60);
    const std::string whole = masked(secrets, text, text.size());
    EXPECT_EQ(masked(secrets, text, 1 + random() % 10), whole) << text;
    for (const std::string& secret : secrets)
      EXPECT_EQ(whole.find(secret), std::string::npos) << text << " shows " << secret;
  }
}

}  // namespace
}  // namespace rota::gpud
