// testsuite/unit/ctld/engine_grace_test.cpp - how long a job has to leave its place.
#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"
#include "model/org_yaml.h"

namespace rota::ctld {
namespace {

constexpr std::string_view teams = R"(
departments:
  top: {grace: 70s}
  middle: {parent: top}
  strict: {parent: top, grace: 20s}
projects:
  owner: {quota: 1}
  own: {department: strict, grace: 5s}
  near: {department: strict}
  far: {department: middle}
  plain: {}
)";

/// "SIGNAL GRACE_MS" of the order that ends a borrower's job when the owner of its GPU comes.
std::string end_order(const std::string& project, std::int32_t job_grace = -1,
                      std::int32_t signal = 0) {
  const Now at{{1'000'000'000}, {1'000'000}};
  Engine engine({}, {}, at);
  auto org = org_parse(teams, "p.yaml");
  EXPECT_TRUE(org) << org.error().detail;
  EXPECT_TRUE(engine.apply_org({{0, 0, "root"}, true, {}}, *std::move(org), false, {}));
  NodeJoined joined;
  joined.identity.name = "n0";
  joined.inventory.cpu_count = 16;
  joined.inventory.gpus.emplace_back().uuid = "g0";
  const NodeId node = engine.node_joined(std::move(joined), at);
  const auto submit = [&](const std::string& of) {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = "job";
    event.spec.project = of;
    event.spec.task.gpu_count = 1;
    event.spec.grace_seconds = job_grace;
    event.spec.signal = signal;
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    const auto id = engine.submit(std::move(event), at);
    EXPECT_TRUE(id) << id.error().message();
    return id ? *id : JobId{};
  };
  const JobId lent = submit(project);
  engine.schedule(at);
  engine.run_started(node, {lent, 0}, {5}, at);
  engine.take_effects();
  submit("owner");
  engine.schedule(at);
  for (const NodeOrder& order : engine.take_effects().orders)
    if (const auto* end = std::get_if<proto::EndRun>(&order.message))
      return format("{} {}", end->signal, end->grace_ms);
  return "stays";
}

TEST(Grace, IsTheJobsElseTheProjectsElseTheNearestDepartments) {
  EXPECT_EQ(end_order("own", 3), "0 3000");
  EXPECT_EQ(end_order("own", 0), "0 0");
  EXPECT_EQ(end_order("own"), "0 5000");
  EXPECT_EQ(end_order("near"), "0 20000");
  EXPECT_EQ(end_order("far"), "0 70000");
  EXPECT_EQ(end_order("plain"), "0 -1");  // as the node's configuration says
}

TEST(Grace, ComesWithTheSignalOfTheJob) { EXPECT_EQ(end_order("near", -1, 10), "10 20000"); }

}  // namespace
}  // namespace rota::ctld
