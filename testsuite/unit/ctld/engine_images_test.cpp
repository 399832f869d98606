// testsuite/unit/ctld/engine_images_test.cpp - which image a job's name meant, and how far it is.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

struct Fixture {
  Fixture() : engine({}, {}, at) {}

  NodeId join(const std::string& name, std::vector<proto::RunReport> runs = {}) {
    NodeJoined event;
    event.identity.name = name;
    event.inventory.cpu_count = 16;
    event.runs = std::move(runs);
    return engine.node_joined(std::move(event), at);
  }
  JobId submit(std::uint32_t nodes, std::uint32_t cpus = 1) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.node_count = nodes;
    event.spec.task_count = nodes;
    event.spec.task.cpu_count = cpus;
    event.spec.time_limit_seconds = 600;
    event.spec.image = "torch:2";
    event.payload.mode = LaunchMode::tasks;
    event.payload.working_directory = "/";
    const auto job = engine.submit(std::move(event), at);
    EXPECT_TRUE(job) << job.error().detail;
    return *job;
  }
  /// "1.0 on n0 with -; fetch for 1 on n1 of torch:2": launches, and the image that they are bound
  /// to; and images that are to come.
  std::string launches() {
    engine.schedule(at);
    std::string text;
    for (const NodeOrder& order : engine.take_effects().orders) {
      const std::string& node = engine.nodes().at(order.node).identity.name;
      const std::string between = text.empty() ? "" : "; ";
      if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message))
        text += format("{}{}.{} on {} with {}", between, launch->run.job.value, launch->run.restart,
                       node, launch->image_digest.empty() ? "-" : launch->image_digest);
      if (const auto* fetch = std::get_if<proto::FetchImage>(&order.message))
        text += format("{}fetch for {} on {} of {}{}", between, fetch->job.value, node,
                       fetch->image, fetch->digest.empty() ? "" : " " + fetch->digest);
    }
    return text;
  }
  void started(NodeId node, JobId job, const std::string& digest) {
    const RunId run{job, engine.find(job)->restarts};
    engine.run_image(node, run, digest);
    engine.run_started(node, run, {5}, at);
  }
  void ended(NodeId node, JobId job) {
    engine.run_ended(node, {job, engine.find(job)->restarts}, {.cause = EndCause::cancelled}, {},
                     at);
  }
  std::string state(JobId job) { return std::string(name_of(engine.find(job)->state)); }
  std::string reason(JobId job) { return engine.view(*engine.find(job)).reason; }

  Now at{{1'000'000'000}, {1'000'000}};
  Engine engine;
};

TEST(JobImage, IsOnRecordAndMeantByEveryLaterRun) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit(1);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -");
  f.started(n0, job, "torch@sha256:aa");
  EXPECT_EQ(f.engine.view(*f.engine.find(job)).image_digest, "torch@sha256:aa");
  f.engine.run_ended(n0, {job, 0}, {.cause = EndCause::node_failed}, {}, f.at);
  EXPECT_EQ(f.state(job), "PENDING");
  EXPECT_EQ(f.launches(), "1.1 on n0 with torch@sha256:aa");
}

// A client of somebody's own has none of rsubmit's checks.
TEST(JobImage, WhatNoCommandWouldAskForIsRefusedHere) {
  Fixture f;
  const auto refusal = [&f](auto change) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.image = "torch:2";
    event.payload.mode = LaunchMode::tasks;
    event.payload.working_directory = "/";
    change(event);
    const auto job = f.engine.submit(std::move(event), f.at);
    return job ? "taken" : job.error().detail;
  };
  EXPECT_EQ(refusal([](JobSubmitted&) {}), "taken");
  for (const char* image : {"--privileged", "-v", "a b", "x\n--privileged", "rota-own-kept:0.x"})
    EXPECT_NE(refusal([image](JobSubmitted& e) { e.spec.image = image; }), "taken") << image;
  for (const char* name : {"--privileged", "x --privileged", "x\n", "../x", "a/b", "x:y"})
    EXPECT_NE(refusal([name](JobSubmitted& e) { e.payload.container.name = name; }), "taken")
        << name;
  for (const char* runtime : {"--privileged", "docker --privileged", "sh"})
    EXPECT_NE(refusal([runtime](JobSubmitted& e) { e.payload.container.runtime = runtime; }),
              "taken")
        << runtime;
  using Mount = ContainerMount;
  for (const Mount& mount : {Mount{"relative", "/x", false}, Mount{"/x", "relative", false},
                             Mount{"/x", "/proc/1", false}, Mount{"/x", "/a/../proc", false},
                             Mount{"/x", "/run/.rota/door", false}, Mount{"/x\n", "/y", false}})
    EXPECT_NE(refusal([&mount](JobSubmitted& e) { e.payload.container.mounts = {mount}; }), "taken")
        << mount.source << " " << mount.target;
  EXPECT_NE(refusal([](JobSubmitted& e) { e.payload.container.save = "relative"; }), "taken");
  EXPECT_NE(refusal([](JobSubmitted& e) { e.payload.container.workdir = "--x"; }), "taken");
}

TEST(JobImage, NodesThatSawTwoBeginAnewWithTheFirst) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -");
  f.started(n0, job, "torch@sha256:aa");
  EXPECT_EQ(f.launches(), "1.0 on n1 with torch@sha256:aa");
  f.started(n1, job, "torch@sha256:bb");
  EXPECT_EQ(f.state(job), "COMPLETING");
  f.ended(n0, job);
  f.ended(n1, job);
  EXPECT_EQ(f.state(job), "PENDING");
  f.at.mono = f.at.mono + std::chrono::minutes(1);
  for (const NodeId node : {n0, n1}) f.engine.node_heard(node, {}, f.at);
  f.engine.tick(f.at);
  EXPECT_EQ(f.launches(), "1.1 on n0 with torch@sha256:aa; 1.1 on n1 with torch@sha256:aa");
}

TEST(JobImage, HowFarItIsShowsWhileTheJobStarts) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const JobId job = f.submit(1);
  f.launches();
  EXPECT_TRUE(f.engine.run_progress(n0, {job, 0}, "image 62 %"));
  EXPECT_EQ(f.reason(job), "image 62 %");
  EXPECT_FALSE(f.engine.run_progress(n0, {job, 0}, "image 62 %")) << "no news";
  EXPECT_FALSE(f.engine.run_progress(n0, {job, 7}, "image 63 %")) << "of another run";
  f.started(n0, job, "");
  EXPECT_EQ(f.reason(job), "");
  EXPECT_FALSE(f.engine.run_progress(n0, {job, 0}, "image 99 %")) << "it runs already";
}

TEST(JobImage, OfSeveralNodesOneIsNamed) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.join("n1");
  const JobId job = f.submit(2);
  f.launches();
  EXPECT_TRUE(f.engine.run_progress(n0, {job, 0}, "image\n7 %"));
  EXPECT_EQ(f.reason(job), "n0: image\\n7 %");
}

// The first node says it as soon as it knows, long before its part has started.
TEST(JobImage, OthersStartWithWhatTheFirstNodeFound) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  f.engine.node_images(n1, {});
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -; fetch for 1 on n1 of torch:2")
      << "the second brings it meanwhile";
  f.engine.run_image(n0, {job, 0}, "torch@sha256:aa");
  EXPECT_EQ(f.launches(), "1.0 on n1 with torch@sha256:aa");
  f.started(n0, job, "torch@sha256:aa");
  EXPECT_EQ(f.launches(), "") << "once";
  f.started(n1, job, "torch@sha256:aa");
  EXPECT_EQ(f.state(job), "RUNNING");
}

TEST(JobImage, OthersStartAllTheSameWhereTheFirstNodeHasNothingToSay) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -");
  f.started(n0, job, "");
  EXPECT_EQ(f.launches(), "1.0 on n1 with -");
  f.started(n1, job, "");
  EXPECT_EQ(f.state(job), "RUNNING");
}

// Its start was not heard of, only that it is over.
TEST(JobImage, OthersStartAllTheSameWhereTheFirstNodeIsDone) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  f.join("n1");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -");
  f.engine.run_ended(n0, {job, 0}, {.cause = EndCause::exited}, {}, f.at);
  EXPECT_EQ(f.launches(), "1.0 on n1 with -");
}

TEST(JobImage, OthersEndWithTheFirstNodeThatCouldNotStart) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit(2);
  f.launches();
  f.engine.run_ended(n0, {job, 0},
                     {.cause = EndCause::launch_failed, .detail = "no such image", .by_node = true},
                     {}, f.at);
  EXPECT_EQ(f.state(job), "COMPLETING");
  f.ended(n1, job);
  EXPECT_EQ(f.state(job), "PENDING");
}

// What each of them lost is told again when it joins; nothing of it is only in memory.
TEST(JobImage, WhoIsKilledMeanwhileFindsTheRunAsItWas) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -");
  f.engine.node_left(n1, "away", f.at);
  f.join("n1");
  EXPECT_EQ(f.launches(), "") << "the first has not said it yet";
  f.engine.node_left(n0, "away", f.at);
  f.join("n0");
  EXPECT_EQ(f.launches(), "1.0 on n0 with -") << "it had not heard of it";
  proto::RunReport report;
  report.run = {job, 0};
  f.engine.node_left(n0, "away", f.at);
  f.join("n0", {report});
  EXPECT_EQ(f.launches(), "") << "it is on its way there";
  f.engine.node_left(n1, "away", f.at);
  f.engine.node_left(n0, "away", f.at);
  report.phase = proto::RunPhase::running;
  report.image_digest = "torch@sha256:aa";
  f.join("n0", {report});
  EXPECT_EQ(f.launches(), "");
  f.join("n1");
  EXPECT_EQ(f.launches(), "1.0 on n1 with torch@sha256:aa");
  f.started(n1, job, "torch@sha256:aa");
  EXPECT_EQ(f.state(job), "RUNNING");
}

TEST(JobImage, ComesWhileTheJobWaitsForItsPlace) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  f.engine.node_images(n0, {"jax"});
  f.engine.node_images(n1, {});
  const JobId first = f.submit(2, 16);
  f.launches();
  f.started(n0, first, "torch@sha256:aa");
  EXPECT_EQ(f.launches(), "1.0 on n1 with torch@sha256:aa");
  f.started(n1, first, "torch@sha256:aa");
  f.submit(2, 16);
  EXPECT_EQ(f.launches(), "fetch for 2 on n0 of torch:2; fetch for 2 on n1 of torch:2");
  f.submit(1, 1);
  EXPECT_EQ(f.launches(), "") << "each is told once, however often it is planned";
  f.engine.node_left(n1, "away", f.at);
  f.join("n1", {{.run = {first, 0}, .phase = proto::RunPhase::running}});
  EXPECT_EQ(f.launches(), "") << "it has not said that it can";
  f.engine.node_images(n1, {});
  f.submit(1, 1);
  EXPECT_EQ(f.launches(), "fetch for 2 on n1 of torch:2") << "a new session may be a new rgpud";
  for (const NodeId node : {n0, n1})
    f.engine.run_ended(node, {first, 0}, {.cause = EndCause::exited}, {}, f.at);
  EXPECT_EQ(f.launches(),
            "2.0 on n0 with -; fetch for 2 on n1 of torch:2; fetch for 3 on n0 of torch:2")
      << "the second starts, and the third has a place in time now";
}

TEST(JobImage, GoesToTheNodeThatHasIt) {
  Fixture f;
  f.join("n0");
  const NodeId n1 = f.join("n1");
  f.engine.node_images(n1, {"torch:2", std::string(1000, 'x')});
  f.submit(1);
  EXPECT_EQ(f.launches(), "1.0 on n1 with -");
  f.join("n2");
  f.engine.node_left(n1, "away", f.at);
  f.join("n1", {{.run = {JobId{1}, 0}}});
  f.submit(1, 16);
  EXPECT_EQ(f.launches(), "2.0 on n0 with -") << "what it had is not known any more";
}

}  // namespace
}  // namespace rota::ctld
