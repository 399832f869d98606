// testsuite/unit/commands/job_view_test.cpp - jobs as rows, as -o lines and as JSON.
#include "commands/job_view.h"

#include <gtest/gtest.h>

#include <set>

#include "commands/job_fields.h"
#include "commands/job_format.h"
#include "sample_jobs.h"

namespace rota::commands {
namespace {

std::string json_of(const JobView& job) {
  std::string out;
  JsonWriter json(out);
  write_job(json, job);
  return out;
}

/// Header and row in `format`, or the error.
std::string line_of(std::string_view format, const JobView& job) {
  const auto parsed = JobFormat::parse(format);
  if (!parsed) return parsed.error().detail;
  std::string out;
  parsed->append_header(out);
  parsed->append_row(out, job);
  return out;
}

TEST(JobTable, ShowsWhatIsAskedMost) {
  Table table = job_table();
  for (const JobView& job : {running_job(), waiting_job(), failed_job()}) add_row(table, job);
  EXPECT_EQ("\n" + table.render({}), R"(
JOBID NAME  USER PROJECT KIND  PRIORITY STATE       TIME GPUS NODES NODELIST(REASON)
   12 train ada  vision  train       50 RUNNING 01:02:03    2     2 dgx[1-2]
   13 big   bob  default train       50 PENDING     0:00   16     1 (Resources: asks for 16 GPUs, 6 are free)
    9 train ada  vision  train       50 FAILED  01:02:03    2     2 (exit code 3)
)");
}

TEST(JobTable, IsLongWithWhatTheGpusDo) {
  Table table = job_table(true);
  JobView idle = running_job();
  idle.usage = {.sampled_ms = 1000, .idle_ms = 600'000, .energy_mj = 5'400'000'000'000};
  idle.idle_since = idle.start_time;
  JobView open = running_job();
  open.urls = {"http://h/12-80/", "http://h/12-81/"};
  for (const JobView& job : {open, waiting_job(), idle}) add_row(table, job, true);
  EXPECT_EQ("\n" + table.render({}), R"(
JOBID NAME  USER PROJECT KIND  PRIORITY STATE       TIME GPUS GPU% MEAN% GPUMEM MAXGPUMEM POWER  ENERGY  IDLE NODES URL             NODELIST(REASON)
   12 train ada  vision  train       50 RUNNING 01:02:03    2  93%   90%  48GiB     52GiB  513W   517Wh     -     2 http://h/12-80/ dgx[1-2]
   13 big   bob  default train       50 PENDING     0:00   16    -     -      -         -     -       -     -     1 -               (Resources: asks for 16 GPUs, 6 are free)
   12 train ada  vision  train       50 RUNNING 01:02:03    2   0%    0%     0B        0B    0W 1500kWh 10:00     2 -               dgx[1-2]
)");
}

TEST(JobText, TellsAllThatIsKnown) {
  const std::string text = job_text(running_job());
  for (const char* line :
       {"id: 12\n", "state: RUNNING\n", "gpu_utilization: 93%\n", "gpu_energy: 517Wh\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
  EXPECT_EQ(job_text(waiting_job()).find("gpu_utilization"), std::string::npos);
}

TEST(JobFormat, LettersAreSlurms) {
  EXPECT_EQ(
      line_of("%i %j %u %U %a %T %t %M %l %L %b %D %N %C", running_job()),
      "JOBID NAME USER UID PROJECT STATE ST TIME TIME_LIMIT TIME_LEFT GPUS NODES NODELIST CPUS\n"
      "12 train ada 1000 vision RUNNING R 01:02:03 02:00:00 57:56 2 2 dgx[1-2] 8\n");
  EXPECT_EQ(
      line_of("%R|%r|%V|%S|%e|%l|%L|%m", waiting_job()),
      "NODELIST(REASON)|REASON|SUBMIT_TIME|START_TIME|END_TIME|TIME_LIMIT|TIME_LEFT|MEMORY\n"
      "(Resources)|Resources|2026-11-16T02:00:01Z|2026-11-16T03:00:00Z|N/A|UNLIMITED|UNLIMITED|"
      "0B\n");
}

TEST(JobFormat, NamesReachWhatHasNoLetter) {
  EXPECT_EQ(line_of("%{kind},%{tasks},%{restarts},%{exit_code},%{id}", failed_job()),
            "KIND,TASKS,RESTARTS,EXIT,JOBID\ntrain,2,1,3:0,9\n");
  EXPECT_EQ(line_of("%{reason_detail}", waiting_job()), "DETAIL\nasks for 16 GPUs, 6 are free\n");
}

TEST(JobFormat, QueueAndPriority) {
  JobView job = running_job();
  job.spec.queue = "long";
  job.spec.kind = JobKind::interactive;
  EXPECT_EQ(line_of("%P %Q %{preemptible}", job), "QUEUE PRIORITY PREEMPTIBLE\nlong 100 no\n");
}

TEST(JobFormat, WhereItLies) {
  EXPECT_EQ(line_of("[%{topology}] [%{placement}]", running_job()),
            "[TOPOLOGY] [PLACEMENT]\n[preferred:rack] [rack:b1/r2]\n");
  JobView segmented = waiting_job();
  segmented.spec.topology.edit().segment = 8;
  EXPECT_EQ(line_of("[%{topology}] [%{segment}]", segmented), "[TOPOLOGY] [SEGMENT]\n[] [8]\n");
  EXPECT_EQ(line_of("[%{topology}] [%{placement}]", waiting_job()),
            "[TOPOLOGY] [PLACEMENT]\n[] []\n");
}

TEST(JobFormat, WidthsAreExact) {
  EXPECT_EQ(line_of("[%8i] [%.8i] [%.3T] [%3T]", running_job()),
            "[JOBID   ] [   JOBID] [STA] [STA]\n[12      ] [      12] [RUN] [RUN]\n");
  EXPECT_EQ(line_of("%.12{project}|100%%", running_job()),
            "     PROJECT|100%\n      vision|100%\n");
}

TEST(JobFormat, ValuesCannotForgeALine) {
  JobView job = running_job();
  job.spec.name = "a\nb\033[2J";
  EXPECT_EQ(line_of("%j", job), "NAME\na?b?[2J\n");
}

TEST(JobFormat, ErrorsNameTheColumn) {
  EXPECT_TRUE(line_of("%i %Z", running_job())
                  .starts_with("column 4: unknown field '%Z'; known are %i (id), "));
  EXPECT_TRUE(line_of("%{nope}", running_job()).starts_with("column 1: unknown field '%{nope}'; "));
  EXPECT_EQ(line_of("%i %", running_job()),
            "column 4: the format ends after %; write %% for a percent sign");
  EXPECT_EQ(line_of("%i %{x", running_job()), "column 5: this { has no }");
  EXPECT_EQ(line_of("%99999i", running_job()), "column 1: the width is over 1000");
}

TEST(JobFormat, EveryFieldHasItsOwnLetterAndName) {
  std::set<std::string> seen;
  for (const JobField& field : job_fields()) {
    EXPECT_TRUE(seen.insert(std::string(field.name)).second) << field.name;
    if (field.letter == 0) continue;
    EXPECT_TRUE(seen.insert(std::string(1, field.letter)).second) << field.letter;
  }
}

// The keys, their order and their types are promised in doc/json.md.
TEST(JobJson, ARunningJob) {
  EXPECT_EQ(
      json_of(running_job()),
      R"({"id":12,"name":"train","user":"ada","project":"vision","kind":"train",)"
      R"("state":"RUNNING","gpus":2,"nodes":["dgx1","dgx2"],)"
      R"("submit_time":"2026-11-16T02:00:00Z","start_time":"2026-11-16T02:01:00Z",)"
      R"("end_time":null,"reason":null,"reason_detail":null,"restarts":0,"exit_code":null,)"
      R"("exit_signal":null,"time_limit_seconds":7200,"elapsed_seconds":3723,"tasks":2,"cpus":8,)"
      R"("queue":null,"priority":50,"preemptible":true,"preemptibility":"preemptible","background":false,"preemptions":0,"displaced":null,)"
      R"("expected_start_time":null,"nodelist":null,"exclude":null,"constraint":null,)"
      R"("nodes_min":2,"nodes_max":null,)"
      R"("topology":"preferred:rack","placement_level":"rack","placement":"b1/r2",)"
      R"("segment":null,)"
      R"("gpu_usage":{"sampled_gpu_seconds":7446,"busy_gpu_seconds":6701.4,)"
      R"("energy_joules":1861500,"utilization_percent":93,"memory_bytes":51539607552,)"
      R"("memory_max_bytes":55834574848,"power_watts":512.5,"idle_seconds":0},"idle_since":null,)"
      R"("mps":false,"mps_percent":null,"image":null,"image_digest":null,"ports":[],"urls":[])"
      R"(,"array_job_id":null,"array_task_id":null,"array_tasks":null,"array_tasks_waiting":null,)"
      R"("dependency":null,"begin_time":null,"deadline":null,"held":false,"nice":0,"retries":0,)"
      R"("failures":0,"comment":null,"labels":{},"saved_time":null,"exclusive":false})");
}

TEST(JobJson, AnIdleJob) {
  JobView idle = running_job();
  idle.usage.idle_ms = 90'500;
  idle.idle_since = idle.start_time;
  const std::string json = json_of(idle);
  EXPECT_NE(json.find(R"("idle_seconds":90.5},"idle_since":"2026-11-16T02:01:00Z",)"),
            std::string::npos)
      << json;
}

TEST(JobJson, AWaitingJob) {
  EXPECT_EQ(
      json_of(waiting_job()),
      R"({"id":13,"name":"big","user":"bob","project":"default","kind":"train",)"
      R"("state":"PENDING","gpus":16,"nodes":[],"submit_time":"2026-11-16T02:00:01Z",)"
      R"("start_time":null,"end_time":null,"reason":"Resources",)"
      R"("reason_detail":"asks for 16 GPUs, 6 are free","restarts":0,"exit_code":null,)"
      R"("exit_signal":null,"time_limit_seconds":null,"elapsed_seconds":null,"tasks":1,"cpus":1,)"
      R"("queue":null,"priority":50,"preemptible":true,"preemptibility":"preemptible","background":false,"preemptions":0,"displaced":null,)"
      R"("expected_start_time":"2026-11-16T03:00:00Z",)"
      R"("nodelist":"dgx[1-4]","exclude":"dgx2","constraint":"v100&lab",)"
      R"("nodes_min":null,"nodes_max":null,)"
      R"("topology":null,"placement_level":null,"placement":null,"segment":null,"gpu_usage":null,)"
      R"("idle_since":null,"mps":false,"mps_percent":null,"image":null,"image_digest":null,"ports":[],"urls":[])"
      R"(,"array_job_id":null,"array_task_id":null,"array_tasks":null,"array_tasks_waiting":null,)"
      R"("dependency":null,"begin_time":null,"deadline":null,"held":false,"nice":0,"retries":0,)"
      R"("failures":0,"comment":null,"labels":{},"saved_time":null,"exclusive":false})");
}

TEST(JobJson, AShareOfTheCompute) {
  JobView job = waiting_job();
  job.spec.task.mps_percent = 40;
  EXPECT_NE(json_of(job).find(R"("mps":true,"mps_percent":40,)"), std::string::npos);
  EXPECT_EQ(line_of("%{mps}", job), "MPS\n40%\n");
  EXPECT_NE(job_text(job).find("mps: 40%\n"), std::string::npos);
  job.spec.task.mps_percent = TaskRequest::mps_by_memory;
  EXPECT_NE(json_of(job).find(R"("mps":true,"mps_percent":null,)"), std::string::npos);
  EXPECT_EQ(line_of("%{mps}", job), "MPS\nby memory\n");
  EXPECT_EQ(line_of("[%{mps}]", waiting_job()), "[MPS]\n[]\n");
}

TEST(JobJson, TheImageThatItRunsIn) {
  JobView job = running_job();
  job.spec.image = "torch:2";
  job.image_digest = "torch@sha256:aa";
  EXPECT_NE(json_of(job).find(R"("image":"torch:2","image_digest":"torch@sha256:aa",)"),
            std::string::npos);
  EXPECT_EQ(line_of("%{image} %{image_digest}", job),
            "IMAGE IMAGE_DIGEST\ntorch:2 torch@sha256:aa\n");
}

TEST(JobJson, WhereBrowsersFindIt) {
  JobView job = running_job();
  job.spec.service.edit().ports = {80, 81};
  job.urls = {"http://h/12-80/", "http://h/12-81/"};
  EXPECT_NE(json_of(job).find(R"("ports":[80,81],"urls":["http://h/12-80/","http://h/12-81/"])"),
            std::string::npos);
  EXPECT_EQ(line_of("%{ports} %{urls}", job), "PORTS URL\n80,81 http://h/12-80/ http://h/12-81/\n");
}

TEST(JobJson, HowAJobEnded) {
  EXPECT_NE(json_of(failed_job()).find(R"("state":"FAILED")"), std::string::npos);
  EXPECT_NE(
      json_of(failed_job()).find(R"("end_time":"2026-11-16T03:03:03Z","reason":"exit code 3")"),
      std::string::npos);
  EXPECT_NE(json_of(failed_job()).find(R"("exit_code":3,"exit_signal":null)"), std::string::npos);
  JobView killed = failed_job();
  killed.exit_code = 0;
  killed.exit_signal = 9;
  EXPECT_NE(json_of(killed).find(R"("exit_code":null,"exit_signal":9)"), std::string::npos);
  JobView never_ran = waiting_job();
  never_ran.state = JobState::cancelled;
  EXPECT_NE(json_of(never_ran).find(R"("exit_code":null,"exit_signal":null)"), std::string::npos);
}

TEST(JobFields, AJobThatWaitsAgainIsNotOnItsOldNodes) {
  JobView job = running_job();
  job.state = JobState::pending;
  job.restarts = 1;
  EXPECT_EQ(line_of("%R %D", job), "NODELIST(REASON) NODES\n(None) 2\n");
}

}  // namespace
}  // namespace rota::commands
