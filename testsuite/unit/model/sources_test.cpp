// testsuite/unit/model/sources_test.cpp - volumes, repositories and kept containers as people write
// them, and as attackers do.
#include "model/sources.h"

#include <gtest/gtest.h>

#include "common/format.h"

namespace rota {
namespace {

/// "name at /place ro", or what is wrong.
std::string data_of(std::string_view text) {
  const auto data = data_parse(text);
  if (!data) return data.error().detail;
  if (const auto good = validate(*data); !good) return good.error().detail;
  return format("{} at {}{}", data->name, data->target, data->read_only ? " ro" : "");
}

/// "url | revision | directory", or "refused".
std::string git_of(std::string_view text) {
  const auto git = git_parse(text);
  if (!git || !validate(*git)) return "refused";
  return format("{} | {} | {}", git->url, git->revision, git->target);
}

std::string kept_of(std::string_view text) {
  const auto kept = kept_name(text);
  return !kept ? "refused" : kept->name + (kept->fresh ? " anew" : "");
}

TEST(Volume, HasANameAndPerhapsAPlace) {
  EXPECT_EQ(data_of("sets"), "sets at ");
  EXPECT_EQ(data_of("sets:/mnt"), "sets at /mnt");
  EXPECT_EQ(data_of("sets:/mnt:ro"), "sets at /mnt ro");
  EXPECT_EQ(data_of("sets:ro"), "sets at  ro");
}

TEST(Volume, IsNoPath) {
  EXPECT_EQ(data_of("a/b"),
            "'a/b' names no volume: a name is 1 to 64 letters, digits, '-', '_' or '.'");
  EXPECT_EQ(data_of(":/mnt"), "':/mnt': a volume is written as NAME[:/TARGET][:ro]");
  EXPECT_EQ(data_of("sets:mnt"), "'sets:mnt': a volume is written as NAME[:/TARGET][:ro]");
  EXPECT_EQ(data_of("sets:/a:/b"), "'sets:/a:/b': a volume is written as NAME[:/TARGET][:ro]");
  EXPECT_EQ(data_of("sets:/proc"),
            "volume sets: nothing can be mounted at '/proc' of the container");
  EXPECT_EQ(
      data_of("sets:/a/../proc"),
      "volume sets: the target of a mount is '/a/../proc': '.' and '..' are not allowed in it");
}

TEST(Git, HasAUrlARevisionAndADirectory) {
  EXPECT_EQ(git_of("https://host/team/code.git:/src"), "https://host/team/code.git |  | /src");
  EXPECT_EQ(git_of("https://host/code.git@v1.2:/src"), "https://host/code.git | v1.2 | /src");
  EXPECT_EQ(git_of("https://me@host:8443/code@feature/x:/src"),
            "https://me@host:8443/code | feature/x | /src");
  EXPECT_EQ(git_of("ssh://git@host:22/code:/src"), "ssh://git@host:22/code |  | /src");
  EXPECT_EQ(git_of("git@host:team/code.git@main:/src"), "git@host:team/code.git | main | /src");
  EXPECT_EQ(git_of("/repos/code.git@0123abc:/src"), "/repos/code.git | 0123abc | /src");
  EXPECT_EQ(git_of("file:///repos/code.git:/src"), "file:///repos/code.git |  | /src");
}

TEST(Git, NothingElseIsARepository) {
  for (const char* text :
       {"--upload-pack=touch:/src", "-x:/src", "ext::sh -c id:/src", "ext::sh:/src", "fd::3:/src",
        "ssh://-oProxyCommand=id/x:/src", "ftp://host/x:/src", "relative/x:/src", "https://host/x",
        "https://host/x@:/src", "https://host/x@-b:/src", "https://host/x@a..b:/src",
        "https://host/a b:/src", "/x:/proc", "/x:/", "/x:/a/../proc", ":/src", ""})
    EXPECT_EQ(git_of(text), "refused") << text;
}

TEST(KeptContainer, HasAPlainName) {
  EXPECT_EQ(kept_of("tools"), "tools");
  EXPECT_EQ(kept_of("My_tools-1.2:create"), "My_tools-1.2 anew");
  EXPECT_EQ(kept_of("tools:no_exec"), "tools");
  for (const char* text :
       {"", ".", "..", "../x", "a/b", "-x", "a b", "x:y", "x@y", "x+y", ":create"})
    EXPECT_EQ(kept_of(text), "refused") << text;
  EXPECT_EQ(kept_of(std::string(65, 'a')), "refused");
}

TEST(KeptContainer, IsNobodysImage) {
  EXPECT_FALSE(validate_image("rota-own-kept:1000.tools"));
  EXPECT_FALSE(validate_image("localhost/rota-own-kept:1000.tools"));
}

}  // namespace
}  // namespace rota
