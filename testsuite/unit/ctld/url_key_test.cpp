// testsuite/unit/ctld/url_key_test.cpp - the key of tokens is made once, kept, and only its
// owner's.
#include "ctld/url_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rota::ctld {
namespace {

struct UrlKey : testing::Test {
  void SetUp() override {
    std::string name = testing::TempDir() + "url_key.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = name;
    path = directory + "/url.key";
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string directory;
  std::string path;
};

TEST_F(UrlKey, IsMadeOnceAndKept) {
  const auto made = load_url_key(path);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->size(), 32u);
  EXPECT_EQ(*load_url_key(path), *made);
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_NE(*load_url_key(path + "2"), *made);
}

TEST_F(UrlKey, OpenToOthersIsRefused) {
  ASSERT_TRUE(load_url_key(path));
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_NE(load_url_key(path).error().detail.find("is open to others"), std::string::npos);
}

TEST_F(UrlKey, OfAnotherLengthIsRefused) {
  for (const std::size_t size : {0, 31, 33, 4096}) {
    std::ofstream(path) << std::string(size, 'x');
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    const auto loaded = load_url_key(path);
    ASSERT_FALSE(loaded) << size;
    EXPECT_NE(loaded.error().detail.find("is no key of 32 bytes"), std::string::npos);
  }
}

TEST_F(UrlKey, CannotBeMadeWhereThereIsNoDirectory) {
  EXPECT_FALSE(load_url_key(directory + "/none/url.key"));
}

}  // namespace
}  // namespace rota::ctld
