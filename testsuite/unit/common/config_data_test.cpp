// testsuite/unit/common/config_data_test.cpp - the section of rota.yaml that names volumes.
#include "common/config_data.h"

#include <gtest/gtest.h>

#include "common/format.h"

namespace rota {
namespace {

/// "name path target ro projects; ...", or what is wrong.
std::string data_of(const std::string& text) {
  const auto config = config_parse(text, "f");
  if (!config) return config.error().detail;
  std::string all;
  for (const DataVolume& volume : config->data)
    all += format("{} {} {}{} [{}];", volume.name, volume.path, volume.target,
                  volume.read_only ? " ro" : "", fmt::join(volume.projects, " "));
  return all;
}

TEST(ConfigData, NamesDirectories) {
  EXPECT_EQ(data_of("data:\n  b: {path: /x}\n  a:\n    path: /y\n    target: /z\n"
                    "    read_only: true\n    projects: [p, q]\n"),
            "a /y /z ro [p q];b /x /x [];");
}

TEST(ConfigData, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(data_of("data:\n  a: {target: /x}\n"),
            "f:2:6: data.a has no path; write 'path: /lustre/a' below it");
  EXPECT_EQ(data_of("data:\n  a: {path: x}\n"), "f:2:13: data.a.path takes an absolute path");
  EXPECT_EQ(data_of("data:\n  a: {path: /x, readonly: true}\n"),
            "f:2:17: unknown key 'readonly' of data.a; did you mean 'read_only'?");
  EXPECT_EQ(data_of("data:\n  a: {path: /x, read_only: maybe}\n"),
            "f:2:28: data.a.read_only is true or false");
  EXPECT_EQ(data_of("data:\n  a: /x\n"),
            "f:2:6: data.a takes keys below it, each indented on a line of its own: path, target, "
            "read_only, projects");
  EXPECT_NE(data_of("data:\n  a/b: {path: /x}\n").find("f:2:3:"), std::string::npos);
}

TEST(ConfigData, AVolumeIsForItsProjects) {
  const auto config =
      config_parse("data:\n  all: {path: /x}\n  own: {path: /y, projects: [p]}\n", "f");
  ASSERT_TRUE(config);
  EXPECT_NE(data_volume(config->data, "all", "q"), nullptr);
  EXPECT_NE(data_volume(config->data, "own", "p"), nullptr);
  EXPECT_EQ(data_volume(config->data, "own", "q"), nullptr);
  EXPECT_EQ(data_volume(config->data, "nosuch", "p"), nullptr);
  EXPECT_EQ(data_volumes_of(config->data, "q"), std::vector<std::string_view>{"all"});
}

}  // namespace
}  // namespace rota
