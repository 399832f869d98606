// testsuite/unit/ctld/secrets_test.cpp - secrets in the controller: names in the engine, sealed in
// the store, plain only on their way to a job.
#include "ctld/secrets.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/format.h"
#include "net/ticket.h"

namespace rota::ctld {
namespace {

const Caller ada{.owner = {1000, 1000, "ada"}};
const Caller bob{.owner = {1001, 1001, "bob"}};
const Caller root{.owner = {0, 0, "root"}, .is_admin = true};

class SecretsTest : public testing::Test {
 protected:
  SecretsTest() {
    char pattern[] = "/tmp/rota-secrets-XXXXXX";
    dir_ = mkdtemp(pattern);
    store_ = *open_sqlite(dir_ + "/rota.db");
    start();
  }
  ~SecretsTest() override { std::filesystem::remove_all(dir_); }

  std::string key() const { return dir_ + "/secret.key"; }
  /// As a controller that starts with what is stored.
  void start() {
    engine_ = std::make_unique<Engine>(EngineSettings{}, *store_->load(10), at_);
    vault_ = std::make_unique<Vault>(key());
  }
  void put(const Caller& caller, const std::string& name, const std::string& value) {
    auto sealed = vault_->seal(caller.owner.uid, name, value);
    ASSERT_TRUE(sealed) << sealed.error().detail;
    ASSERT_TRUE(engine_->put_secret(caller, name, *sealed, at_));
    commit();
  }
  void commit() { ASSERT_TRUE(store_->commit(engine_->take_effects().rows)); }
  std::string names(const Caller& caller) const {
    std::string text;
    for (const auto& entry : engine_->secrets().list(caller.owner.uid)) text += entry.name + ' ';
    return text;
  }
  JobSubmitted job(std::vector<SecretUse> secrets) const {
    JobSubmitted event;
    event.owner = ada.owner;
    event.spec.name = "job";
    event.payload.mode = LaunchMode::tasks;
    event.payload.arguments = {"true"};
    event.payload.working_directory = "/";
    event.payload.secrets = std::move(secrets);
    return event;
  }
  /// What a launch of ada's would carry, or why there is none.
  std::string launched(std::vector<SecretUse> secrets, const std::string& image = {}) {
    proto::LaunchRun launch;
    launch.owner = ada.owner;
    launch.spec.image = image;
    launch.payload.secrets = std::move(secrets);
    const auto added = add_secrets(*store_, *vault_, launch);
    if (!added) return added.error().detail;
    std::string text;
    for (const proto::Secret& secret : launch.secrets)
      text += format("{}={} ", secret.name, secret.value);
    if (!launch.login.empty()) text += format("as {}/{}", launch.login.user, launch.login.password);
    return text;
  }
  /// All bytes of all files of the controller's.
  std::string disk() const {
    std::string all;
    for (const auto& file : std::filesystem::directory_iterator(dir_)) {
      std::stringstream text;
      text << std::ifstream(file.path(), std::ios::binary).rdbuf();
      all += text.str();
    }
    return all;
  }

  Now at_{{1'000'000'000}, {1'000'000}};
  std::string dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Vault> vault_;
};

TEST_F(SecretsTest, ComeBackAfterARestartAndToTheirOwnerOnly) {
  put(ada, "TOKEN", "hunter2-of-ada");
  put(bob, "TOKEN", "hunter2-of-bob");
  start();
  EXPECT_EQ(names(ada), "TOKEN ");
  EXPECT_EQ(names(root), "");
  EXPECT_EQ(launched({{"TOKEN", ""}}), "TOKEN=hunter2-of-ada ");
  put(ada, "TOKEN", "another");
  EXPECT_EQ(launched({{"TOKEN", ""}}), "TOKEN=another ");
}

TEST_F(SecretsTest, AreSealedOnTheDisk) {
  put(ada, "TOKEN", "hunter2-of-ada");
  EXPECT_EQ(disk().find("hunter2"), std::string::npos);
  EXPECT_NE(disk().find("TOKEN"), std::string::npos);
  struct stat status {};
  ASSERT_EQ(stat(key().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

/// A row that was moved to another user or name is worth nothing there.
TEST_F(SecretsTest, BelongToTheirUserAndName) {
  put(bob, "TOKEN", "hunter2-of-bob");
  const auto sealed = store_->secret(bob.owner.uid, "TOKEN");
  ASSERT_TRUE(sealed && *sealed);
  for (const char* name : {"TOKEN", "OTHER"}) {
    ASSERT_TRUE(store_->commit({SecretPut{{ada.owner.uid, name, {}}, **sealed}}));
    EXPECT_NE(launched({{name, ""}}).find("cannot be opened"), std::string::npos);
  }
}

TEST_F(SecretsTest, ThatAreNotThereAreNamed) {
  put(ada, "TOKEN", "hunter2");
  EXPECT_TRUE(engine_->submit(job({{"TOKEN", ""}}), at_));
  const auto refused = engine_->submit(job({{"TOKEN", ""}, {"NO_SUCH", "x"}}), at_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail,
            "you have no secret 'NO_SUCH': put it first (rsecret put NO_SUCH)");
  EXPECT_FALSE(engine_->submit(job({{"registry/docker.io", ""}}), at_));
}

TEST_F(SecretsTest, ThatWereDeletedMeanwhileAreToldAtTheStart) {
  put(ada, "TOKEN", "hunter2");
  EXPECT_FALSE(engine_->remove_secret(bob, "TOKEN"));
  EXPECT_FALSE(engine_->remove_secret(root, "TOKEN"));
  ASSERT_TRUE(engine_->remove_secret(ada, "TOKEN"));
  commit();
  EXPECT_EQ(names(ada), "");
  EXPECT_EQ(launched({{"TOKEN", ""}}),
            "its secret 'TOKEN' has been deleted since it was submitted");
  EXPECT_FALSE(engine_->remove_secret(ada, "TOKEN"));
}

TEST_F(SecretsTest, AreAtMostSoMany) {
  for (int i = 0; i < 256; ++i)
    ASSERT_TRUE(engine_->put_secret(ada, format("S{}", i), "sealed", at_));
  EXPECT_FALSE(engine_->put_secret(ada, "ONE_MORE", "sealed", at_));
  EXPECT_TRUE(engine_->put_secret(ada, "S7", "sealed", at_));
  EXPECT_TRUE(engine_->put_secret(bob, "S7", "sealed", at_));
  EXPECT_FALSE(engine_->put_secret(bob, "NO-NAME", "sealed", at_));
  EXPECT_FALSE(engine_->put_secret(bob, "registry/A.example", "sealed", at_));
}

TEST_F(SecretsTest, ThatNoVariableCanHoldNeedAFile) {
  put(ada, "BINARY", std::string("a\0b", 3));
  put(ada, "LONG", std::string(128 << 10, 'x'));
  EXPECT_NE(launched({{"BINARY", ""}}).find("NUL"), std::string::npos);
  EXPECT_NE(launched({{"LONG", ""}}).find("too long"), std::string::npos);
  EXPECT_EQ(launched({{"LONG", "file"}}).size(), (128u << 10) + 6);
}

TEST_F(SecretsTest, ALoginGoesWithImagesOfItsRegistry) {
  put(ada, "registry/127.0.0.1:5000", "ada:pass:word");
  EXPECT_EQ(launched({}, "127.0.0.1:5000/team/tool:1"), "as ada/pass:word");
  EXPECT_EQ(launched({}, "127.0.0.1:5001/team/tool:1"), "");
  EXPECT_EQ(launched({}, "tool"), "");
  EXPECT_EQ(launched({}), "");
}

TEST_F(SecretsTest, AKeyThatIsMissingOrAnotherIsSaid) {
  EXPECT_EQ(vault_trouble(*store_, *vault_, engine_->secrets()), "");
  put(ada, "TOKEN", "hunter2");
  EXPECT_EQ(vault_trouble(*store_, *vault_, engine_->secrets()), "");
  std::filesystem::rename(key(), dir_ + "/saved");
  start();
  EXPECT_NE(vault_trouble(*store_, *vault_, engine_->secrets()).find("is missing"),
            std::string::npos);
  EXPECT_NE(launched({{"TOKEN", ""}}).find("is missing"), std::string::npos);
  std::ofstream(key()) << "nonsense\n";
  start();
  EXPECT_NE(launched({{"TOKEN", ""}}).find("is not the key"), std::string::npos);
  // What is there is never overwritten.
  EXPECT_FALSE(vault_->seal(1, "X", "y"));
  std::ofstream(key()) << "rota-secret-key-1 " << std::string(64, 'a') << '\n';
  start();
  EXPECT_NE(launched({{"TOKEN", ""}}).find("was not sealed with"), std::string::npos);
  std::filesystem::rename(dir_ + "/saved", key());
  start();
  EXPECT_EQ(launched({{"TOKEN", ""}}), "TOKEN=hunter2 ");
}

TEST_F(SecretsTest, AreHiddenInTheOutputOfTheirJob) {
  put(ada, "TOKEN", "hunter2-of-ada");
  put(ada, "SHORT", "abc");
  Job job;
  job.id = JobId{3};
  job.owner = ada.owner;
  JobPayload payload;
  payload.secrets = {{"TOKEN", ""}, {"SHORT", ""}, {"GONE", ""}};
  const std::string node_key(32, 'n');
  const auto masks = masks_for(*store_, *vault_, job, payload, node_key);
  ASSERT_TRUE(masks);
  EXPECT_EQ(masks->find("hunter2"), std::string::npos);
  proto::Ticket ticket;
  ticket.job = job.id;
  ticket.masks = *masks;
  const auto list = net::open_masks(ticket, node_key);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->masks.size(), 1u);
  EXPECT_EQ(list->masks.front().start, "hunter2-of-ada");
  EXPECT_EQ(*masks_for(*store_, *vault_, job, {}, node_key), "");
  // What cannot be hidden is not shown.
  std::filesystem::remove(key());
  start();
  EXPECT_FALSE(masks_for(*store_, *vault_, job, payload, node_key));
}

}  // namespace
}  // namespace rota::ctld
