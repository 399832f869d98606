// testsuite/unit/gpud/logins_test.cpp - who may use an image that came with a login.
#include "gpud/container/logins.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

constexpr auto docker = ContainerKind::docker;

class LoginsTest : public ::testing::Test {
 protected:
  LoginsTest() {
    char name[] = "/tmp/rota-logins-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/logins";
  }
  ~LoginsTest() override {
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  std::string directory_, path_;
};

TEST_F(LoginsTest, AnImageThatCameWithoutOneIsForAll) {
  ImageLogins logins(path_);
  ASSERT_TRUE(logins.pulled(docker, "tool", "sha256:1", std::nullopt));
  EXPECT_FALSE(logins.is_private(docker, "sha256:1"));
  EXPECT_TRUE(logins.may_use(docker, "sha256:1", std::nullopt));
  EXPECT_TRUE(logins.may_use(docker, "sha256:1", 1000));
}

TEST_F(LoginsTest, OneThatCameWithALoginIsForThatUser) {
  {
    ImageLogins logins(path_);
    ASSERT_TRUE(logins.begin_pull(docker, "tool"));
    ASSERT_TRUE(logins.pulled(docker, "tool", "sha256:1", 1000));
  }
  ImageLogins logins(path_);  // as after a restart
  EXPECT_TRUE(logins.left_over(docker).empty());
  EXPECT_TRUE(logins.may_use(docker, "sha256:1", 1000));
  EXPECT_FALSE(logins.may_use(docker, "sha256:1", 1001));
  EXPECT_FALSE(logins.may_use(docker, "sha256:1", std::nullopt));
  EXPECT_TRUE(logins.may_use(ContainerKind::podman, "sha256:1", 1001));
  ASSERT_TRUE(logins.pulled(docker, "tool", "sha256:1", 1001));
  EXPECT_TRUE(logins.may_use(docker, "sha256:1", 1001));
  ASSERT_TRUE(logins.pulled(docker, "tool", "sha256:1", std::nullopt));
  EXPECT_TRUE(logins.may_use(docker, "sha256:1", 1002));
}

TEST_F(LoginsTest, APullThatWasCutOffIsNobodys) {
  { ASSERT_TRUE(ImageLogins(path_).begin_pull(docker, "tool")); }
  ImageLogins logins(path_);
  EXPECT_EQ(logins.left_over(docker), std::vector<std::string>{"tool"});
  logins.settle(docker, "tool", "sha256:1");
  EXPECT_TRUE(logins.left_over(docker).empty());
  EXPECT_FALSE(logins.may_use(docker, "sha256:1", 1000));
  EXPECT_TRUE(ImageLogins(path_).is_private(docker, "sha256:1"));
}

TEST_F(LoginsTest, APullThatFailedLeavesNothing) {
  ImageLogins logins(path_);
  ASSERT_TRUE(logins.begin_pull(docker, "tool"));
  logins.end_pull(docker, "tool");
  EXPECT_TRUE(ImageLogins(path_).left_over(docker).empty());
}

TEST_F(LoginsTest, AFileThatMeansNothingIsNoHarm) {
  std::ofstream(path_) << "image\n\nimage x y 3\nnonsense 1 2\nimage 1 sha256:1 7 x\n";
  ImageLogins logins(path_);
  EXPECT_TRUE(logins.may_use(docker, "sha256:1", 7));
  EXPECT_FALSE(logins.may_use(docker, "sha256:1", 8));
}

TEST(Login, AsTheEnginesWantIt) {
  const proto::RegistryLogin login{"ada", "pa:ss"};
  EXPECT_EQ(docker_login_header({}, "x"), "");
  EXPECT_EQ(docker_login_header(login, "127.0.0.1:5/t"),
            "X-Registry-Auth: eyJ1c2VybmFtZSI6ImFkYSIsInBhc3N3b3JkIjoicGE6c3MiLCJzZXJ2ZXJhZGRyZXNz"
            "IjoiMTI3LjAuMC4xOjUifQ==\r\n");
  EXPECT_EQ(podman_login_file(login, "127.0.0.1:5/t"),
            R"({"auths":{"127.0.0.1:5":{"auth":"YWRhOnBhOnNz"}}})");
}

}  // namespace
}  // namespace rota::gpud
