// testsuite/unit/common/version_test.cpp - the version is a version.
#include "common/version.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace rota {
namespace {

TEST(Version, IsThreeNumbers) {
  EXPECT_TRUE(std::regex_match(std::string(version()), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+.*")))
      << version();
}

}  // namespace
}  // namespace rota
