// testsuite/unit/gpud/prolog_test.cpp - the site's programs before and after a run: their order,
// what they hear, and what an rgpud that was killed leaves to the next.
#include "gpud/prolog.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/format.h"

namespace rota::gpud {
namespace {

using namespace std::chrono_literals;

/// A folder with the programs, and what happened, word by word.
struct Place {
  std::string path;
  Place() {
    std::string pattern = "/tmp/rota-prolog.XXXXXX";
    path = ::mkdtemp(pattern.data());
    options.prolog = program("prolog", "echo \"prolog $ROTA_JOB_ID\"");
    options.epilog = program("epilog", "echo \"epilog $ROTA_JOB_EXIT_CODE\"");
    options.limit = 30s;
    options.directory = path + "/spool";
    options.node = "n1";
    options.boot_id = "boot-1";
    launch.run = {JobId{7}, 0, 0};
    launch.spec.project = "vision";
    launch.owner = {1000, 100, "ada"};
    launch.part.gpus = {1, 3};
    launch.gpu_uuids = {"GPU-a", "GPU-b"};
    launch.nodes = {"n1", "n2"};
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  /// What it prints is part of the story.
  std::string program(const std::string& name, const std::string& text) const {
    const std::string file = path + '/' + name;
    std::ofstream(file) << "#!/bin/sh\nexec >>" << path << "/story\n" << text << "\n";
    ::chmod(file.c_str(), 0755);
    return file;
  }
  void add(const std::string& line) const {
    std::ofstream(path + "/story", std::ios::app) << line << "\n";
  }
  std::string story() const {
    std::ifstream file(path + "/story");
    std::string text, line;
    while (std::getline(file, line)) text += (text.empty() ? "" : "; ") + line;
    return text;
  }
  Prologs make() {
    return Prologs(io.get_executor(), options,
                   [this](const std::string& program, const Error& why) {
                     add(format("drained by {}: {}", program.substr(path.size() + 1),
                                why.detail.substr(0, why.detail.find(path))));
                   });
  }
  void before(Prologs& prologs) {
    prologs.before(launch, false, [this](Result<void> result) {
      add(result                                       ? "may start"
          : result.error().code == Errc::launch_failed ? "failed"
                                                       : "not here");
    });
  }
  void after(Prologs& prologs, std::int32_t code) {
    RunEnd end;
    end.exit_code = code;
    prologs.after(launch.run, end, [this] { add("over"); });
  }
  void run() {
    io.restart();
    io.run_for(60s);
  }

  boost::asio::io_context io;
  Prologs::Options options;
  proto::LaunchRun launch;
};

TEST(Prologs, RunBeforeAndAfter) {
  Place place;
  Prologs prologs = place.make();
  place.before(prologs);
  place.run();
  EXPECT_EQ(place.story(), "prolog 7; may start");
  EXPECT_TRUE(prologs.owes_epilog(place.launch.run));
  place.after(prologs, 3);
  place.run();
  EXPECT_EQ(place.story(), "prolog 7; may start; epilog 3; over");
  EXPECT_FALSE(prologs.owes_epilog(place.launch.run));
}

TEST(Prologs, WithoutThemNothingWaits) {
  Place place;
  place.options.prolog = place.options.epilog = "";
  Prologs prologs = place.make();
  place.before(prologs);
  place.after(prologs, 0);
  EXPECT_EQ(place.story(), "may start; over");
  EXPECT_TRUE(prologs.left_over().empty());
}

// A run that never had its prolog has no epilog.
TEST(Prologs, AnEpilogIsOnlyForWhatBegan) {
  Place place;
  Prologs prologs = place.make();
  place.after(prologs, 0);
  EXPECT_EQ(place.story(), "over");
}

TEST(Prologs, AFailureMeansWhatTheSiteSays) {
  using OnFailure = Prologs::OnFailure;
  const auto failing = [](OnFailure prolog, OnFailure epilog) {
    Place place;
    place.options.prolog = place.program("prolog", "exit 1");
    place.options.epilog = place.program("epilog", "exit 1");
    place.options.prolog_failure = prolog;
    place.options.epilog_failure = epilog;
    Prologs prologs = place.make();
    place.before(prologs);
    place.run();
    place.after(prologs, 0);
    place.run();
    return place.story();
  };
  EXPECT_EQ(failing(OnFailure::drain, OnFailure::drain),
            "drained by prolog: prolog of job 7: ; not here; drained by epilog: epilog of job 7: ; "
            "over");
  EXPECT_EQ(failing(OnFailure::requeue, OnFailure::ignore), "not here; over");
  EXPECT_EQ(failing(OnFailure::fail, OnFailure::ignore), "failed; over");
}

// It is ended while its prolog runs: the epilog waits for that.
TEST(Prologs, AnEpilogWaitsForItsProlog) {
  Place place;
  place.options.prolog = place.program("prolog", "sleep 0.3; echo prolog");
  Prologs prologs = place.make();
  place.before(prologs);
  place.after(prologs, 0);
  place.run();
  EXPECT_EQ(place.story(), "prolog; epilog 0; over");
}

// One that is started again while its epilog runs begins after that.
TEST(Prologs, APrologWaitsForTheEpilogBefore) {
  Place place;
  Prologs prologs = place.make();
  place.before(prologs);
  place.run();
  place.after(prologs, 0);
  place.before(prologs);
  place.run();
  EXPECT_EQ(place.story(), "prolog 7; may start; epilog 0; over; prolog 7; may start");
}

TEST(Prologs, WhatAKilledDaemonOwesTheNextOneFinds) {
  Place place;
  {
    Prologs prologs = place.make();
    place.before(prologs);
    place.run();
  }
  Prologs next = place.make();
  EXPECT_EQ(next.left_over(), std::vector{place.launch.run});
  place.after(next, 0);
  place.run();
  EXPECT_EQ(place.story(), "prolog 7; may start; epilog 0; over");
  place.before(next);
  place.run();
  place.options.boot_id = "boot-2";  // the node was restarted
  EXPECT_TRUE(place.make().left_over().empty());
}

TEST(Prologs, AreToldOfTheJob) {
  const Place place;
  std::string ours, slurms;
  for (const std::string& each : prolog_environment(place.launch, "n1", true)) {
    std::string& text = each.starts_with("SLURM") ? slurms : ours;
    text += each + "\n";
  }
  EXPECT_EQ(ours,
            "ROTA_JOB_ID=7\nROTA_JOB_NAME=\nROTA_JOB_UID=1000\nROTA_JOB_GID=100\n"
            "ROTA_JOB_USER=ada\nROTA_JOB_PROJECT=vision\nROTA_JOB_PARTITION=\n"
            "ROTA_JOB_NODELIST=n[1-2]\nROTA_JOB_GPUS=1,3\nROTA_JOB_GPU_UUIDS=GPU-a,GPU-b\n"
            "ROTA_RESTART_COUNT=0\nROTA_NODENAME=n1\nCUDA_VISIBLE_DEVICES=GPU-a,GPU-b\n");
  EXPECT_EQ(slurms,
            "SLURM_JOB_ID=7\nSLURM_JOB_NAME=\nSLURM_JOB_UID=1000\nSLURM_JOB_GID=100\n"
            "SLURM_JOB_USER=ada\nSLURM_JOB_PARTITION=\nSLURM_JOB_NODELIST=n[1-2]\n"
            "SLURM_JOB_GPUS=1,3\nSLURM_RESTART_COUNT=0\nSLURM_JOB_ACCOUNT=vision\n"
            "SLURMD_NODENAME=n1\n");
}

}  // namespace
}  // namespace rota::gpud
