// contribs/slurm/seff.cpp - seff: what a job made of what it had.
#include <array>

#include "commands/exit_code.h"
#include "commands/job_fields.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/output.h"
#include "common/format.h"
#include "common/units.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using namespace commands;

constexpr auto table =
    std::to_array<Option>({verbose_option, help_option, usage_option, version_option});
constexpr std::array<std::string_view, 1> synopses{"JOB"};
constexpr Command command{.name = "seff",
                          .synopses = synopses,
                          .summary = "Show what a job made of what it had.",
                          .options = table};

std::string report(const JobView& job) {
  std::string text = format("Job ID: {}\n", id_text(job));
  if (job.array.of) text += format("Array Job ID: {}_{}\n", job.array.of.value, job.array.index);
  text += format("Cluster: rota\nUser/Group: {}/{}\n", std::string(job.owner.user), job.owner.gid);
  text += format("State: {} (exit code {})\n", state_name(job.state), job.exit_code);
  text += format("Nodes: {}\nCores per node: {}\n", node_count(job),
                 cpus_of(job) / std::max<std::uint64_t>(1, node_count(job)));
  text += format("Job Wall-clock time: {}\n", long_duration(elapsed_of(job)));
  if (job.gpu_amount > 0) {
    text += format("GPUs: {}\n", decimal_format(job.gpu_amount, 6));
    if (job.usage.sampled_ms > 0)
      text += format("GPU Efficiency: {}.{:02}% of {} GPU-walltime\n",
                     job.usage.busy_ms * 100 / job.usage.sampled_ms,
                     job.usage.busy_ms * 10000 / job.usage.sampled_ms % 100,
                     long_duration(std::chrono::milliseconds(job.usage.sampled_ms)));
    text += format("GPU Memory Utilized: {}\n", size_format(job.usage.memory_max_bytes));
    text += format("GPU Energy: {}\n", energy_text(job.usage.energy_mj));
  }
  if (!is_final(job.state))
    text += "WARNING: Efficiency statistics may be misleading for RUNNING jobs.\n";
  return text;
}

Result<int> show(Program& program, Arguments arguments) {
  if (arguments.operands.size() != 1) return Error{Errc::usage, "seff needs the number of a job"};
  JobFilter filter;
  ROTA_CHECK(add_jobs(arguments.operands.front(), filter));
  ROTA_TRY(const auto jobs, jobs_matching(program, filter));
  if (jobs.empty()) return Error{Errc::usage, "Job not found."};
  std::string text;
  for (const JobView& job : jobs) text += (text.empty() ? "" : "\n") + report(job);
  ROTA_CHECK(print(text));
  return exit_ok;
}

}  // namespace

int seff(const std::vector<std::string>& words) { return slurm_main(command, words, show); }

}  // namespace rota::slurm
