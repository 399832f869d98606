// testsuite/unit/ctld/engine_images_test.cpp - which image a job's name meant, and how far it is.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

struct Fixture {
  Fixture() : engine({}, {}, at) {}

  NodeId join(const std::string& name) {
    NodeJoined event;
    event.identity.name = name;
    event.inventory.cpu_count = 16;
    return engine.node_joined(std::move(event), at);
  }
  JobId submit(std::uint32_t nodes) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.node_count = nodes;
    event.spec.task_count = nodes;
    event.spec.image = "torch:2";
    event.payload.mode = LaunchMode::tasks;
    event.payload.working_directory = "/";
    const auto job = engine.submit(std::move(event), at);
    EXPECT_TRUE(job) << job.error().detail;
    return *job;
  }
  /// "1.0 on n0 with -": launches, and the image that they are bound to.
  std::string launches() {
    engine.schedule(at);
    std::string text;
    for (const NodeOrder& order : engine.take_effects().orders)
      if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message))
        text += format("{}{}.{} on {} with {}", text.empty() ? "" : "; ", launch->run.job.value,
                       launch->run.restart, engine.nodes().at(order.node).identity.name,
                       launch->image_digest.empty() ? "-" : launch->image_digest);
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

TEST(JobImage, NodesThatSawTwoBeginAnewWithTheFirst) {
  Fixture f;
  const NodeId n0 = f.join("n0");
  const NodeId n1 = f.join("n1");
  const JobId job = f.submit(2);
  EXPECT_EQ(f.launches(), "1.0 on n0 with -; 1.0 on n1 with -");
  f.started(n0, job, "torch@sha256:aa");
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

}  // namespace
}  // namespace rota::ctld
