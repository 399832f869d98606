// testsuite/unit/gpud/spool_test.cpp - records on disk: who holds them, what is found of them.
#include "gpud/spool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rota::gpud {
namespace {

namespace fs = std::filesystem;

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() {
    char name[] = "/tmp/rota-spool-XXXXXX";
    directory = ::mkdtemp(name);
  }
  ~SpoolTest() override { fs::remove_all(directory); }

  Spool open(const std::string& below = "spool") {
    auto spool = Spool::open(directory + "/" + below);
    EXPECT_TRUE(spool) << spool.error().message();
    return *std::move(spool);
  }
  static StepOrder order(std::uint64_t job) {
    StepOrder order;
    order.launch.run = {JobId{job}, 0};
    return order;
  }

  std::string directory;
};

TEST_F(SpoolTest, MakesItsDirectoriesWithTheirModes) {
  open("a/b/spool");
  const auto mode = [this](const char* name) {
    struct stat status {};
    ::stat((directory + "/a/b/spool" + name).c_str(), &status);
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode(""), 0711u);
  EXPECT_EQ(mode("/runs"), 0700u);
  EXPECT_EQ(mode("/scripts"), 0711u);
}

TEST_F(SpoolTest, IsForOneRgpudOnly) {
  const Spool first = open();
  const auto second = Spool::open(directory + "/spool");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(),
            "input/output error: " + directory + "/spool is in use by another rgpud");
}

TEST_F(SpoolTest, RefusesARelativePath) {
  const auto spool = Spool::open("spool");
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().message(),
            "invalid configuration: node.spool_dir 'spool' is not an absolute path");
}

TEST_F(SpoolTest, ARunLivesWhileItsRecordIsHeld) {
  Spool spool = open();
  auto record = spool.create(order(7));
  ASSERT_TRUE(record);
  EXPECT_TRUE(spool.is_alive({JobId{7}, 0}));
  EXPECT_TRUE(spool.look({JobId{7}, 0}).is_alive);
  record->reset();
  EXPECT_FALSE(spool.is_alive({JobId{7}, 0}));
  const Spool::Found found = spool.look({JobId{7}, 0});
  EXPECT_FALSE(found.is_alive);
  EXPECT_EQ(found.trouble, "");
  ASSERT_TRUE(found.record.order);
  EXPECT_EQ(found.record.order->launch.run, (RunId{JobId{7}, 0}));
}

TEST_F(SpoolTest, ARunIsRecordedOnce) {
  Spool spool = open();
  ASSERT_TRUE(spool.create(order(7)));
  const auto again = spool.create(order(7));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().detail,
            "cannot make the record " + directory + "/spool/runs/7.0: File exists");
}

TEST_F(SpoolTest, FindsRunsInOrderAndNamesDamage) {
  Spool spool = open();
  const auto held = spool.create(order(10));
  ASSERT_TRUE(spool.create(order(9)));
  const std::string runs = directory + "/spool/runs/";
  fs::copy(runs + "9.0", runs + "11.0");
  std::ofstream(runs + "12.0") << "garbage";
  std::ofstream(runs + "13.0") << "";
  std::ofstream(runs + "notes.txt") << "not a run";
  fs::create_directory(runs + "14.0");
  std::string text;
  for (const Spool::Found& found : spool.scan())
    text += run_name(found.run) + (found.is_alive ? " alive " : " dead ") + found.trouble + "\n";
  EXPECT_EQ(text,
            "9.0 dead \n"
            "10.0 alive \n"
            "11.0 dead " +
                runs +
                "11.0 is the record of another run\n"
                "12.0 dead " +
                runs +
                "12.0 has no complete order\n"
                "13.0 dead " +
                runs +
                "13.0 has no complete order\n"
                "14.0 dead cannot read " +
                runs + "14.0: read: Is a directory\n");
}

TEST_F(SpoolTest, RemovesTheRecordAndTheScript) {
  Spool spool = open();
  ASSERT_TRUE(spool.create(order(7)));
  const std::string script = spool.scripts_directory() + "/7.0";
  std::ofstream(script) << "#!/bin/sh\n";
  spool.remove({JobId{7}, 0});
  EXPECT_FALSE(fs::exists(script));
  EXPECT_TRUE(spool.scan().empty());
}

TEST_F(SpoolTest, AScriptWithoutARecordIsRemovedAtTheStart) {
  {
    Spool spool = open();
    ASSERT_TRUE(spool.create(order(7)));
    for (const char* name : {"7.0", "8.0"})
      std::ofstream(spool.scripts_directory() + "/" + name) << "#!/bin/sh\n";
  }
  const Spool spool = open();
  EXPECT_TRUE(fs::exists(spool.scripts_directory() + "/7.0"));
  EXPECT_FALSE(fs::exists(spool.scripts_directory() + "/8.0"));
}

TEST_F(SpoolTest, HasAnIdOfItsOwn) {
  const Spool one = open("one");
  const Spool two = open("two");
  EXPECT_EQ(one.id().size(), 8u);
  EXPECT_NE(one.id(), two.id());
  EXPECT_EQ(one.id(), one.id());
}

}  // namespace
}  // namespace rota::gpud
