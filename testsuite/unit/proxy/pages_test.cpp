// testsuite/unit/proxy/pages_test.cpp - a page for each way not to get in, and no words become
// tags.
#include "proxy/pages.h"

#include <gtest/gtest.h>

namespace rota::proxy {
namespace {

const Door door{JobId{12}, 8888};

TEST(ProxyPages, SayWhatIsWrong) {
  const auto status = [](Errc code) { return page_for(Error{code, "why"}, door).status; };
  EXPECT_EQ(page_for_stranger(door).status, 401u);
  EXPECT_EQ(status(Errc::auth_failed), 401u);
  EXPECT_EQ(status(Errc::denied), 403u);
  EXPECT_EQ(status(Errc::no_such_job), 404u);
  EXPECT_EQ(status(Errc::job_ended), 410u);
  EXPECT_EQ(status(Errc::busy), 429u);
  EXPECT_EQ(status(Errc::unreachable), 502u);
  EXPECT_EQ(status(Errc::job_not_started), 503u);
  EXPECT_EQ(status(Errc::peer_lost), 503u);
  EXPECT_EQ(status(Errc::timed_out), 504u);
}

TEST(ProxyPages, SayHowToGetIn) {
  EXPECT_NE(page_for_stranger(door).text.find("rota url 12 --port 8888"), std::string::npos);
}

TEST(ProxyPages, ComeBackWhileThereIsHope) {
  EXPECT_TRUE(page_for(Error{Errc::job_not_started, "job 12 is PENDING"}, door).comes_back);
  EXPECT_TRUE(page_for(Error{Errc::unreachable, "refused"}, door).comes_back);
  EXPECT_FALSE(page_for(Error{Errc::job_ended, "job 12 is FAILED"}, door).comes_back);
}

TEST(ProxyPages, AButtonIsForAPersonToPress) {
  const Page page = page_for_other(door, "bob<", "uid '1000'", "/12-8888/?a=\"&rota_token=t");
  EXPECT_EQ(page.status, 409u);
  const std::string html = document(page, true);
  EXPECT_NE(html.find("<form method=\"post\" action=\"/12-8888/?a=&quot;&amp;rota_token=t\">"
                      "<button>Leave them, and open job 12 of bob&lt;</button></form>"),
            std::string::npos)
      << html;
  EXPECT_EQ(document(page_for_other(door, "bob", "uid '1'", ""), true).find("<form"),
            std::string::npos);
  EXPECT_EQ(document(page, false).find("rota_token"), std::string::npos);
}

TEST(ProxyPages, WordsStayWords) {
  const Page page = page_for(Error{Errc::job_not_started, "<script>&\"'\n"}, door);
  const std::string html = document(page, true);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;&amp;&quot;&#39;\\n"), std::string::npos);
  EXPECT_NE(document(page, false).find("<script>&\"'\\n"), std::string::npos);
}

}  // namespace
}  // namespace rota::proxy
