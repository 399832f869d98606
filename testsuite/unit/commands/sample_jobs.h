// testsuite/unit/commands/sample_jobs.h - jobs that several tests show.
#pragma once
#include "model/job.h"

namespace rota::commands {

/// Job 12, RUNNING on two nodes for 1 h 2 min 3 s.
inline JobView running_job() {
  JobView job;
  job.id = JobId{12};
  job.spec.name = "train";
  job.spec.project = "vision";
  job.spec.task_count = 2;
  job.spec.node_count = 2;
  job.spec.task.gpu_count = 1;
  job.spec.task.cpu_count = 4;
  job.spec.time_limit_seconds = 7200;
  job.owner = {1000, 1000, "ada"};
  job.state = JobState::running;
  job.gpu_count = 2;
  job.gpu_amount = 2 * gpu_unit;
  job.nodes = {"dgx1", "dgx2"};
  job.submit_time = {1'794'794'400'000'000};
  job.start_time = {1'794'794'460'000'000};
  job.elapsed_ms = 3'723'456;
  job.spec.topology.edit().preferred = "rack";
  job.place_level = "rack";
  job.place = "b1/r2";
  job.usage = {.sampled_ms = 7'446'000,
               .busy_ms = 6'701'400,
               .idle_ms = 0,
               .energy_mj = 1'861'500'000,
               .power_mw = 512'500,
               .utilization_percent = 93,
               .memory_bytes = 48ull << 30,
               .memory_max_bytes = 52ull << 30};
  return job;
}

/// Job 13, PENDING for want of GPUs.
inline JobView waiting_job() {
  JobView job;
  job.id = JobId{13};
  job.spec.name = "big";
  job.spec.task.gpu_count = 16;
  job.owner = {1001, 1001, "bob"};
  job.gpu_count = 16;
  job.gpu_amount = 16 * gpu_unit;
  job.submit_time = {1'794'794'401'000'000};
  job.wait = WaitReason::resources;
  job.reason = "asks for 16 GPUs, 6 are free";
  job.expected_start = {1'794'798'000'000'000};
  job.spec.nodes.edit() = {"dgx[1-4]", "dgx2", "v100&lab"};
  return job;
}

/// Job 9, FAILED with exit code 3.
inline JobView failed_job() {
  JobView job = running_job();
  job.id = JobId{9};
  job.state = JobState::failed;
  job.exit_code = 3;
  job.restarts = 1;
  job.end_time = {1'794'798'183'000'000};
  job.reason = "exit code 3";
  return job;
}

}  // namespace rota::commands
