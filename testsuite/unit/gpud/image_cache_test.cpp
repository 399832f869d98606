// testsuite/unit/gpud/image_cache_test.cpp - which image goes first, and which never.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/format.h"
#include "gpud/container/cache.h"

namespace rota::gpud {
namespace {

using Key = ImageCache::Key;

constexpr RunId run_of(std::uint64_t job) { return {JobId{job}, 0}; }
Key docker(const std::string& name) { return {ContainerKind::docker, name}; }
Key podman(const std::string& name) { return {ContainerKind::podman, name}; }
ImageFacts facts(const std::string& id, std::uint64_t size) {
  ImageFacts facts;
  facts.id = facts.digest = id;
  facts.size_bytes = size;
  return facts;
}

class ImageCacheTest : public ::testing::Test {
 protected:
  ImageCacheTest() {
    char name[] = "/tmp/rota-cache-XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/images";
    open();
  }
  ~ImageCacheTest() override { std::filesystem::remove_all(directory); }

  void open() { cache.emplace(path, std::set{ContainerKind::docker, ContainerKind::podman}); }
  /// One that was pulled for a job.
  void bring(const Key& key, const std::string& id, std::uint64_t size) {
    cache->pull_begins(key, key.second);
    cache->use(key, key.second, facts(id, size));
  }
  /// "a b 30": what would go first, and what all takes.
  std::string first(const std::set<Key>& except = {}) const {
    std::string text;
    for (const Key& key : cache->oldest(except)) text += key.second + " ";
    return text + format("{}", cache->size_bytes());
  }
  std::string names(std::size_t most = 9) const {
    return format("{}", fmt::join(cache->names(most), " "));
  }

  std::string directory;
  std::string path;
  std::optional<ImageCache> cache;
};

TEST_F(ImageCacheTest, TheOneThatWasNotUsedForLongestGoes) {
  EXPECT_EQ(first(), "0");
  bring(docker("a"), "1", 10);
  bring(docker("b"), "2", 20);
  EXPECT_EQ(first(), "a 30");
  cache->use(docker("a"), "a", facts("1", 10));
  EXPECT_EQ(first(), "b 30");
  EXPECT_EQ(first({docker("b")}), "a 30");
  EXPECT_EQ(names(), "a b");
  cache->drop(docker("b"));
  EXPECT_EQ(first(), "a 10");
}

TEST_F(ImageCacheTest, NeverOneThatARunNeeds) {
  bring(docker("a"), "1", 10);
  cache->hold(run_of(1), docker("a"), "a");
  EXPECT_EQ(first(), "10");
  cache->release(run_of(1));
  EXPECT_EQ(first(), "a 10");
  cache->hold(run_of(2), docker("other"), "other");
  cache->hold_id(run_of(2), "1");
  EXPECT_EQ(first(), "10") << "under another name";
  cache->release(run_of(2));
  cache->hold(run_of(3), docker("a@sha256:1"), "a");
  EXPECT_EQ(first(), "10") << "by its digest";
  cache->release(run_of(3));
  cache->hold(run_of(4), {ContainerKind::none, "a"}, "a");
  EXPECT_EQ(first(), "10") << "of a run that was there before us";
  cache->release(run_of(4));
  cache->hold(run_of(5), podman("a"), "a");
  EXPECT_EQ(first(), "a 10") << "another engine's";
}

TEST_F(ImageCacheTest, NeverOneThatSomebodyElsePutThere) {
  cache->use(docker("theirs"), "theirs", facts("1", 10));
  EXPECT_EQ(first(), "0");
  EXPECT_EQ(names(), "theirs") << "but jobs find it there";
  bring(docker("ours"), "1", 10);
  EXPECT_EQ(first(), "ours 10") << "a second name of it";
}

TEST_F(ImageCacheTest, AnImageWithTwoNamesCountsOnceAndGoesWithBoth) {
  bring(docker("a"), "1", 10);
  bring(docker("b"), "2", 20);
  bring(docker("a@sha256:1"), "1", 10);
  EXPECT_EQ(first(), "b 30") << "the first was used as the second name";
  cache->drop(docker("b"));
  EXPECT_EQ(first(), "a a@sha256:1 10");
  EXPECT_EQ(first({docker("a")}), "10");
}

TEST_F(ImageCacheTest, ANameThatMovesOnLeavesWhatItMeantBefore) {
  bring(docker("a"), "1", 10);
  cache->use(docker("a"), "a", facts("2", 15));
  EXPECT_EQ(first(), "1 25") << "by its id, having no name";
  EXPECT_EQ(names(), "a");
}

TEST_F(ImageCacheTest, APullThatFailedLeavesNothing) {
  cache->pull_begins(docker("a"), "a");
  EXPECT_EQ(names(), "") << "it is not there yet";
  cache->pull_failed(docker("a"));
  EXPECT_TRUE(cache->all().empty());
  bring(docker("b"), "2", 20);
  cache->pull_failed(docker("b"));
  EXPECT_EQ(first(), "b 20") << "what was there before stays";
}

TEST_F(ImageCacheTest, OutlivesItsProcess) {
  bring(docker("a"), "1", 10);
  bring(podman("b"), "2", 20);
  cache->use(docker("theirs"), "theirs", facts("3", 30));
  cache->use(docker("a"), "a", facts("1", 10));
  cache->pull_begins(docker("c"), "c");
  ASSERT_TRUE(cache->save());
  EXPECT_FALSE(cache->is_dirty());
  open();
  EXPECT_EQ(first(), "b 30");
  EXPECT_EQ(names(), "a theirs b");
  EXPECT_EQ(names(1), "a");
  cache->use(docker("b2"), "b2", facts("4", 1));
  EXPECT_EQ(names(1), "b2") << "later than all before";
  ASSERT_NE(cache->find(docker("c")), nullptr);
  cache->confirm(docker("c"), facts("5", 50));
  EXPECT_EQ(first(), "b 80") << "a pull that ended after its rgpud is ours, too";
}

TEST_F(ImageCacheTest, AFileThatIsNotOursIsLeftAlone) {
  std::ofstream(path) << "something else";
  open();
  EXPECT_TRUE(cache->all().empty());
  bring(docker("a"), "1", 10);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  std::ofstream(path + "/x") << "x";
  EXPECT_FALSE(cache->save());
  EXPECT_TRUE(cache->is_dirty()) << "and is tried again";
}

TEST_F(ImageCacheTest, AnEngineThatIsNotHereDoesNotCount) {
  bring(podman("b"), "2", 20);
  bring(docker("a"), "1", 10);
  ASSERT_TRUE(cache->save());
  cache.emplace(path, std::set{ContainerKind::docker});
  EXPECT_EQ(first(), "a 10");
  EXPECT_EQ(names(), "a");
  open();
  EXPECT_EQ(first(), "b 30") << "nor is it forgotten";
}

TEST_F(ImageCacheTest, OfOthersImagesOnlySoManyAreRemembered) {
  for (int i = 0; i < 300; ++i)
    cache->use(docker(format("t{}", i)), format("t{}", i), facts(format("{}", i), 1));
  EXPECT_EQ(cache->all().size(), 256u);
  EXPECT_EQ(names(1), "t299");
}

}  // namespace
}  // namespace rota::gpud
