// testsuite/unit/gpud/container_files_test.cpp - enroot's words, images of our own, git's words and
// complaints.
#include <gtest/gtest.h>

#include "common/format.h"
#include "gpud/container/engine.h"
#include "gpud/container/enroot_start.h"
#include "gpud/container/inside.h"
#include "gpud/launch/fetch.h"

namespace rota::gpud {
namespace {

TEST(Enroot, AMountIsOneWord) {
  EXPECT_EQ(enroot_mount({"/data", "/mnt", false}),
            "/data:/mnt:none:x-create=auto,rbind,nosuid,rw");
  EXPECT_EQ(enroot_mount({"/a b\\c", "/x", true}),
            "/a\\040b\\134c:/x:none:x-create=auto,rbind,nosuid,ro");
  EXPECT_EQ(enroot_mount({"/a:b", "/x", false}), "");
  EXPECT_EQ(enroot_mount({"/a", "/x\ny", false}), "");
}

TEST(Enroot, TheImagesScriptSaysWhereItRuns) {
  EXPECT_EQ(
      enroot_workdir("mkdir -p \"/w d\" 2> /dev/null\ncd \"/w d\" && unset OLDPWD || exit 1\n"),
      "/w d");
  EXPECT_EQ(enroot_workdir("exec \"$@\"\n"), "");
  EXPECT_EQ(enroot_workdir("x\ncd \"/never ends\n\""), "");
}

TEST(Enroot, ItsVariablesStandAboveTheSubmittersAndBelowThoseAskedFor) {
  StepOrder order;
  order.launch.payload.environment = {"LANG=C", "ASKED=job", "ROTA_JOB_ID=1"};
  order.container.weak_names = {"LANG"};
  order.tasks.resize(1);
  order.tasks[0].environment = {"ROTA_PROCID=0"};
  adopt_variables({"LANG=de", "ASKED=image", "ROTA_JOB_ID=2", "ROTA_PROCID=9", "NEW=yes", "PWD=/",
                   "NVIDIA_VISIBLE_DEVICES=all", "nonsense"},
                  order);
  EXPECT_EQ(format("{}", fmt::join(order.launch.payload.environment, " ")),
            "ASKED=job ROTA_JOB_ID=1 LANG=de NEW=yes");
}

TEST(OwnImages, AreFoundInTheListsOfBothEngines) {
  const auto names = [](std::string_view json) {
    std::string all;
    for (const OwnImage& image : own_images(json))
      all += format("{} {};", image.name, image.created);
    return all;
  };
  EXPECT_EQ(names(R"([{"RepoTags":["rota-own-kept:7.a","x:1"],"Created":5},{"RepoTags":null}])"),
            "rota-own-kept:7.a 5;");
  EXPECT_EQ(names(R"([{"Names":["localhost/rota-own-file:rota-n.1.0"],"Created":6}])"),
            "localhost/rota-own-file:rota-n.1.0 6;");
  EXPECT_EQ(names("nonsense"), "");
}

TEST(OwnImages, AreToldByTheirNameOrTheirLabel) {
  const auto is_own = [](std::string_view tags, std::string_view labels) {
    return image_facts(
               format(R"([{{"Id":"ab","RepoTags":{},"Config":{{"Labels":{}}}}}])", tags, labels),
               "ab")
        ->is_own;
  };
  EXPECT_FALSE(is_own(R"(["x:1"])", "null"));
  EXPECT_FALSE(is_own("null", R"({"rota.run":"1.0"})"));
  EXPECT_TRUE(is_own(R"(["x:1","localhost/rota-own-kept:7.a"])", "null"));
  EXPECT_TRUE(is_own(R"(["rota-own-file:rota-n.1.0"])", "{}"));
  EXPECT_TRUE(is_own("[]", R"({"rota.own":"7"})")) << "another has its name now";
}

TEST(OwnImages, OneThatLostItsNameGoes) {
  constexpr std::string_view list =
      R"([{"Id":"sha256:aa","RepoTags":["<none>:<none>"],"Labels":{"rota.own":"7"},"Created":1},
          {"Id":"bb","Labels":{"rota.own":"7"}},{"Id":"cc","RepoTags":[]},
          {"Id":"dd","RepoTags":["y:1"],"Labels":{"rota.own":"7"}}])";
  EXPECT_EQ(format("{}", fmt::join(unwanted_images(own_images(list), "n", 5,
                                                   [](const std::string&) { return true; }),
                                   " ")),
            "sha256:aa sha256:bb");
  EXPECT_EQ(format("{}", fmt::join(image_ids(list), " ")),
            "sha256:aa sha256:bb sha256:cc sha256:dd");
}

TEST(Registry, OnlyAnAddressOfThisHostIsAskedWithoutTls) {
  for (const char* name : {"localhost:5000/a", "127.0.0.1:5000/a:1", "127.4.5.6/a@sha256:1"})
    EXPECT_TRUE(is_on_loopback(name)) << name;
  for (const char* name : {"127.evil.org/a", "127.0.0.1.evil.org:5000/a", "localhost.evil.org:1/a",
                           "127.0.0.1", "localhost/a", "128.0.0.1/a", "127.1/a", "a/127.0.0.1/b"})
    EXPECT_FALSE(is_on_loopback(name)) << name;
}

TEST(OwnImages, TheOldestOfAUserAndThoseOfNoRunGo) {
  const std::vector<OwnImage> images = {
      {"rota-own-kept:7.old", 1},         {"rota-own-kept:7.new", 3},
      {"rota-own-kept:7.middle", 2},      {"rota-own-kept:8.other", 1},
      {"rota-own-file:rota-n.1.0", 1},    {"rota-own-file:rota-n.2.0", 1},
      {"rota-own-file:rota-else.1.0", 1},
  };
  const auto is_wanted = [](const std::string& name) { return name == "rota-n.2.0"; };
  EXPECT_EQ(format("{}", fmt::join(unwanted_images(images, "n", 2, is_wanted), " ")),
            "rota-own-kept:7.old rota-own-file:rota-n.1.0");
}

TEST(OwnImages, OfTheSameSecondTheJobThatCameFirstGoes) {
  const auto list = [](std::string_view first, std::string_view second) {
    return format(
        R"([{{"RepoTags":["rota-own-kept:7.{0}"],"Labels":{{"rota.run":"{0}.0"}},"Created":5}},
            {{"RepoTags":["rota-own-kept:7.{1}"],"Labels":{{"rota.run":"{1}.0"}},"Created":5}}])",
        first, second);
  };
  for (const std::string& json : {list("9", "10"), list("10", "9")})
    EXPECT_EQ(unwanted_images(own_images(json), "n", 1, [](const std::string&) { return true; }),
              std::vector<std::string>{"rota-own-kept:7.9"});
}

TEST(Mounts, ALineOfTheKernelsSaysWhereAndWhat) {
  const MountLine line = mount_line("36 35 98:0 /a /b\\040c rw,noatime master:1 - ext4 /dev/x rw");
  EXPECT_EQ(line.point, "/b c");
  EXPECT_EQ(line.type, "ext4");
  EXPECT_EQ(mount_line("nonsense").point, "");
}

TEST(Git, ItsWordsHoldTheUrlBehindTheOptions) {
  const GitSource plain{"https://host/x", "", "/src"};
  const GitSource branch{"https://host/x", "main", "/src"};
  EXPECT_EQ(format("{}", fmt::join(git_clone(plain, "/d"), " ")),
            "git clone --quiet -- https://host/x /d");
  EXPECT_EQ(format("{}", fmt::join(git_clone(branch, "/d"), " ")),
            "git clone --quiet --no-checkout -- https://host/x /d");
  EXPECT_EQ(format("{}", fmt::join(git_checkout(branch, "/d"), " ")),
            "git -c advice.detachedHead=false -C /d checkout --quiet main --");
}

TEST(Git, ItsComplaintIsTheLineThatSaysIt) {
  EXPECT_EQ(
      git_complaint("Cloning into 'x'...\nfatal: no such host\n\nPlease make sure\nexists.\n"),
      "fatal: no such host");
  EXPECT_EQ(git_complaint("cannot run git: No such file or directory"),
            "cannot run git: No such file or directory");
  EXPECT_EQ(git_complaint(""), "it did not say why");
}

}  // namespace
}  // namespace rota::gpud
