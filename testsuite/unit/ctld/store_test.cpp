// testsuite/unit/ctld/store_test.cpp - the SQLite store: what goes in comes back, or nothing
// happened.
#include "ctld/store/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/format.h"

namespace rota::ctld {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    char pattern[] = "/tmp/rota-store-XXXXXX";
    dir_ = mkdtemp(pattern);
  }
  ~StoreTest() override { std::filesystem::remove_all(dir_); }
  std::string path() const { return dir_ + "/rota.db"; }

  std::string dir_;
};

Job job_of(std::uint64_t id, JobState state) {
  Job job;
  job.id = {id};
  job.state = state;
  job.spec.name = "name";
  job.owner = {1000, 1000, "user"};
  if (!is_final(state)) job.last.edit().placement = {NodePart{NodeId{1}}};
  return job;
}

TEST_F(StoreTest, WhatIsCommittedComesBack) {
  StoredNode node;
  node.id = NodeId{1};
  node.identity.name = "n0";
  node.drain_reason = "cable";
  node.gpu_drains = {{"GPU-1", "hot"}};
  StoredRequest request;
  request.sequence = 5;
  request.uid = 7;
  request.request = {~std::uint64_t{0}, 2};
  request.reply = std::string("a\0b", 3);
  JobPayload payload;
  payload.script = "#!/bin/sh\necho hi\n";
  {
    auto store = *open_sqlite(path());
    ASSERT_TRUE(store->commit({NodePut{node}, JobPut{job_of(1, JobState::running)},
                               PayloadPut{JobId{1}, payload}, RequestPut{request}}));
    HealthEvent event;
    event.node = "n0";
    event.uuid = "GPU-1";
    event.xid = 48;
    event.jobs = {JobId{1}};
    ASSERT_TRUE(store->commit({HealthPut{1, event}, HealthPut{2, event}, HealthPut{3, event}}));
    ASSERT_TRUE(store->commit({HealthDrop{1}}));
  }
  auto store = *open_sqlite(path());
  const auto snapshot = *store->load(10);
  ASSERT_EQ(snapshot.jobs.size(), 1u);
  EXPECT_EQ(snapshot.jobs[0], job_of(1, JobState::running));
  ASSERT_EQ(snapshot.nodes.size(), 1u);
  EXPECT_EQ(snapshot.nodes[0], node);
  ASSERT_EQ(snapshot.health.size(), 2u);
  EXPECT_EQ(snapshot.health[0].serial, 2u);
  EXPECT_EQ(snapshot.health[1].event.xid, 48u);
  EXPECT_EQ(snapshot.health[1].event.jobs, (std::vector<JobId>{JobId{1}}));
  ASSERT_EQ(snapshot.requests.size(), 1u);
  EXPECT_EQ(snapshot.requests[0].request, request.request);
  EXPECT_EQ(snapshot.requests[0].reply, request.reply);
  EXPECT_EQ(snapshot.requests[0].sequence, 5u);
  EXPECT_EQ(**store->payload(JobId{1}), payload);
  EXPECT_EQ(*store->payload(JobId{2}), std::nullopt);
}

TEST_F(StoreTest, TheOrganisationComesBack) {
  Project project;
  project.name = "team-a";
  project.department = "research";
  project.quota.gpu_quota = 2'500'000;
  project.users = {"ada"};
  project.serial = 3;
  Department department;
  department.name = "research";
  Queue queue;
  queue.name = "short";
  const UserDefaults user{"ada", "team-a"};
  {
    auto store = *open_sqlite(path());
    EXPECT_EQ(store->load(10)->org, Org{});
    Project gone = project;
    gone.name = "gone";
    ASSERT_TRUE(store->commit({OrgPut{project}, OrgPut{gone}, OrgPut{department}, OrgPut{queue},
                               OrgPut{user}, OrgRevision{1, 3}}));
    project.quota.rank = 7;
    ASSERT_TRUE(store->commit({OrgPut{project}, OrgDrop{OrgKind::project, "gone"},
                               OrgDrop{OrgKind::queue, "team-a"}, OrgRevision{2, 3}}));
  }
  auto store = *open_sqlite(path());
  const auto snapshot = *store->load(10);
  const Org wanted{{department}, {project}, {queue}, {user}};
  EXPECT_EQ(snapshot.org, wanted);
  EXPECT_EQ(snapshot.org_revision.revision, 2u);
  EXPECT_EQ(snapshot.org_revision.serial_last, 3u);
}

TEST_F(StoreTest, LoadsAllThatLivesAndTheLatestThatEnded) {
  auto store = *open_sqlite(path());
  std::vector<Row> rows;
  for (std::uint64_t id = 1; id <= 20; ++id)
    rows.push_back(JobPut{job_of(id, id % 2 == 0 ? JobState::completed : JobState::pending)});
  ASSERT_TRUE(store->commit(rows));
  const auto snapshot = *store->load(3);
  std::string ids;
  for (const auto& job : snapshot.jobs) ids += std::to_string(job.id.value) + " ";
  EXPECT_EQ(ids, "1 3 5 7 9 11 13 15 16 17 18 19 20 ");
  EXPECT_EQ(snapshot.job_last, JobId{20});
}

TEST_F(StoreTest, AllocationsCloseWithWhatWasHeld) {
  auto store = *open_sqlite(path());
  AllocationPut row;
  row.run = {JobId{1}, 0};
  row.node = NodeId{1};
  row.gpu_uuids = {"a", "b"};
  row.gpu_amount = gpu_unit;  // half of each
  row.start = {1'000'000};
  ASSERT_TRUE(store->commit({row}));
  row.end = {9'000'000};
  row.held_ms = -1;  // placed by a former controller: by the dates
  row.usage = {.sampled_ms = 16'000, .busy_ms = 9'000, .energy_mj = 70, .memory_max_bytes = 5};
  ASSERT_TRUE(store->commit({row}));
  // Read by a second connection, as a report would.
  const std::string command =
      "sqlite3 " + path() +
      " 'SELECT gpu_count, gpu_amount, held_ms, gpu_sampled_ms, gpu_busy_ms, energy_mj,"
      " gpu_memory_max_bytes FROM allocations' 2>/dev/null";
  if (system("command -v sqlite3 >/dev/null") != 0) GTEST_SKIP() << "no sqlite3 program";
  FILE* pipe = popen(command.c_str(), "r");
  char line[100] = "";
  ASSERT_NE(fgets(line, sizeof line, pipe), nullptr);
  pclose(pipe);
  EXPECT_STREQ(line, "2|1000000|8000|16000|9000|70|5\n");
}

TEST_F(StoreTest, ThePastComesBackAsFarAsAskedFor) {
  auto store = *open_sqlite(path());
  const auto run = [](std::uint64_t job, std::int64_t start, std::int64_t end) {
    AllocationPut row;
    row.run = {JobId{job}, 0};
    row.node = NodeId{1};
    row.gpu_amount = static_cast<std::int64_t>(job);
    row.start = {start};
    row.end = {end};
    return row;
  };
  std::vector<Row> rows;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    rows.push_back(JobPut{job_of(id, JobState::completed)});
    rows.push_back(run(id, 100, 0));
  }
  rows.push_back(run(1, 100, 200));
  rows.push_back(run(2, 100, 300));
  rows.push_back(JobPut{job_of(4, JobState::running)});
  AllocationPut background = run(4, 100, 0);
  background.is_charged = false;
  rows.push_back(background);
  ASSERT_TRUE(store->commit(rows));
  std::string text;
  const Snapshot snapshot = *store->load(10, {200});
  for (const PastRun& past : snapshot.past)
    text += format("{} {} {}-{}; ", past.project, past.gpu_amount, past.start.microseconds,
                   past.end.microseconds);
  EXPECT_EQ(text, "default 3 100-0; default 2 100-300; ");
  EXPECT_TRUE(store->load(10)->past.empty());
}

TEST_F(StoreTest, UsageComesBack) {
  {
    auto store = *open_sqlite(path());
    ASSERT_TRUE(store->commit({UsagePut{{"team-a", "ada", 1, {5}}}, UsagePut{{"b", "ada", 2, {6}}},
                               UsagePut{{"team-a", "bob", 3, {7}}}}));
    ASSERT_TRUE(store->commit({UsagePut{{"team-a", "ada", 9, {8}}}, UsageDrop{"b", "ada"}}));
  }
  const auto usage = (*open_sqlite(path()))->load(10)->usage;
  ASSERT_EQ(usage.size(), 2u);
  EXPECT_EQ(usage[0].project, "team-a");
  EXPECT_EQ(usage[0].user, "ada");
  EXPECT_EQ(usage[0].gpu_us, 9);
  EXPECT_EQ(usage[0].at.microseconds, 8);
  EXPECT_EQ(usage[1].user, "bob");
}

TEST_F(StoreTest, RefusesAFileThatIsNoStore) {
  std::ofstream(path()) << std::string(5000, 'x');
  const auto store = open_sqlite(path());
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::store_corrupt);
}

// A store of the first schema: its answers are still known, in the order in which they were given.
TEST_F(StoreTest, BringsAnOlderSchemaForward) {
  if (system("command -v sqlite3 >/dev/null") != 0) GTEST_SKIP() << "no sqlite3 program";
  FILE* pipe = popen(("sqlite3 " + path()).c_str(), "w");
  ASSERT_NE(pipe, nullptr);
  fputs(store_migrations.front(), pipe);
  fputs(
      "INSERT INTO requests VALUES (7, 1, 1, 102, 'second', 200);"
      "INSERT INTO requests VALUES (7, 2, 2, 102, 'first', 100);"
      "PRAGMA user_version=1;",
      pipe);
  ASSERT_EQ(pclose(pipe), 0);
  const auto store = open_sqlite(path());
  ASSERT_TRUE(store) << store.error().message();
  const auto requests = (*store)->load(10)->requests;
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].reply, "first");
  EXPECT_EQ(requests[1].reply, "second");
  EXPECT_EQ(requests[1].sequence, requests[0].sequence + 1);
}

TEST_F(StoreTest, RefusesANewerSchema) {
  { ASSERT_TRUE(open_sqlite(path())); }
  if (system("command -v sqlite3 >/dev/null") != 0) GTEST_SKIP() << "no sqlite3 program";
  ASSERT_EQ(system(("sqlite3 " + path() + " 'PRAGMA user_version=999'").c_str()), 0);
  const auto store = open_sqlite(path());
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().detail.find("newer release"), std::string::npos);
}

TEST_F(StoreTest, ADirectoryThatIsNotThereIsUnavailable) {
  const auto store = open_sqlite(dir_ + "/none/rota.db");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Errc::store_unavailable);
}

}  // namespace
}  // namespace rota::ctld
