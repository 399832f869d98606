// testsuite/unit/gpud/image_keeper_test.cpp - images of runs over an engine that only pretends: one
// pull for all, those that come ahead, and what goes when they are too many.
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <list>

#include "common/format.h"
#include "gpud/container/keeper.h"
#include "net/wakeup.h"

namespace rota::gpud {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;

constexpr RunId run_of(std::uint64_t job) { return {JobId{job}, 0}; }

/// What dockerd has, and what its registry has.
struct Depot {
  std::map<std::string, ImageFacts> here;
  std::map<std::string, ImageFacts> registry;
  std::vector<std::string> calls;  // "pull a", "remove a"
  std::string trouble;             // of pulls
  std::string in_use;              // an image that a container of somebody has
  bool holds = false;              // pulls and removals wait
  bool holds_after = false;        // pulls wait once the image is there
  std::list<net::Wakeup> gates;

  void put(std::map<std::string, ImageFacts>& place, const std::string& name, const std::string& id,
           std::uint64_t size = 10) {
    ImageFacts& facts = place[name];
    facts.id = id;
    facts.digest = "repo@" + id;
    facts.size_bytes = size;
  }
  std::string said() { return format("{}", fmt::join(std::exchange(calls, {}), ", ")); }
  std::string has() const {
    std::vector<std::string> names;
    for (const auto& [name, facts] : here) names.push_back(name);
    return format("{}", fmt::join(names, " "));
  }
  void let_go() {
    holds = holds_after = false;
    for (net::Wakeup& gate : gates) gate.notify();
  }
};

class FakeEngine : public ImageEngine {
 public:
  FakeEngine(boost::asio::any_io_executor executor, Depot& depot)
      : executor_(executor), depot_(depot) {}

  awaitable<Result<std::optional<ImageFacts>>> find(std::string name) override {
    const auto found = depot_.here.find(name);
    if (found == depot_.here.end()) co_return std::optional<ImageFacts>();
    co_return std::optional<ImageFacts>(found->second);
  }
  awaitable<Result<void>> pull(std::string name, proto::RegistryLogin login,
                               std::function<void(unsigned)> percent) override {
    depot_.calls.push_back("pull " + name + (login.empty() ? "" : " as " + login.user));
    percent(50);
    co_await gate();
    if (!depot_.trouble.empty()) {
      Error error{Errc::io_failed, depot_.trouble};
      co_return error;
    }
    const auto found = depot_.registry.find(name);
    if (found == depot_.registry.end()) {
      Error error{Errc::not_found, "manifest unknown"};
      co_return error;
    }
    depot_.here[name] = found->second;
    if (depot_.holds_after) co_await gate(true);
    co_return Result<void>();
  }
  awaitable<Result<std::set<std::string>>> ids() override {
    std::set<std::string> all;
    for (const auto& [name, facts] : depot_.here) all.insert(facts.id);
    co_return all;
  }
  awaitable<Result<void>> remove(std::string name) override {
    depot_.calls.push_back("remove " + name);
    co_await gate();
    if (name == depot_.in_use) {
      Error error{Errc::io_failed, "a container has it"};
      co_return error;
    }
    depot_.here.erase(name);
    co_return Result<void>();
  }
  awaitable<Result<void>> sweep(std::function<bool(const std::string&)>) override {
    co_return Result<void>();
  }

 private:
  awaitable<void> gate(bool always = false) {
    if (!depot_.holds && !always) co_return;
    net::Wakeup& mine = depot_.gates.emplace_back(executor_);
    co_await mine.wait(net::deadline_after(std::chrono::seconds(30)));
  }

  boost::asio::any_io_executor executor_;
  Depot& depot_;
};

class ImageKeeperTest : public ::testing::Test {
 protected:
  ImageKeeperTest() {
    char name[] = "/tmp/rota-keeper-XXXXXX";
    directory = ::mkdtemp(name);
    options.cache_path = directory + "/images";
    options.pull_pause = milliseconds(1);
    options.prefetch_max = 1;
    for (const char* each : {"a", "b", "c", "d"}) depot.put(depot.registry, each, each);
  }
  ~ImageKeeperTest() override {
    end();
    std::filesystem::remove_all(directory);
  }

  void start() {
    end();
    io = std::make_unique<boost::asio::io_context>();
    ImageKeeper::Engines engines;
    engines[ContainerKind::docker] = std::make_unique<FakeEngine>(io->get_executor(), depot);
    keeper = std::make_unique<ImageKeeper>(
        io->get_executor(), options,
        [this](RunId run, const std::string& text) {
          progress += format("{}: {}; ", run.job.value, text);
        },
        std::move(engines));
    keeper->names_changed = [this] { told = format("{}", fmt::join(keeper->names(), " ")); };
  }
  /// As kill -9 ends it: nothing is said or done any more.
  void end() {
    depot.gates.clear();
    keeper.reset();
    io.reset();
  }
  void prepare(std::uint64_t job, const std::string& image, PullPolicy pull = PullPolicy::missing,
               const std::string& digest = "") {
    keeper->prepare(run_of(job), {ContainerKind::docker, image, digest, pull},
                    [this, job](const Result<ImageFacts>& facts) {
                      ready[job] = facts ? facts->id : facts.error().detail;
                    });
  }
  void prepare_as(std::uint64_t job, const std::string& image, std::uint32_t uid,
                  const std::string& user, PullPolicy pull = PullPolicy::missing) {
    ImageKeeper::Wish wish{ContainerKind::docker, image, "", pull, uid, {}};
    if (!user.empty()) wish.login = {user, "secret"};
    keeper->prepare(run_of(job), wish, [this, job](const Result<ImageFacts>& facts) {
      ready[job] = facts ? facts->id : facts.error().detail;
    });
  }
  void prefetch(const std::string& image) {
    keeper->prefetch({ContainerKind::docker, image, "", PullPolicy::missing});
  }
  void run_until(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < limit) {
      io->restart();
      io->run_one_for(milliseconds(100));
    }
    ASSERT_TRUE(done());
  }
  /// Until nothing is left to be done at once.
  void settle() {
    for (bool is_done = false; !is_done;) {
      io->restart();
      is_done = io->run_one_for(milliseconds(30)) == 0;
    }
  }
  std::string use(std::uint64_t job, const std::string& image) {
    prepare(job, image);
    run_until([&] { return ready.contains(job); });
    settle();
    return ready[job];
  }

  std::string directory;
  Depot depot;
  ImageKeeper::Options options;
  std::unique_ptr<boost::asio::io_context> io;
  std::unique_ptr<ImageKeeper> keeper;
  std::map<std::uint64_t, std::string> ready;
  std::string progress;
  std::string told;
};

TEST_F(ImageKeeperTest, OnePullServesAllWhoWait) {
  start();
  depot.holds = true;
  prepare(1, "a");
  prepare(2, "a");
  settle();
  prepare(3, "a");
  EXPECT_TRUE(ready.empty());
  EXPECT_EQ(progress, "1: image; 2: image; 1: image 50 %; 2: image 50 %; 3: image 50 %; ");
  depot.let_go();
  run_until([&] { return ready.size() == 3; });
  EXPECT_EQ(depot.said(), "pull a");
  EXPECT_EQ(ready[3], "a");
  settle();
  EXPECT_EQ(told, "a");
}

TEST_F(ImageKeeperTest, OnePullForEachLogin) {
  start();
  depot.holds = true;
  prepare_as(1, "a", 1000, "ann");
  prepare_as(2, "a", 1000, "ann");
  prepare_as(3, "a", 1001, "bob");
  prepare_as(4, "a", 1002, "");
  settle();
  depot.holds = false;
  depot.let_go();
  run_until([&] { return ready.size() == 4; });
  EXPECT_EQ(std::ranges::count(depot.calls, "pull a as ann"), 1);
  EXPECT_EQ(std::ranges::count(depot.calls, "pull a as bob"), 1);
  EXPECT_EQ(std::ranges::count(depot.calls, "pull a"), 1);
}

TEST_F(ImageKeeperTest, WhatCameWithALoginIsAskedForByOthers) {
  start();
  prepare_as(1, "a", 1000, "ann");
  run_until([&] { return ready.contains(1); });
  settle();
  depot.said();
  prepare_as(2, "a", 1000, "ann");
  run_until([&] { return ready.contains(2); });
  EXPECT_EQ(depot.said(), "");
  prepare_as(3, "a", 1001, "bob", PullPolicy::never);
  run_until([&] { return ready.contains(3); });
  EXPECT_NE(ready[3].find("from another user's login"), std::string::npos) << ready[3];
  depot.registry.clear();  // bob is told that there is no such image
  prepare_as(4, "a", 1001, "bob");
  run_until([&] { return ready.contains(4); });
  EXPECT_EQ(depot.said(), "pull a as bob");
  EXPECT_NE(ready[4].find("manifest unknown"), std::string::npos) << ready[4];
  settle();
  EXPECT_EQ(depot.has(), "a") << "it is ann's all the same";
}

// The engine has it, and would give it to anybody; whose it is comes to be known a moment later.
TEST_F(ImageKeeperTest, WhatALoginIsJustBringingIsNobodysYet) {
  start();
  depot.put(depot.here, "local", "local");
  depot.holds_after = true;
  prepare_as(1, "a", 1000, "ann");
  run_until([&] { return depot.here.contains("a"); });
  depot.here["sha256:a"] = depot.here["a"];  // by its id
  prepare_as(2, "a", 1001, "", PullPolicy::never);
  prepare_as(3, "sha256:a", 1001, "", PullPolicy::never);
  prepare_as(4, "local", 1001, "", PullPolicy::never);
  settle();
  EXPECT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[4], "local") << "what was there before is not held up";
  depot.let_go();
  run_until([&] { return ready.size() == 4; });
  EXPECT_EQ(ready[1], "a");
  for (const std::uint64_t job : {2, 3})
    EXPECT_NE(ready[job].find("from another user's login"), std::string::npos) << ready[job];
}

TEST_F(ImageKeeperTest, WhatWasThereForAllDoesNotBecomeOneUsers) {
  start();
  depot.put(depot.here, "local", "a");
  prepare_as(1, "a", 1000, "ann");
  run_until([&] { return ready.contains(1); });
  prepare_as(2, "local", 1001, "", PullPolicy::never);
  run_until([&] { return ready.contains(2); });
  EXPECT_EQ(ready[2], "a");
}

TEST_F(ImageKeeperTest, WhatAJobHasKeptIsReachedByItsNameOnly) {
  start();
  for (const char* name : {"rota-own-kept:7.x", "3f2a", "sha256:3f2a"}) {
    depot.put(depot.here, name, "sha256:3f2a");
    depot.here[name].is_own = true;
  }
  EXPECT_EQ(use(1, "rota-own-kept:7.x"), "sha256:3f2a");
  for (const char* id : {"3f2a", "sha256:3f2a"})
    EXPECT_EQ(use(id[0], id), format("image '{}' is what a job has kept: its owner alone can use "
                                     "it, by the name that was given to it (--container-name)",
                                     id));
}

TEST_F(ImageKeeperTest, TheOldestGoesWhenThereAreTooMany) {
  options.cache_bytes = 25;
  depot.put(depot.here, "theirs", "theirs", 1000);
  start();
  use(1, "a");
  use(2, "b");
  use(3, "theirs");
  for (const std::uint64_t job : {1, 2, 3}) keeper->release(run_of(job));
  use(4, "a");
  keeper->release(run_of(4));
  depot.said();
  EXPECT_EQ(use(5, "c"), "c");
  EXPECT_EQ(depot.said(), "pull c, remove b");
  EXPECT_EQ(depot.has(), "a c theirs");
  EXPECT_EQ(told, "c a theirs");
}

TEST_F(ImageKeeperTest, WhatRunsNeedStaysUntilTheyAreOver) {
  options.cache_bytes = 5;
  start();
  use(1, "a");
  use(2, "b");
  EXPECT_EQ(depot.has(), "a b") << "both are too much, and needed";
  keeper->release(run_of(1));
  settle();
  EXPECT_EQ(depot.has(), "b");
  start();
  keeper->adopt(run_of(2), "b", "");
  keeper->tidy();
  settle();
  EXPECT_EQ(depot.has(), "b") << "by a run that was there before";
  keeper->release(run_of(2));
  settle();
  EXPECT_EQ(depot.has(), "");
}

TEST_F(ImageKeeperTest, WhatCannotBeRemovedIsTriedAgain) {
  options.cache_bytes = 15;
  start();
  depot.in_use = "a";
  use(1, "a");
  use(2, "b");
  for (const std::uint64_t job : {1, 2}) keeper->release(run_of(job));
  depot.said();
  use(3, "c");
  EXPECT_EQ(depot.has(), "a c") << "the next but one goes instead";
  depot.in_use.clear();
  depot.said();
  keeper->tidy();
  settle();
  EXPECT_EQ(depot.said(), "remove a");
}

TEST_F(ImageKeeperTest, WhoComesWhileItGoesBringsItAgain) {
  options.cache_bytes = 15;
  start();
  use(1, "a");
  use(2, "b");
  keeper->release(run_of(2));
  depot.said();
  depot.holds = true;
  keeper->release(run_of(1));  // a is the older one
  settle();
  EXPECT_EQ(depot.said(), "remove a");
  prepare(3, "a");
  settle();
  EXPECT_FALSE(ready.contains(3)) << "it must not be found now";
  depot.let_go();
  run_until([&] { return ready.contains(3); });
  settle();
  EXPECT_EQ(depot.said(), "pull a, remove b");
  EXPECT_EQ(depot.has(), "a");
}

TEST_F(ImageKeeperTest, APullThatWasKilledIsOursAllTheSame) {
  options.cache_bytes = 5;
  start();
  depot.holds = true;
  prepare(1, "a");
  settle();
  EXPECT_EQ(depot.said(), "pull a");
  depot.here["a"] = depot.registry["a"];  // the engine goes on without us
  depot.holds = false;
  start();
  keeper->tidy();
  settle();
  EXPECT_EQ(depot.said(), "remove a");
  EXPECT_EQ(depot.has(), "");
}

TEST_F(ImageKeeperTest, OneThatSomebodyRemovedIsForgotten) {
  start();
  use(1, "a");
  keeper->release(run_of(1));
  EXPECT_EQ(told, "a");
  depot.here.clear();
  keeper->tidy();
  settle();
  EXPECT_EQ(told, "");
}

TEST_F(ImageKeeperTest, ImagesComeAheadOneAtATimeAndAfterThoseThatAreWaitedFor) {
  start();
  depot.holds = true;
  prepare(1, "a");
  prefetch("b");
  prefetch("c");
  prefetch("b");
  settle();
  EXPECT_EQ(depot.said(), "pull a");
  depot.let_go();
  run_until([&] { return ready.contains(1); });
  settle();
  EXPECT_EQ(depot.said(), "pull b, pull c");
  EXPECT_EQ(depot.has(), "a b c");
  prefetch("b");
  settle();
  EXPECT_EQ(depot.said(), "") << "it is there";
}

TEST_F(ImageKeeperTest, ARunJoinsAPullThatBeganAhead) {
  start();
  depot.holds = true;
  prefetch("b");
  settle();
  prepare(1, "b");
  EXPECT_EQ(progress, "1: image 50 %; ");
  depot.let_go();
  run_until([&] { return ready.contains(1); });
  EXPECT_EQ(depot.said(), "pull b");
}

TEST_F(ImageKeeperTest, AFailureAheadIsNobodys) {
  start();
  depot.trouble = "no route to host";
  prefetch("b");
  settle();
  EXPECT_EQ(depot.said(), "pull b") << "once";
  depot.trouble.clear();
  EXPECT_EQ(use(1, "b"), "b");
  options.prefetch_max = 0;
  start();
  prefetch("c");
  settle();
  EXPECT_EQ(depot.has(), "b") << "where the site wants none";
}

// The first node has said which one it is, while others bring it by its name.
TEST_F(ImageKeeperTest, ADigestWaitsForItsNameAndIsNotBroughtTwice) {
  start();
  depot.put(depot.registry, "a@sha256:1", "a");
  depot.holds = true;
  prefetch("a");
  settle();
  prepare(1, "a", PullPolicy::missing, "a@sha256:1");
  settle();
  EXPECT_EQ(progress, "1: image 50 %; ");
  depot.here["a@sha256:1"] = depot.registry["a"];  // comes with it
  depot.let_go();
  run_until([&] { return ready.contains(1); });
  EXPECT_EQ(depot.said(), "pull a");
  EXPECT_EQ(ready[1], "a");
  prepare(2, "b", PullPolicy::missing, "b@sha256:9");
  run_until([&] { return ready.contains(2); });
  EXPECT_EQ(ready[2], "image 'b@sha256:9' cannot be pulled: manifest unknown");
}

TEST_F(ImageKeeperTest, WhoAlwaysAsksTheRegistryIsNotServedWithWhatWasFound) {
  start();
  use(1, "a");
  depot.said();
  prepare(2, "a");
  prepare(3, "a", PullPolicy::always);
  run_until([&] { return ready.contains(3); });
  EXPECT_EQ(depot.said(), "pull a");
  prepare(4, "nosuch", PullPolicy::never);
  run_until([&] { return ready.contains(4); });
  EXPECT_EQ(ready[4], "the node does not have image 'nosuch', and it must not be pulled");
}

}  // namespace
}  // namespace rota::gpud
