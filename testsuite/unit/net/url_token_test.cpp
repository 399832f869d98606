// testsuite/unit/net/url_token_test.cpp - a token says who, where and until when, and nobody else
// can make one.
#include "net/url_token.h"

#include <gtest/gtest.h>

namespace rota::net {
namespace {

const std::string key(32, 'k');
constexpr WallTime now{1'000'000'000};

UrlToken sample() {
  return {1000, "alice", JobId{12}, {now.microseconds + 5'000'000}, 1001, "bob"};
}

TEST(UrlToken, ComesBackAsItWas) {
  const std::string text = seal_token(sample(), key);
  EXPECT_LT(text.size(), 150u);
  EXPECT_EQ(
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."),
      std::string::npos);
  const auto opened = open_token(text, key, now);
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened, sample());
  EXPECT_EQ(*read_token(text), sample());
}

TEST(UrlToken, NamesOfAnyLengthAndLetters) {
  for (const char* name : {"", "a", "ab", "abc", "M\xc3\xbcller", "DOMAIN\\user"}) {
    UrlToken token = sample();
    token.user = name;
    EXPECT_EQ(open_token(seal_token(token, key), key, now)->user, name);
  }
}

TEST(UrlToken, Expires) {
  const std::string text = seal_token(sample(), key);
  EXPECT_TRUE(open_token(text, key, {now.microseconds + 4'999'999}));
  const auto late = open_token(text, key, {now.microseconds + 5'000'000});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::auth_failed);
  EXPECT_EQ(late.error().detail, "the token has expired");
}

TEST(UrlToken, OfAnotherKeyIsNone) {
  const std::string text = seal_token(sample(), key);
  EXPECT_FALSE(open_token(text, std::string(32, 'x'), now));
  EXPECT_FALSE(open_token(seal_token(sample(), ""), "", now)) << "no key means nothing";
}

TEST(UrlToken, NoLetterOfItCanBeChanged) {
  const std::string text = seal_token(sample(), key);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char letter : {'A', 'Q', '.', '=', '\0'}) {
      std::string changed = text;
      if (changed[i] == letter) continue;
      changed[i] = letter;
      EXPECT_FALSE(open_token(changed, key, now)) << i << ' ' << letter;
    }
    EXPECT_FALSE(open_token(text.substr(0, i), key, now)) << i;
  }
  EXPECT_FALSE(open_token(text + "A", key, now));
  EXPECT_FALSE(open_token(text + ".", key, now));
  EXPECT_FALSE(open_token(std::string(10'000, 'A') + ".A", key, now));
}

}  // namespace
}  // namespace rota::net
