// testsuite/unit/common/names_test.cpp - names from files that say so, and from getent for the
// rest.
#include "common/names.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/format.h"
#include "common/names_getent.h"

namespace rota {
namespace {

/// A system of our own: its files, and a getent that prints what it is told and notes what it was
/// asked.
class Names : public testing::Test {
 protected:
  Names() {
    std::string pattern = testing::TempDir() + "names.XXXXXX";
    dir_ = mkdtemp(pattern.data());
    sources_ = {path("nsswitch"), path("passwd"), path("hosts"), path("getent")};
    write("passwd",
          "root:x:0:0:root:/root:/bin/bash\n"
          "+nis::::::\n"
          "rota:x:990:990::/:/bin/false\n"
          "77:x:1077:100::/:/bin/sh\n"
          "short:x\n");
    write("hosts",
          "127.0.0.1 localhost\n"
          "# 10.0.0.9 head9\n"
          "10.0.0.1\thead1.example head1  # the controller\n"
          "fd00::1 HEAD1\n"
          "\n"
          "10.0.0.2");
    getent_says("exit 2");
  }
  ~Names() override { std::filesystem::remove_all(dir_); }

  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
  }
  void getent_says(const std::string& script) {
    write("getent", format("#!/bin/sh\necho \"$@\" >>'{}'\n{}\n", path("asked"), script));
    chmod(sources_.getent.c_str(), 0755);
  }
  std::string asked() const {
    std::ifstream file(path("asked"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string uid_of(const std::string& user) const {
    const auto uid = sources_.uid_of(user);
    return !uid ? uid.error().message() : *uid ? format("{}", **uid) : "nobody";
  }
  std::string user_of(std::uint32_t uid) const {
    const auto user = sources_.user_of(uid);
    return !user ? user.error().message() : user->value_or("nobody");
  }
  std::string addresses_of(const std::string& host) const {
    const auto found = sources_.addresses_of(host);
    if (!found) return found.error().message();
    std::string all;
    for (const auto& address : *found) all += (all.empty() ? "" : " ") + address;
    return all;
  }

  std::string dir_;
  NameSources sources_;
};

TEST_F(Names, StandInTheFiles) {
  EXPECT_EQ(uid_of("rota"), "990");
  EXPECT_EQ(user_of(990), "rota");
  EXPECT_EQ(uid_of("77"), "1077");
  EXPECT_EQ(addresses_of("head1"), "10.0.0.1 fd00::1");
  EXPECT_EQ(addresses_of("HEAD1.Example"), "10.0.0.1");
  EXPECT_EQ(asked(), "") << "no process is started for what the files have";
}

TEST_F(Names, ThatTheFilesDoNotHaveAreAskedFor) {
  getent_says(
      "case $2 in passwd) echo ada:x:4711:100::/:/bin/sh ;; "
      "ahosts) echo '10.1.0.1 STREAM head9'; echo '10.1.0.1 DGRAM'; "
      "echo 'fd00::9 STREAM'; echo 'fd00::9 RAW' ;; esac");
  EXPECT_EQ(uid_of("ada"), "4711");
  EXPECT_EQ(user_of(4711), "ada");
  EXPECT_EQ(addresses_of("head9"), "10.1.0.1 fd00::9");
  EXPECT_EQ(asked(), "-- passwd ada\n-- passwd 4711\n-- ahosts head9\n");
}

TEST_F(Names, ThatNobodyKnows) {
  EXPECT_EQ(uid_of("nis"), "nobody");
  EXPECT_EQ(uid_of("+nis"), "nobody");
  EXPECT_EQ(uid_of("short"), "nobody");
  EXPECT_EQ(user_of(1), "nobody");
  EXPECT_EQ(addresses_of("10.0.0.2"),
            "cannot connect: name '10.0.0.2': nobody knows an address of it");
}

// getent takes a key of digits for a number: the user with that number is not the one of that name.
TEST_F(Names, OfDigitsAreNotNumbers) {
  getent_says("echo ada:x:4711:100::/:/bin/sh");
  EXPECT_EQ(uid_of("4711"), "nobody");
}

TEST_F(Names, FollowTheOrderOfNsswitch) {
  write("nsswitch", "# comment\npasswd:  sss files\nhosts: dns files\n");
  getent_says("case $2 in passwd) echo rota:x:1:1::/: ;; ahosts) echo '10.9.9.9 STREAM' ;; esac");
  EXPECT_EQ(uid_of("rota"), "1");
  EXPECT_EQ(addresses_of("head1"), "10.9.9.9");
  write("nsswitch", " passwd:\tfiles sss\n");
  EXPECT_EQ(uid_of("rota"), "990");
}

TEST_F(Names, SayWhyTheyCannotBeLookedUp) {
  getent_says("exit 3");
  EXPECT_EQ(uid_of("ada"),
            format("input/output error: {} passwd ada failed (status 768)", sources_.getent));
  std::filesystem::remove(sources_.getent);
  EXPECT_EQ(addresses_of("head9"),
            format("input/output error: names are looked up by {}, which cannot be run: "
                   "No such file or directory",
                   sources_.getent));
}

// The system's own: whatever it is, root is 0 and this host has itself.
TEST(SystemNames, AreThoseOfThisHost) {
  EXPECT_EQ(**uid_of_user("root"), 0u);
  EXPECT_EQ(**user_of_uid(0), "root");
  EXPECT_FALSE(addresses_of_host("localhost")->empty());
}

}  // namespace
}  // namespace rota
