// testsuite/unit/ctld/engine_line_test.cpp - jobs that are held, depend on others, wait for dates,
// are put back, suspended, changed, or stand for many.
#include <gtest/gtest.h>

#include <functional>

#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

using proto::JobVerb;
using std::chrono::seconds;

/// A cluster of one node with 4 GPUs, a disk, and all jobs as text.
class Cluster {
 public:
  Cluster() { start({}); }

  void start(Snapshot snapshot) {
    engine = std::make_unique<Engine>(EngineSettings{}, std::move(snapshot), now);
    NodeJoined event;
    event.identity.name = "n0";
    event.identity.boot_id = "b1";
    event.inventory.cpu_count = 64;
    for (int i = 0; i < 4; ++i) {
      Gpu gpu;
      gpu.uuid = format("gpu{}", i);
      event.inventory.gpus.push_back(gpu);
    }
    for (const auto& [id, job] : jobs) {
      if (job.last->placement.empty()) continue;
      proto::RunReport report;
      report.run = job.run(job.last->placement.front());
      report.phase = proto::RunPhase::running;
      report.start_time = {5};
      event.runs.push_back(report);
    }
    node = engine->node_joined(std::move(event), now);
    settle();
  }
  /// As after kill -9: all that is known is on the disk.
  void restart() {
    Snapshot snapshot;
    for (const auto& [id, job] : jobs) {
      const bool task_of_live = job.array->of && !is_final(jobs.at(job.array->of).state);
      if (is_final(job.state) && task_of_live)
        snapshot.ended_tasks.push_back({job.array->of, job.array->index, job.state,
                                        job.last->end ? job.last->end->exit_code : 0});
      else
        snapshot.jobs.push_back(job);
      snapshot.job_last = id;
    }
    snapshot.nodes = nodes;
    start(std::move(snapshot));
  }

  std::string submit(const std::function<void(JobSpec&)>& change, const std::string& name = "job") {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec.name = name;
    event.spec.task.gpu_count = 1;
    change(event.spec);
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    const auto id = engine->submit(std::move(event), now);
    settle();
    return id ? format("{}", id->value) : id.error().message();
  }
  std::string submit(const std::string& dependency = "", const std::string& name = "job") {
    return submit(
        [&](JobSpec& spec) {
          if (!dependency.empty()) spec.rules.edit().dependencies = *dependencies_parse(dependency);
        },
        name);
  }
  std::string submit_array(
      const std::string& tasks, const std::function<void(JobRules&)>& change = [](JobRules&) {}) {
    return submit([&](JobSpec& spec) {
      spec.rules.edit().array = *array_parse(tasks);
      change(spec.rules.edit());
    });
  }
  /// Plans, keeps the rows, and lets what was launched run.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      engine->schedule(now);
      Effects effects = engine->take_effects();
      for (const Row& row : effects.rows) {
        if (const auto* put = std::get_if<JobPut>(&row))
          jobs.insert_or_assign(put->job.id, put->job);
        if (const auto* put = std::get_if<NodePut>(&row)) nodes = {put->node};
      }
      for (const Notice& notice : effects.notices)
        told += format("{}:{} ", notice.job.id.value, mail_events_text(notice.event));
      bool launched = false;
      for (const NodeOrder& order : effects.orders) {
        if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message)) {
          engine->run_started(node, launch->run, now.wall, now);
          launched = true;
        }
        if (const auto* end = std::get_if<proto::EndRun>(&order.message)) {
          graces += format("{}:{} ", end->run.job.value, end->grace_ms);
          if (ends_obediently)
            engine->run_ended(node, end->run, {.cause = EndCause::cancelled}, {}, now);
          launched = true;
        }
        if (const auto* limit = std::get_if<proto::LimitRun>(&order.message))
          limits += format("{}:{} ", limit->run.job.value, limit->time_limit_seconds);
      }
      if (!launched) return;
    }
  }
  void end(std::uint64_t job, int code = 0) {
    const Job& ending = *engine->find(JobId{job});
    RunEnd end;
    end.exit_code = code;
    engine->run_ended(node, ending.run(ending.last->placement.front()), end, {}, now);
    settle();
  }
  void pass(std::int64_t count) {
    now.mono = now.mono + seconds(count);
    now.wall.microseconds += count * 1'000'000;
    engine->node_heard(node, {}, now);
    engine->tick(now);
    settle();
  }
  std::string change(JobVerb verb, const std::string& job, const std::string& setting = "",
                     std::uint32_t uid = 1000, bool is_admin = false) {
    proto::JobChangeRequest request;
    request.verb = verb;
    request.filter.jobs.push_back(JobId{std::stoull(job)});
    if (const auto equals = setting.find('='); equals != std::string::npos)
      request.settings.push_back({setting.substr(0, equals), {setting.substr(equals + 1)}});
    const Caller caller{{uid, uid, uid == 1000 ? "ada" : "bob"}, is_admin, {}};
    const auto reply = engine->change(caller, request, now);
    settle();
    if (!reply) return reply.error().detail;
    return reply->refused.empty() ? "" : reply->refused.front().detail;
  }
  void cancel(JobFilter filter) {
    (void)engine->cancel({{1000, 1000, "ada"}, false, {}}, filter, 0, now);
    settle();
  }
  void cancel(std::uint64_t job) {
    JobFilter filter;
    filter.jobs.push_back(JobId{job});
    cancel(filter);
  }
  /// "1 RUNNING, 2 PENDING Dependency".
  std::string all() const {
    std::string text;
    for (const auto& [id, job] : engine->jobs()) {
      const JobView view = engine->view(job);
      if (!text.empty()) text += ", ";
      text += format("{} {}", id_text(view), name_of(view.state));
      if (view.wait != WaitReason::none) text += format(" {}", name_of(view.wait));
    }
    return text;
  }
  std::string reason(std::uint64_t job) const {
    return engine->view(*engine->find(JobId{job})).reason;
  }

  Now now{{1'000'000'000}, {1'000'000'000}};
  std::unique_ptr<Engine> engine;
  NodeId node;
  std::map<JobId, Job> jobs;
  std::vector<StoredNode> nodes;
  std::string told, limits, graces;
  bool ends_obediently = true;
};

TEST(EngineLine, AHeldJobWaitsForItsRelease) {
  Cluster c;
  c.submit([](JobSpec& spec) { spec.rules.edit().held = true; });
  EXPECT_EQ(c.all(), "1 PENDING JobHeldUser");
  c.restart();
  EXPECT_EQ(c.all(), "1 PENDING JobHeldUser");
  EXPECT_EQ(c.change(JobVerb::release, "1", "", 1001), "it belongs to ada");
  EXPECT_EQ(c.change(JobVerb::release, "1"), "");
  EXPECT_EQ(c.all(), "1 RUNNING");
  EXPECT_EQ(c.change(JobVerb::hold, "1"), "it is RUNNING; only a job that waits can be held");
}

TEST(EngineLine, WhatAnAdministratorHoldsOnlyOneReleases) {
  Cluster c;
  c.submit([](JobSpec& spec) { spec.task.gpu_count = 4; });
  c.submit();
  EXPECT_EQ(c.change(JobVerb::hold, "2", "", 1001, true), "");
  EXPECT_EQ(c.change(JobVerb::release, "2"), "an administrator holds it");
  c.end(1);
  EXPECT_EQ(c.all(), "1 COMPLETED, 2 PENDING JobHeldAdmin");
  EXPECT_EQ(c.change(JobVerb::release, "2", "", 1001, true), "");
  EXPECT_EQ(c.all(), "1 COMPLETED, 2 RUNNING");
}

TEST(EngineLine, DependenciesAreMetOrNever) {
  Cluster c;
  c.submit();
  c.submit("afterok:1");
  c.submit("afternotok:1");
  c.submit("afterany:1");
  c.submit("after:1+2");
  EXPECT_EQ(c.all(),
            "1 RUNNING, 2 PENDING Dependency, 3 PENDING Dependency, 4 PENDING Dependency, "
            "5 PENDING BeginTime");
  EXPECT_EQ(c.reason(2), "waits for afterok:1");
  c.restart();
  c.end(1);
  EXPECT_EQ(c.all(),
            "1 COMPLETED, 2 RUNNING, 3 PENDING DependencyNeverSatisfied, 4 RUNNING, "
            "5 PENDING BeginTime");
  c.pass(119);
  EXPECT_EQ(c.engine->find(JobId{5})->state, JobState::pending);
  c.pass(1);
  EXPECT_EQ(c.all(),
            "1 COMPLETED, 2 RUNNING, 3 PENDING DependencyNeverSatisfied, 4 RUNNING, 5 RUNNING");
}

TEST(EngineLine, AllOfThemOrAnyOfThem) {
  Cluster c;
  c.submit();
  c.submit();
  c.submit("afterok:1,afterok:2");
  c.submit("afterok:1?afterok:2");
  c.end(1, 3);
  EXPECT_EQ(c.all(),
            "1 FAILED, 2 RUNNING, 3 PENDING DependencyNeverSatisfied, 4 PENDING Dependency");
  c.end(2);
  EXPECT_EQ(c.all(), "1 FAILED, 2 COMPLETED, 3 PENDING DependencyNeverSatisfied, 4 RUNNING");
}

// What was met is taken off, so that it still counts when nobody remembers the other job.
TEST(EngineLine, WhatIsMetIsForgotten) {
  Cluster c;
  c.submit();
  c.submit();
  c.submit("afterok:1,afterok:2");
  c.end(1);
  EXPECT_EQ(c.reason(3), "waits for afterok:2");
  c.jobs.erase(JobId{1});
  c.restart();
  c.end(2);
  EXPECT_EQ(c.all(), "2 COMPLETED, 3 RUNNING");
}

TEST(EngineLine, InVainItIsCancelledWhereWished) {
  Cluster c;
  c.submit();
  c.submit([](JobSpec& spec) {
    spec.rules.edit().dependencies = *dependencies_parse("afterok:1");
    spec.rules.edit().kill_on_invalid_dependency = true;
    spec.rules.edit().mail_events = mail_invalid_depend | mail_end;
  });
  c.end(1, 1);
  EXPECT_EQ(c.all(), "1 FAILED, 2 CANCELLED");
  EXPECT_EQ(c.reason(2), "afterok:1 can no longer come true");
  EXPECT_EQ(c.told, "2:INVALID_DEPEND 2:END ");
}

TEST(EngineLine, ADependencyNamesWhatIsThere) {
  Cluster c;
  EXPECT_EQ(c.submit("afterok:9"), "no such job: --dependency afterok:9: job 9 is not on record");
  c.submit();
  EXPECT_EQ(c.submit("afterok:1_2"), "invalid job: --dependency afterok:1_2: job 1 is no array");
}

TEST(EngineLine, SingletonsOfOneNameFollowEachOther) {
  Cluster c;
  c.submit("", "sweep");
  c.submit("singleton", "sweep");
  c.submit("singleton", "sweep");
  c.submit("singleton", "other");
  EXPECT_EQ(c.all(), "1 RUNNING, 2 PENDING Dependency, 3 PENDING Dependency, 4 RUNNING");
  c.restart();
  c.end(1, 1);
  EXPECT_EQ(c.all(), "1 FAILED, 2 RUNNING, 3 PENDING Dependency, 4 RUNNING");
  c.cancel(2);
  EXPECT_EQ(c.all(), "1 FAILED, 2 CANCELLED, 3 RUNNING, 4 RUNNING");
}

TEST(EngineLine, DatesToBeginAndToBeOver) {
  Cluster c;
  c.submit([&](JobSpec& spec) {
    spec.rules.edit().begin = {c.now.wall.microseconds + 60'000'000};
    spec.rules.edit().deadline = {c.now.wall.microseconds + 90'000'000};
  });
  c.submit([&](JobSpec& spec) {
    spec.task.gpu_count = 4;
    spec.rules.edit().begin = {c.now.wall.microseconds + 60'000'000};
    spec.rules.edit().deadline = {c.now.wall.microseconds + 70'000'000};
  });
  EXPECT_EQ(c.all(), "1 PENDING BeginTime, 2 PENDING BeginTime");
  c.pass(60);
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::running);
  c.restart();
  c.pass(10);
  EXPECT_EQ(c.all(), "1 RUNNING, 2 DEADLINE");
  c.pass(20);
  EXPECT_EQ(c.all(), "1 DEADLINE, 2 DEADLINE");
  EXPECT_EQ(c.reason(1), "it was not over by its deadline, 1970-01-01T00:18:10Z");
}

TEST(EngineLine, OwnersHearWhatTheyAskedToHear) {
  Cluster c;
  c.submit([](JobSpec& spec) {
    spec.time_limit_seconds = 100;
    spec.rules.edit().mail_events = mail_begin | mail_time_limit_50 | mail_time_limit_90 | mail_end;
  });
  EXPECT_EQ(c.told, "1:BEGIN ");
  c.pass(49);
  EXPECT_EQ(c.told, "1:BEGIN ");
  c.pass(1);
  EXPECT_EQ(c.told, "1:BEGIN 1:TIME_LIMIT_50 ");
  c.change(JobVerb::update, "1", "time=200", 1001, true);  // minutes
  c.pass(45);
  c.end(1);
  EXPECT_EQ(c.told, "1:BEGIN 1:TIME_LIMIT_50 1:END ");
}

TEST(EngineLine, AFailingJobIsTriedAgainAsOftenAsItSays) {
  Cluster c;
  c.submit([](JobSpec& spec) { spec.rules.edit().retries = 2; });
  c.end(1, 1);
  EXPECT_EQ(c.all(), "1 RUNNING");
  c.end(1, 1);
  EXPECT_EQ(c.all(), "1 RUNNING");
  c.end(1, 1);
  EXPECT_EQ(c.all(), "1 FAILED");
  EXPECT_EQ(c.engine->find(JobId{1})->restarts, 2u);
}

TEST(EngineLine, PutBackSuspendedAndResumed) {
  Cluster c;
  c.submit();
  EXPECT_EQ(c.change(JobVerb::requeue, "1"), "");
  EXPECT_EQ(c.all(), "1 RUNNING");
  EXPECT_EQ(c.engine->find(JobId{1})->restarts, 1u);
  EXPECT_EQ(c.engine->find(JobId{1})->preemptions, 0u);
  EXPECT_EQ(c.change(JobVerb::suspend, "1"), "");
  EXPECT_EQ(c.all(), "1 SUSPENDED");
  EXPECT_EQ(c.reason(1), "suspended by ada");
  c.submit([](JobSpec& spec) { spec.task.gpu_count = 4; });
  EXPECT_EQ(c.all(), "1 SUSPENDED, 2 RUNNING");
  c.restart();
  EXPECT_EQ(c.all(), "1 SUSPENDED, 2 RUNNING");
  EXPECT_EQ(c.change(JobVerb::resume, "1"), "");
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::pending);
  EXPECT_EQ(c.change(JobVerb::suspend, "1"), "");
  EXPECT_EQ(c.all(), "1 SUSPENDED, 2 RUNNING");
  c.cancel(1);
  EXPECT_EQ(c.all(), "1 CANCELLED, 2 RUNNING");
}

TEST(EngineLine, WhatIsUpdatedHoldsAtOnce) {
  Cluster c;
  c.submit([](JobSpec& spec) {
    spec.task.gpu_count = 4;
    spec.time_limit_seconds = 600;
  });
  c.submit();
  EXPECT_EQ(c.change(JobVerb::update, "1", "time=20m"),
            "only an administrator may give a job that runs a longer time limit");
  EXPECT_EQ(c.change(JobVerb::update, "1", "time=5m"), "");
  EXPECT_EQ(c.change(JobVerb::update, "1", "time=20m", 1001, true), "");
  EXPECT_EQ(c.limits, "1:300 1:1200 ");
  EXPECT_EQ(c.change(JobVerb::update, "2", "dependency=afterok:2"), "it cannot wait for itself");
  EXPECT_EQ(c.change(JobVerb::update, "2", "dependency=afterok:1"), "");
  EXPECT_EQ(c.all(), "1 RUNNING, 2 PENDING Dependency");
  c.end(1);
  EXPECT_EQ(c.all(), "1 COMPLETED, 2 RUNNING");
  EXPECT_EQ(c.change(JobVerb::update, "2", "nice=-3"),
            "nice can be changed only while the job waits");
}

// A node that was away when the limit changed hears it when it comes back.
TEST(EngineLine, AChangedLimitReachesANodeThatWasAway) {
  Cluster c;
  c.submit([](JobSpec& spec) { spec.time_limit_seconds = 600; });
  c.engine->node_left(c.node, "gone", c.now);
  c.change(JobVerb::update, "1", "time=5m");
  EXPECT_EQ(c.limits, "");
  c.restart();
  EXPECT_EQ(c.limits, "1:300 ");
}

// It makes way, says that it has saved its work, and need not wait for the end of its grace.
TEST(EngineLine, WhoHasSavedItsWorkMakesWayAtOnce) {
  Cluster c;
  c.submit([](JobSpec& spec) { spec.grace_seconds = 600; });
  EXPECT_FALSE(c.engine->saved({{1000, 1000, "ada"}, false, {}}, JobId{1}, c.now)->makes_way);
  EXPECT_EQ(c.engine->view(*c.engine->find(JobId{1})).saved, c.now.wall);
  c.ends_obediently = false;
  c.change(JobVerb::requeue, "1");
  EXPECT_EQ(c.graces, "1:600000 ");
  c.ends_obediently = true;
  EXPECT_TRUE(c.engine->saved({{1000, 1000, "ada"}, false, {}}, JobId{1}, c.now)->makes_way);
  c.settle();
  EXPECT_EQ(c.graces, "1:600000 1:0 ");
  EXPECT_EQ(c.all(), "1 RUNNING");
  EXPECT_EQ(c.engine->find(JobId{1})->restarts, 1u);
  EXPECT_FALSE(c.engine->saved({{1001, 1001, "bob"}, false, {}}, JobId{1}, c.now));
}

TEST(EngineArrays, TasksStartOneByOneAndTheArrayEndsWithThem) {
  Cluster c;
  EXPECT_EQ(c.submit_array("0-5"), "1");
  EXPECT_EQ(c.engine->jobs().size(), 5u);  // itself, and the four that run
  EXPECT_EQ(c.all(),
            "1_[4-5] PENDING Resources, 1_0 RUNNING, 1_1 RUNNING, 1_2 RUNNING, 1_3 RUNNING");
  c.restart();
  EXPECT_EQ(c.all(),
            "1_[4-5] PENDING Resources, 1_0 RUNNING, 1_1 RUNNING, 1_2 RUNNING, 1_3 RUNNING");
  for (const std::uint32_t index : {0, 1, 2, 3}) c.end(c.engine->task_of(JobId{1}, index)->value);
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::running);
  c.restart();
  c.end(c.engine->task_of(JobId{1}, 4)->value);
  c.end(c.engine->task_of(JobId{1}, 5)->value, 7);
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::failed);
  EXPECT_EQ(c.reason(1), "5 of its 6 tasks ended well");
  EXPECT_EQ(c.engine->view(*c.engine->find(JobId{1})).exit_code, 7);
  EXPECT_EQ(c.engine->live_count(), 0u);
  EXPECT_EQ(c.engine->waiting_count(), 0u);
}

// One record, whatever its size.
TEST(EngineArrays, AHundredThousandTasksAreOneRecord) {
  Cluster c;
  c.submit([](JobSpec& spec) { spec.task.gpu_count = 4; });
  c.submit_array("0-99999");
  EXPECT_EQ(c.engine->jobs().size(), 2u);
  EXPECT_EQ(c.all(), "1 RUNNING, 2_[0-99999] PENDING Resources");
}

TEST(EngineArrays, NotMoreAtATimeThanItSays) {
  Cluster c;
  c.submit_array("1-9:4%2");
  EXPECT_EQ(c.all(), "1_[9%2] PENDING JobArrayTaskLimit, 1_1 RUNNING, 1_5 RUNNING");
  EXPECT_EQ(c.change(JobVerb::update, "1", "array-parallel=3"), "");
  EXPECT_EQ(c.all(), "1 RUNNING, 1_1 RUNNING, 1_5 RUNNING, 1_9 RUNNING");
}

TEST(EngineArrays, SomeOfItIsCancelledOrAll) {
  Cluster c;
  c.submit_array("0-9%1");
  JobFilter filter;
  filter.tasks.push_back({JobId{1}, *IndexSet::parse("0,2-8")});
  c.cancel(filter);
  EXPECT_EQ(c.all(), "1_[9%1] PENDING JobArrayTaskLimit, 1_0 CANCELLED, 1_1 RUNNING");
  c.restart();
  EXPECT_EQ(c.engine->find(JobId{1})->array->cancelled.text(), "2-8");
  c.cancel(1);
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::cancelled);
  EXPECT_EQ(c.engine->live_count(), 0u);
}

TEST(EngineArrays, OverWhenEnoughEndedWell) {
  Cluster c;
  c.submit_array("0-9", [](JobRules& rules) { rules.array.successes_max = 2; });
  c.end(c.engine->task_of(JobId{1}, 1)->value);
  c.end(c.engine->task_of(JobId{1}, 0)->value, 1);
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::pending);
  c.end(c.engine->task_of(JobId{1}, 3)->value);
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::completed);
  EXPECT_EQ(c.engine->live_count(), 0u);
}

TEST(EngineArrays, TaskByTaskAfterAnother) {
  Cluster c;
  c.submit_array("0-2");
  c.submit([](JobSpec& spec) {
    spec.rules.edit().array = *array_parse("0-2");
    spec.rules.edit().dependencies = *dependencies_parse("aftercorr:1");
  });
  const auto second = [&c] {
    for (const auto& [id, job] : c.engine->jobs())
      if (job.spec.is_array() && id != JobId{1}) return id;
    return JobId{};
  }();
  EXPECT_EQ(c.engine->view(*c.engine->find(second)).waiting.text(), "0-2");
  c.end(c.engine->task_of(JobId{1}, 1)->value);
  EXPECT_TRUE(c.engine->task_of(second, 1));
  EXPECT_FALSE(c.engine->task_of(second, 0));
  c.end(c.engine->task_of(JobId{1}, 0)->value, 1);
  c.end(c.engine->task_of(JobId{1}, 2)->value);
  EXPECT_TRUE(c.engine->task_of(second, 2));
  EXPECT_FALSE(c.engine->task_of(second, 0));
  EXPECT_EQ(c.engine->find(second)->array->cancelled.text(), "0");
}

TEST(EngineArrays, OthersWaitForTheWholeOrForOneTask) {
  Cluster c;
  c.submit_array("0-1");
  const std::string whole = c.submit("afterok:1");
  const std::string one = c.submit("afterok:1_1");
  c.end(c.engine->task_of(JobId{1}, 1)->value);
  EXPECT_EQ(c.engine->find(JobId{std::stoull(one)})->state, JobState::running);
  EXPECT_EQ(c.engine->find(JobId{std::stoull(whole)})->state, JobState::pending);
  c.end(c.engine->task_of(JobId{1}, 0)->value);
  EXPECT_EQ(c.engine->find(JobId{std::stoull(whole)})->state, JobState::running);
}

TEST(EngineArrays, HeldAndSuspendedAsAWhole) {
  Cluster c;
  c.submit_array("0-9%1", [](JobRules& rules) { rules.held = true; });
  EXPECT_EQ(c.all(), "1_[0-9%1] PENDING JobHeldUser");
  c.change(JobVerb::release, "1");
  EXPECT_EQ(c.all(), "1_[1-9%1] PENDING JobArrayTaskLimit, 1_0 RUNNING");
  c.change(JobVerb::suspend, "1");
  EXPECT_EQ(c.all(), "1_[1-9%1] SUSPENDED, 1_0 SUSPENDED");
  c.change(JobVerb::resume, "1");
  c.settle();
  EXPECT_EQ(c.engine->find(JobId{1})->state, JobState::pending);
}

// A task that was put back keeps its number, and its place among those that may live.
TEST(EngineArrays, ATaskThatFailsIsTriedAgainAsItself) {
  Cluster c;
  c.submit_array("0-9%1", [](JobRules& rules) { rules.retries = 1; });
  const JobId task = *c.engine->task_of(JobId{1}, 0);
  c.end(task.value, 1);
  EXPECT_EQ(c.engine->task_of(JobId{1}, 0), task);
  EXPECT_EQ(c.engine->find(task)->state, JobState::running);
  c.end(task.value, 1);
  EXPECT_TRUE(c.engine->task_of(JobId{1}, 1));
}

}  // namespace
}  // namespace rota::ctld
