// testsuite/unit/model/secret_test.cpp - names of secrets, their places, and registries in images.
#include "model/secret.h"

#include <gtest/gtest.h>

#include "model/mask_list.h"

namespace rota {
namespace {

TEST(SecretName, IsThatOfAVariable) {
  for (const char* name : {"TOKEN", "_x", "a1", "HF_TOKEN"})
    EXPECT_TRUE(validate_secret_name(name));
  EXPECT_TRUE(validate_secret_name(std::string(128, 'a')));
  for (const char* name : {"", "1a", "a-b", "a b", "a=b", "registry/ghcr.io", "a/b", "ROTA_JOB_ID",
                           "SLURM_X", "CUDA_VISIBLE_DEVICES", "NVIDIA_X", "\xc3\xa4"})
    EXPECT_FALSE(validate_secret_name(name)) << name;
  EXPECT_FALSE(validate_secret_name(std::string(129, 'a')));
}

TEST(SecretUse, IsAVariableOrAFile) {
  EXPECT_EQ(*secret_use_parse("TOKEN"), (SecretUse{"TOKEN", ""}));
  EXPECT_EQ(*secret_use_parse("KEY:/etc/key"), (SecretUse{"KEY", "/etc/key"}));
  EXPECT_EQ(*secret_use_parse("KEY:key.pem"), (SecretUse{"KEY", "key.pem"}));
  for (const char* text : {"", ":x", "KEY:", "KEY:a/b", "KEY:..", "KEY:/etc/", "registry/x", "A B"})
    EXPECT_FALSE(secret_use_parse(text)) << text;
}

TEST(SecretUse, IsAskedForOnce) {
  EXPECT_TRUE(validate_secrets({{"A", ""}, {"B", ""}, {"A", "a"}}, false));
  EXPECT_FALSE(validate_secrets({{"A", ""}, {"A", ""}}, false));
  EXPECT_FALSE(validate_secrets({{"A", "x"}, {"B", "x"}}, false));
  EXPECT_FALSE(validate_secrets(std::vector<SecretUse>(33, SecretUse{"A", ""}), true));
}

TEST(SecretUse, LiesAnywhereOnlyInAnImage) {
  EXPECT_TRUE(validate_secrets({{"A", "/etc/a"}}, true));
  const auto refused = validate_secrets({{"A", "/etc/a"}}, false);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("$ROTA_SECRETS_DIR"), std::string::npos);
}

TEST(Registry, OfAnImage) {
  EXPECT_EQ(registry_of("torch"), "docker.io");
  EXPECT_EQ(registry_of("team/torch:2"), "docker.io");
  EXPECT_EQ(registry_of("docker.io/library/torch"), "docker.io");
  EXPECT_EQ(registry_of("index.docker.io/team/torch"), "docker.io");
  EXPECT_EQ(registry_of("GHCR.io/team/torch@sha256:00"), "ghcr.io");
  EXPECT_EQ(registry_of("localhost/torch"), "localhost");
  EXPECT_EQ(registry_of("127.0.0.1:5000/team/torch:2"), "127.0.0.1:5000");
}

TEST(Registry, AsPeopleWriteIt) {
  EXPECT_EQ(*registry_parse("https://GHCR.io/"), "ghcr.io");
  EXPECT_EQ(*registry_parse("localhost:5000"), "localhost:5000");
  for (const char* text : {"", "-x", "a b", "ghcr.io/team", "a\nb"})
    EXPECT_FALSE(registry_parse(text)) << text;
  EXPECT_EQ(login_secret("ghcr.io"), "registry/ghcr.io");
  EXPECT_TRUE(is_login_secret("registry/ghcr.io"));
  EXPECT_FALSE(is_login_secret("TOKEN"));
}

TEST(MaskList, HasTheLinesOfASecret) {
  MaskList list;
  list.add("short\n  a longer line \r\n\na longer line\n" + std::string(100, 'x'));
  ASSERT_EQ(list.masks.size(), 2u);
  EXPECT_EQ(list.masks[0], (Mask{"a longer line", 13}));
  EXPECT_EQ(list.masks[1], (Mask{std::string(32, 'x'), 100}));
  EXPECT_TRUE(list.fits());
  for (int i = 0; i < 5000; ++i) list.add("line number " + std::to_string(i));
  EXPECT_FALSE(list.fits());
}

}  // namespace
}  // namespace rota
