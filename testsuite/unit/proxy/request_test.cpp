// testsuite/unit/proxy/request_test.cpp - which address is for which door, and whose cookie passes.
#include "proxy/request.h"

#include <gtest/gtest.h>

#include "common/format.h"

namespace rota::proxy {
namespace {

constexpr std::string_view base = "https://login:8443";
constexpr std::string_view hosts = "https://*.jobs.org:8443";

/// "door prefix path token", or the error.
std::string read(std::string_view target, std::string_view host = "login:8443",
                 std::string_view where = base) {
  const auto found = target_from(target, host, where);
  if (!found)
    return format("{}: {}", found.error().code == Errc::not_found ? 404 : 400,
                  found.error().detail);
  return format("{} {} {} [{}]{}", name_of(found->door), found->prefix, found->path, found->token,
                found->lacks_slash ? " slash" : "");
}

TEST(ProxyTarget, IsTheFirstPartOfThePath) {
  EXPECT_EQ(read("/12-8888/"), "12-8888 /12-8888/ /12-8888/ []");
  EXPECT_EQ(read("/12-8888/a/b?x=1&y=%20"), "12-8888 /12-8888/ /12-8888/a/b?x=1&y=%20 []");
  EXPECT_EQ(read("/12-8888"), "12-8888 /12-8888/ /12-8888/ [] slash");
  EXPECT_EQ(read("/12-8888?a=1"), "12-8888 /12-8888/ /12-8888/?a=1 [] slash");
  EXPECT_EQ(read("/12-8888//x"), "12-8888 /12-8888/ /12-8888//x []");
  for (const char* none : {"/", "/favicon.ico", "/12/8888/", "/012-8888/", "/12-8888x/",
                           "//12-8888/", "/%31%32-8888/"})
    EXPECT_EQ(read(none), "404: there is no job at this address") << none;
}

TEST(ProxyTarget, GivesTheTokenAndNotTheJobIt) {
  EXPECT_EQ(read("/1-80/?rota_token=abc"), "1-80 /1-80/ /1-80/ [abc]");
  EXPECT_EQ(read("/1-80/t?a=1&rota_token=abc&b=2"), "1-80 /1-80/ /1-80/t?a=1&b=2 [abc]");
  EXPECT_EQ(read("/1-80/?rota_token=abc&rota_token=def"), "1-80 /1-80/ /1-80/ [abc]");
  EXPECT_EQ(read("/1-80/?rota_token="), "1-80 /1-80/ /1-80/ []");
  EXPECT_EQ(read("/1-80/?rota_tokens=1&xrota_token=2"),
            "1-80 /1-80/ /1-80/?rota_tokens=1&xrota_token=2 []");
  EXPECT_EQ(read("/1-80?rota_token=abc"), "1-80 /1-80/ /1-80/ [abc] slash");
}

TEST(ProxyTarget, NeverGoesUp) {
  for (const char* up :
       {"/1-80/../2-80/", "/1-80/..", "/1-80/a/../b", "/1-80/%2e%2e/2-80/", "/1-80/.%2E/2-80/",
        "/1-80/..%2f2-80/", "/1-80/..%5c2-80/", "/1-80/..\\x", "/1-80/./x", "/../1-80/"})
    EXPECT_EQ(read(up), "400: the address has a step upwards in its path") << up;
  EXPECT_EQ(read("/1-80/..a/b..").substr(0, 4), "1-80") << "dots are no steps";
  EXPECT_EQ(read("/1-80/?q=../x"), "1-80 /1-80/ /1-80/?q=../x []") << "nor is a query";
}

TEST(ProxyTarget, IsWellFormed) {
  EXPECT_EQ(read("/1-80/%"), "400: the address has a broken %XX");
  EXPECT_EQ(read("/1-80/%zz"), "400: the address has a broken %XX");
  EXPECT_EQ(read("/1-80/%00"), "400: the address has a NUL byte");
  EXPECT_EQ(read("http://login/1-80/"), "400: the address is no path of this host");
  EXPECT_EQ(read("*"), "400: the address is no path of this host");
  for (const char* odd : {"/1-80/a b", "/1-80/\r\nX: y", "/1-80/\x80", "/1-80/#x", "/1-80/\t"})
    EXPECT_EQ(read(odd), "400: the address has a character that none may") << odd;
  EXPECT_EQ(read("/1-80/" + std::string(target_bytes_max, 'a')).substr(0, 3), "400");
}

TEST(ProxyTarget, MayBeTheHost) {
  EXPECT_EQ(read("/x?rota_token=t&y=1", "12-8888.jobs.org:8443", hosts), "12-8888 / /x?y=1 [t]");
  EXPECT_EQ(read("/", "12-8888.JOBS.org", hosts), "12-8888 / / []");
  for (const char* none : {"jobs.org", "x.jobs.org", "12-8888.other.org", "", "12-8888.x.jobs.org",
                           "12-8888", "12-8888xjobs.org"})
    EXPECT_EQ(read("/", none, hosts), "404: there is no job at this address") << none;
}

TEST(ProxyCookies, OursNeverReachTheJob) {
  EXPECT_EQ(cookies_without_ours("a=1; rota-12-8888=tok; b=2"), "a=1; b=2");
  EXPECT_EQ(cookies_without_ours("rota-12-8888=tok"), "");
  EXPECT_EQ(cookies_without_ours("ROTA-1-2=tok;rota-x=1;c=rota-1"), "c=rota-1");
  EXPECT_EQ(cookies_without_ours(" ; ;a=b"), "a=b");
}

TEST(ProxyCookies, OfThisDoorOnly) {
  const Door door{JobId{12}, 8888};
  using Tokens = std::vector<std::string>;
  EXPECT_EQ(tokens_in_cookies("a=1; rota-12-8888=tok; rota-13-8888=no", door), Tokens{"tok"});
  EXPECT_EQ(tokens_in_cookies("rota-12-8888=x;rota-12-8888=y", door), (Tokens{"x", "y"}));
  EXPECT_EQ(tokens_in_cookies("xrota-12-8888=x; rota-12-88888=y", door), Tokens{});
  std::string many;
  for (int i = 0; i < 100; ++i) many += "rota-12-8888=x; ";
  EXPECT_EQ(tokens_in_cookies(many, door).size(), 4u);
}

TEST(ProxyCookies, OfAJobStayWithIt) {
  const auto within = [](std::string_view cookie, std::string_view prefix = "/1-80/") {
    return cookie_within(cookie, prefix).value_or("none");
  };
  EXPECT_EQ(within("a=b"), "a=b");
  EXPECT_EQ(within("a=b; Path=/1-80/x; HttpOnly"), "a=b; Path=/1-80/x; HttpOnly");
  EXPECT_EQ(within("a=b; Path=/"), "a=b; Path=/1-80/");
  EXPECT_EQ(within("a=b; path = /2-80/; Secure"), "a=b; Path=/1-80/; Secure");
  EXPECT_EQ(within("a=b; Domain=example.org; Max-Age=5"), "a=b; Max-Age=5");
  EXPECT_EQ(within("a=b; Path=/x", "/"), "a=b; Path=/x");
  for (const char* ours : {"rota-1-80=x", " Rota-2-80=x; Path=/2-80/", "rota-=1", "rota-x"})
    EXPECT_EQ(within(ours), "none") << ours;
}

TEST(ProxyCookies, OurOwn) {
  const auto target = target_from("/1-80/?rota_token=t", "h", base);
  ASSERT_TRUE(target);
  EXPECT_EQ(cookie_with_token(*target, "t", true),
            "rota-1-80=t; Path=/1-80/; HttpOnly; SameSite=Lax; Secure");
  EXPECT_EQ(cookie_with_token(*target, "t", false),
            "rota-1-80=t; Path=/1-80/; HttpOnly; SameSite=Lax");
}

TEST(ProxyCookies, OneOwnerForTheWholeHost) {
  using Pins = std::vector<std::string>;
  EXPECT_EQ(cookie_with_pin(1000, true), "rota-who=1000; Path=/; HttpOnly; SameSite=Lax; Secure");
  EXPECT_EQ(cookie_without_pin(false), "rota-who=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
  EXPECT_EQ(pins_in_cookies("a=1; rota-who=1000; rota-1-80=t"), Pins{"1000"});
  EXPECT_EQ(pins_in_cookies("rota-who=1000; rota-who=7"), (Pins{"1000", "7"}))
      << "a page's script has added one";
  EXPECT_EQ(pins_in_cookies("xrota-who=1; rota-whoever=2; rota-who"), Pins{});
  EXPECT_EQ(cookies_without_ours("rota-who=1; b=2"), "b=2");
  EXPECT_EQ(cookie_within("rota-who=7; Path=/1-80/", "/1-80/"), std::nullopt);
}

TEST(ProxyTarget, MayAskToChange) {
  const auto target = target_from("/1-80/x?a=1&rota_change=1&rota_token=t", "h", base);
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->changes);
  EXPECT_EQ(target->path, "/1-80/x?a=1");
  EXPECT_EQ(path_with_token(*target, "t", true), "/1-80/x?a=1&rota_token=t&rota_change=1");
  const auto plain = target_from("/1-80/?rota_changes=1", "h", base);
  EXPECT_FALSE(plain->changes);
  EXPECT_EQ(path_with_token(*target_from("/1-80", "h", base), "t", false), "/1-80/?rota_token=t");
}

TEST(ProxyOrigin, IsThisHost) {
  const auto target = target_from("/1-80/", "h:1", base);
  ASSERT_TRUE(target);
  const auto own = [&](std::string_view origin, std::string_view host) {
    return is_own_origin(origin, host, *target, base);
  };
  EXPECT_TRUE(own("https://login:8443", "login:8443"));
  EXPECT_TRUE(own("https://LOGIN:8443", "inner:80")) << "another proxy may have changed the host";
  EXPECT_TRUE(own("http://inner:80", "inner:80"));
  for (const char* other :
       {"https://login", "https://login:8443.evil", "https://evil", "null", "", "login:8443"})
    EXPECT_FALSE(own(other, "login:8443")) << other;
}

}  // namespace
}  // namespace rota::proxy
