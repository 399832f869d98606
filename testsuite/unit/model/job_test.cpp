// testsuite/unit/model/job_test.cpp - the words of a job's states, what a job may ask, who is
// meant.
#include "model/job.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "common/format.h"

namespace rota {
namespace {

const std::vector<JobState> all_states{
    JobState::pending,   JobState::starting,      JobState::running,      JobState::completing,
    JobState::completed, JobState::failed,        JobState::cancelled,    JobState::timeout,
    JobState::node_fail, JobState::out_of_memory, JobState::launch_failed};

TEST(JobState, HasTheWordsThatScriptsMatchOn) {
  std::string words;
  for (const JobState state : all_states)
    words += std::string(name_of(state)) + "=" + std::string(code_of(state)) + " ";
  EXPECT_EQ(words,
            "PENDING=PD STARTING=CF RUNNING=R COMPLETING=CG COMPLETED=CD FAILED=F CANCELLED=CA "
            "TIMEOUT=TO NODE_FAIL=NF OUT_OF_MEMORY=OOM LAUNCH_FAILED=LF ");
}

// They are on the wire and in the store.
TEST(JobState, NumbersNeverChange) {
  std::string numbers;
  for (const JobState state : all_states) numbers += std::to_string(static_cast<int>(state)) + " ";
  EXPECT_EQ(numbers, "1 2 3 4 10 11 12 13 14 15 16 ");
  EXPECT_EQ(static_cast<int>(JobKind::train), 1);
  EXPECT_EQ(static_cast<int>(JobKind::interactive), 2);
  EXPECT_EQ(static_cast<int>(JobKind::inference), 3);
}

TEST(JobState, IsReadFromEitherWordInAnyCase) {
  for (const JobState state : all_states) {
    EXPECT_EQ(job_state_from(name_of(state)), state);
    EXPECT_EQ(job_state_from(code_of(state)), state);
  }
  EXPECT_EQ(job_state_from("running"), JobState::running);
  EXPECT_EQ(job_state_from("oom"), JobState::out_of_memory);
  for (const char* none : {"", "RUN", "RUNNINGG", "R ", "UNKNOWN"})
    EXPECT_FALSE(job_state_from(none)) << none;
}

TEST(JobState, FirstFourAreNotFinal) {
  std::string finals;
  for (const JobState state : all_states) finals += is_final(state) ? 'f' : '-';
  EXPECT_EQ(finals, "----fffffff");
}

TEST(JobState, AnUnknownNumberHasAWordToo) {
  EXPECT_EQ(name_of(static_cast<JobState>(99)), "UNKNOWN");
  EXPECT_EQ(code_of(static_cast<JobState>(99)), "?");
  EXPECT_EQ(name_of(static_cast<JobKind>(99)), "unknown");
}

TEST(JobKind, HasThreeWords) {
  for (const JobKind kind : {JobKind::train, JobKind::interactive, JobKind::inference})
    EXPECT_EQ(job_kind_from(name_of(kind)), kind);
  EXPECT_EQ(job_kind_from("TRAIN"), JobKind::train);
  EXPECT_FALSE(job_kind_from("batch"));
}

TEST(WaitReason, HasSlurmsWords) {
  EXPECT_EQ(name_of(WaitReason::none), "None");
  EXPECT_EQ(name_of(WaitReason::resources), "Resources");
  EXPECT_EQ(name_of(WaitReason::priority), "Priority");
  EXPECT_EQ(name_of(WaitReason::node_down), "ReqNodeNotAvail");
}

TEST(Priority, IsANumberOrAName) {
  std::string numbers;
  for (const char* name :
       {"very-low", "low", "medium-low", "medium", "medium-high", "high", "Very-High", "7"})
    numbers += std::to_string(priority_from(name).value_or(-1)) + " ";
  EXPECT_EQ(numbers, "25 40 65 80 90 125 150 7 ");
  for (const char* none : {"", "0", "-1", "1000001", "highest", "5x"})
    EXPECT_FALSE(priority_from(none)) << none;
}

TEST(Priority, IsTheKindsByDefault) {
  JobSpec spec;
  EXPECT_EQ(spec.priority_or_kinds(), 50);
  EXPECT_TRUE(spec.is_preemptible());
  spec.kind = JobKind::interactive;
  EXPECT_EQ(spec.priority_or_kinds(), 100);
  EXPECT_FALSE(spec.is_preemptible());
  spec.preemptibility = Preemptibility::yes;
  EXPECT_EQ(spec.priority_or_kinds(), 75);
  EXPECT_TRUE(spec.is_preemptible());
  spec.kind = JobKind::inference;
  EXPECT_EQ(spec.priority_or_kinds(), 125);
  spec.priority = 40;
  EXPECT_EQ(spec.priority_or_kinds(), 40);
  spec.kind = JobKind::train;
  spec.preemptibility = Preemptibility::no;
  EXPECT_FALSE(spec.is_preemptible());
}

TEST(JobSpec, CountsTheGpusOfTheWholeJob) {
  JobSpec spec;
  spec.task_count = 3;
  spec.task.gpu_count = 2;
  EXPECT_EQ(spec.gpu_devices(), 6u);
  spec.node.gpu_count = 4;
  EXPECT_EQ(spec.gpu_devices(), 10u);  // on one node, when the number is open
  spec.node_count = 2;
  EXPECT_EQ(spec.gpu_devices(), 14u);
}

/// What validate() says of a good spec after `change`.
std::string spec_after(const std::function<void(JobSpec&)>& change) {
  JobSpec spec;
  spec.name = "train";
  spec.task_count = 4;
  change(spec);
  const auto valid = validate(spec);
  return valid ? "good" : valid.error().message();
}

TEST(ValidateSpec, TakesWhatCouldRun) {
  EXPECT_EQ(spec_after([](JobSpec&) {}), "good");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node_count = 4; }), "good");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.task.gpu_count = 1024; }), "good");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.name = std::string(256, 'x'); }), "good");
}

TEST(ValidateSpec, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(spec_after([](JobSpec& s) { s.name = ""; }), "invalid job: the job's name is empty");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.name = std::string(257, 'x'); }),
            "invalid job: the job's name has 257 bytes, at most 256 are allowed");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.name = "a\nb"; }),
            "invalid job: the job's name has a control character at byte 2");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.project = "a\n"; }),
            "invalid job: the project has a control character at byte 2");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.kind = static_cast<JobKind>(9); }),
            "invalid job: the kind is none of train, interactive, inference");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.queue = "a\x7f"; }),
            "invalid job: the queue has a control character at byte 2");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.priority = -1; }),
            "invalid job: the priority is -1, it must be 1 to 1000000, or 0 for its kind's");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.preemptibility = static_cast<Preemptibility>(4); }),
            "invalid job: whether it may be preempted is none of by kind, yes, no, semi");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.preemptibility = Preemptibility::semi; }),
            "invalid job: semi-preemptible is a job that can do with fewer nodes: ask for a "
            "range, such as -N 4-8");
  EXPECT_EQ(spec_after([](JobSpec& s) {
              s.background = true;
              s.preemptibility = Preemptibility::no;
            }),
            "invalid job: a job in the background gives way to all others: it is of kind train and "
            "preemptible");
  EXPECT_EQ(spec_after([](JobSpec& s) {
              s.rules.edit().exclusive = true;
              s.task = {.gpu_count = 1, .gpu_share = 500'000};
            }),
            "invalid job: a job that has its nodes to itself gets whole GPUs: ask for whole ones, "
            "or leave out --exclusive");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.task_count = 0; }),
            "invalid job: the number of tasks is 0, it must be 1 to 1000000");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node_count = 5; }),
            "invalid job: 5 nodes for 4 tasks: every node needs at least one task");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node_count = 100'001; }),
            "invalid job: the number of nodes is 100001, it must be 0 to 100000");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node_count_max = 5; }),
            "invalid job: an elastic job says how many nodes it needs at least: 1 or more");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node_count = s.node_count_max = 4; }),
            "invalid job: the largest number of nodes is 4, it must be 5 to 100000");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node_count = 3, s.node_count_max = 4; }),
            "invalid job: an elastic job has the same number of tasks on every node; 4 tasks do "
            "not divide into 3 nodes");
  EXPECT_EQ(spec_after(
                [](JobSpec& s) { s.node_count = 1, s.task_count = 20, s.node_count_max = 60'000; }),
            "invalid job: 60000 nodes with 20 tasks each are 1200000 tasks, at most 1000000 are "
            "allowed");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.task.gpu_count = 1025; }),
            "invalid job: GPUs per task is 1025, it must be 0 to 1024");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node.gpu_count = 1025; }),
            "invalid job: GPUs per node is 1025, it must be 0 to 1024");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.task.cpu_count = 0; }),
            "invalid job: CPUs per task is 0, it must be 1 to 65536");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.time_limit_seconds = -1; }),
            "invalid job: the time limit is -1 s, it must be 0 to 315360000");
}

// A DGX has 2 TiB: one task may ask for all of it.
TEST(ValidateSpec, ATaskMayAskForTheMemoryOfALargeNode) {
  EXPECT_EQ(spec_after([](JobSpec& s) { s.task.memory_bytes = std::uint64_t{2} << 40; }), "good");
  EXPECT_EQ(spec_after([](JobSpec& s) { s.node.memory_bytes = std::uint64_t{2} << 40; }), "good");
}

// A million tasks of the largest size still add up in 64 bits.
TEST(ValidateSpec, MemorySumsCannotOverflow) {
  JobSpec spec;
  spec.name = "x";
  spec.task_count = JobBounds::task_count_max;
  std::uint64_t largest = 0;
  for (int bit = 0; bit < 64; ++bit) {
    spec.task.memory_bytes = std::uint64_t{1} << bit;
    if (validate(spec)) largest = spec.task.memory_bytes;
  }
  EXPECT_GE(largest, std::uint64_t{1} << 30);
  EXPECT_LT(largest, UINT64_MAX / JobBounds::task_count_max);
  EXPECT_NE(spec_after([](JobSpec& s) { s.node.memory_bytes = UINT64_MAX; }), "good");
}

/// What validate() says of a good payload after `change`.
std::string payload_after(const std::function<void(JobPayload&)>& change) {
  JobPayload payload;
  payload.script = "#!/bin/sh\ntrue\n";
  payload.environment = {"HOME=/home/anna"};
  payload.working_directory = "/home/anna";
  payload.submit_host = "login1";
  change(payload);
  const auto valid = validate(payload);
  return valid ? "good" : valid.error().message();
}

TEST(ValidatePayload, TakesWhatANodeCanStart) {
  EXPECT_EQ(payload_after([](JobPayload&) {}), "good");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.environment = {"EMPTY="}; }), "good");
  EXPECT_EQ(payload_after([](JobPayload& p) {
              p.mode = LaunchMode::tasks;
              p.script = "";
              p.arguments = {"true"};
            }),
            "good");
}

TEST(ValidatePayload, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(payload_after([](JobPayload& p) { p.script = ""; }),
            "invalid job: the script is empty");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.script = std::string((4 << 20) + 1, '#'); }),
            "invalid job: the script has 4194305 bytes, at most 4194304 are allowed");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.mode = static_cast<LaunchMode>(7); }),
            "invalid job: the launch mode is unknown");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.container.workdir = "x"; }),
            "invalid job: the container's working directory is 'x', it must be an absolute path");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.environment = {"HOME"}; }),
            "invalid job: environment entry 'HOME' is not NAME=value");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.environment = {"=x"}; }),
            "invalid job: environment entry '=x' is not NAME=value");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.environment = {std::string("A=\0b", 4)}; }),
            "invalid job: environment variable A has a NUL byte");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.arguments = {std::string("\0", 1)}; }),
            "invalid job: an argument has a NUL byte");
  EXPECT_EQ(
      payload_after([](JobPayload& p) { p.environment = {"A=" + std::string(4 << 20, 'x')}; }),
      "invalid job: environment and arguments have 4194307 bytes, at most 4194304 are allowed");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.working_directory = "home"; }),
            "invalid job: the working directory must be an absolute path");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.limits.resize(65); }),
            "invalid job: more than 64 resource limits");
  EXPECT_EQ(
      payload_after([](JobPayload& p) { p.stderr_pattern = "%q"; }),
      "invalid job: the error file: unknown pattern in '%q' at column 1; known are %j (job), %x "
      "(name), %u (user), %N (node), %t (task), %r (restart), %A (array), %a (task of the array), "
      "%%");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.stdout_pattern = std::string(4097, 'x'); }),
            "invalid job: the output file has 4097 bytes, at most 4096 are allowed");
  EXPECT_EQ(payload_after([](JobPayload& p) { p.submit_host = "a\x1b"; }),
            "invalid job: the submit host has a control character at byte 2");
}

/// Which of three jobs a filter means: 1 anna's train, running; 2 ben's eval, pending; 3 anna's old
/// one, completed.
std::string matched(const std::function<void(JobFilter&)>& set) {
  JobFilter filter;
  set(filter);
  const auto job = [](std::uint64_t id, const char* user, const char* project, const char* name,
                      JobState state) {
    Job made;
    made.id = JobId{id};
    made.owner.user = user;
    made.spec.project = project;
    made.spec.name = name;
    made.state = state;
    return made;
  };
  std::string ids;
  for (const Job& one : {job(1, "anna", "vision", "train", JobState::running),
                         job(2, "ben", "speech", "eval", JobState::pending),
                         job(3, "anna", "vision", "old", JobState::completed)})
    if (matches(filter, one)) ids += std::to_string(one.id.value);
  return ids;
}

TEST(JobFilter, WithoutWordsMeansAllThatHasNotEnded) {
  EXPECT_EQ(matched([](JobFilter&) {}), "12");
}

TEST(JobFilter, FieldsRestrictTogether) {
  EXPECT_EQ(matched([](JobFilter& f) { f.users = {"anna"}; }), "1");
  EXPECT_EQ(matched([](JobFilter& f) { f.users = {"anna", "ben"}; }), "12");
  EXPECT_EQ(matched([](JobFilter& f) { f.projects = {"speech"}; }), "2");
  EXPECT_EQ(matched([](JobFilter& f) { f.names = {"train"}; }), "1");
  EXPECT_EQ(matched([](JobFilter& f) {
              f.users = {"anna"};
              f.projects = {"speech"};
            }),
            "");
}

TEST(JobFilter, EndedJobsNeedToBeMeant) {
  EXPECT_EQ(matched([](JobFilter& f) { f.ended_too = true; }), "123");
  EXPECT_EQ(matched([](JobFilter& f) { f.states = {JobState::completed}; }), "3");
  EXPECT_EQ(matched([](JobFilter& f) { f.jobs = {JobId{3}}; }), "3");
  EXPECT_EQ(matched([](JobFilter& f) {
              f.users = {"anna"};
              f.ended_too = true;
            }),
            "13");
}

TEST(ValidateSpec, ALimitStandsAboveAPartOfAGpu) {
  const auto after = [](std::uint32_t share, std::uint32_t share_limit, std::uint32_t memory,
                        std::uint32_t memory_limit) {
    return spec_after([=](JobSpec& spec) {
      spec.task.gpu_count = 1;
      spec.task.gpu_share = share;
      spec.task.gpu_share_limit = share_limit;
      spec.task.gpu_memory_mib = memory;
      spec.task.gpu_memory_limit_mib = memory_limit;
    });
  };
  const auto wrong = [](const std::string& why) { return "invalid job: " + why; };
  EXPECT_EQ(after(250'000, 800'000, 0, 0), "good");
  EXPECT_EQ(after(250'000, 1'000'000, 0, 0), "good");
  EXPECT_EQ(after(0, 0, 100, 200), "good");
  EXPECT_EQ(after(250'000, 200'000, 0, 0),
            wrong("the limit above a share of a GPU is 0.2, it must be the share or more and at "
                  "most 1"));
  EXPECT_EQ(after(250'000, 1'000'001, 0, 0),
            wrong("the limit above a share of a GPU is 1.000001, it must be the share or more and "
                  "at most 1"));
  for (const std::uint32_t memory : {200u, 0u})
    EXPECT_EQ(after(memory == 0 ? 500'000 : 0, 0, memory, 100),
              wrong("the limit above the memory of a GPU is 100 MiB, it must be what is asked for "
                    "or more, and at most 16777216"));
  EXPECT_EQ(after(0, 500'000, 0, 0),
            wrong("a limit stands above a part of a GPU: ask for a part as well"));
}

TEST(ValidateSpec, AShareOfTheComputeIsOfOneGpu) {
  const auto after = [](std::uint32_t gpus, std::uint8_t percent, const auto& more) {
    return spec_after([&](JobSpec& spec) {
      spec.task.gpu_count = gpus;
      spec.task.mps_percent = percent;
      more(spec);
    });
  };
  const auto nothing = [](JobSpec&) {};
  const auto wrong = [](const std::string& why) { return "invalid job: " + why; };
  EXPECT_EQ(after(1, 1, nothing), "good");
  EXPECT_EQ(after(1, 100, nothing), "good");
  const auto by_memory = [](JobSpec& spec) { spec.task.gpu_memory_mib = 9; };
  EXPECT_EQ(after(1, TaskRequest::mps_by_memory, by_memory), "good");
  for (const int percent : {101, int{TaskRequest::mps_by_memory}})
    EXPECT_EQ(
        after(1, static_cast<std::uint8_t>(percent), nothing),
        wrong(format("the compute share by MPS in percent is {}, it must be 1 to 100", percent)));
  for (const std::uint32_t gpus : {0u, 2u})
    EXPECT_EQ(after(gpus, 50, nothing),
              wrong(format("a compute share by MPS is for tasks with one GPU or a part of one, and "
                           "these have {}",
                           gpus)));
  EXPECT_EQ(after(0, 50, [](JobSpec& spec) { spec.node.gpu_count = 1; }),
            wrong("a compute share by MPS is of the GPU of each task: give none per node"));
  EXPECT_EQ(
      after(0, 50,
            [](JobSpec& spec) {
              spec.task.mig_profile = "1g.5gb";
              spec.task.mig_count = 1;
            }),
      wrong("a compute share by MPS and MIG instances are asked for together: leave one out"));
}

TEST(ValidateSpec, AScriptHasOneGpuToShare) {
  JobSpec spec;
  spec.task.gpu_count = 1;
  spec.task.mps_percent = 50;
  JobPayload payload;
  payload.mode = LaunchMode::batch;
  EXPECT_TRUE(validate(spec, payload));
  spec.task_count = 2;
  const auto refused = validate(spec, payload);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "invalid job: a compute share by MPS is of one GPU, and a script has those of all 2 "
            "tasks; run a command for each task instead (rsubmit ... -- COMMAND), or one task on "
            "each node");
  spec.node_count = 2;
  EXPECT_TRUE(validate(spec, payload));
  spec.node_count = 0;
  payload.mode = LaunchMode::tasks;
  payload.arguments = {"true"};
  EXPECT_TRUE(validate(spec, payload));
}

TEST(ValidateJob, OnlyAnImageMaySayItselfWhatItRuns) {
  JobSpec spec;
  spec.name = "x";
  JobPayload payload;
  payload.mode = LaunchMode::tasks;
  EXPECT_EQ(validate(spec, payload).error().detail, "there is no command to run");
  spec.image = "busy:1";
  EXPECT_TRUE(validate(spec, payload));
  payload.container.mounts = {{"/a", "/b", false}};
  EXPECT_TRUE(validate(spec, payload));
  payload.container.runtime = "none";
  EXPECT_EQ(validate(spec, payload).error().detail, "there is no command to run");
  payload.arguments = {"true"};
  EXPECT_EQ(validate(spec, payload).error().detail,
            "mounts are for a job with an image: give one, or leave them out");
  spec.image = "--privileged";
  EXPECT_EQ(validate(spec).error().detail,
            "the image is '--privileged': an image's name begins with a letter or a digit");
}

}  // namespace
}  // namespace rota
