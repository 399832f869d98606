// commands/ralloc.cpp - ralloc: resources for a shell on this host.
#include <array>
#include <cstdlib>

#include "commands/allocation.h"
#include "commands/exit_code.h"
#include "commands/hold_client.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/run_options.h"
#include "common/format.h"
#include "common/hostlist.h"

namespace rota::commands {
namespace {

std::vector<std::string> variables_of(const JobView& job) {
  const std::string nodes = hostlist_fold(job.nodes);
  const std::string project = job.spec.project;
  std::vector<std::string> variables;
  for (const std::string_view prefix : {"ROTA_", "SLURM_"}) {
    variables.push_back(format("{}JOB_ID={}", prefix, job.id.value));
    variables.push_back(format("{}JOBID={}", prefix, job.id.value));
    variables.push_back(format("{}JOB_NAME={}", prefix, job.spec.name));
    variables.push_back(format("{}JOB_ACCOUNT={}", prefix, project));
    variables.push_back(format("{}JOB_NODELIST={}", prefix, nodes));
    variables.push_back(format("{}NODELIST={}", prefix, nodes));
    variables.push_back(format("{}JOB_NUM_NODES={}", prefix, job.nodes.size()));
    variables.push_back(format("{}NNODES={}", prefix, job.nodes.size()));
    variables.push_back(format("{}NTASKS={}", prefix, job.spec.task_count));
    variables.push_back(format("{}CPUS_PER_TASK={}", prefix, job.spec.task.cpu_count));
  }
  variables.push_back(format("ROTA_PROJECT={}", project));
  return variables;
}

awaitable<Result<int>> run_allocated(const Program& program, net::ConnectOptions controller,
                                     proto::SubmitRequest request, std::vector<std::string> words) {
  int interrupted = 0;
  auto job = co_await allocate(controller, std::move(request), program, interrupted);
  if (!job) co_return job.error();
  if (interrupted != 0) {
    program.say(format("job {} was cancelled", job->id.value));
    co_return 128 + interrupted;
  }
  if (job->state != JobState::running) {
    program.say(format("job {} ended: {}{}{}", job->id.value, name_of(job->state),
                       job->reason.empty() ? "" : ": ", job->reason));
    co_return exit_code_of(*job);
  }
  program.say(format("job {} holds {}", job->id.value, fmt::join(job->nodes, ",")));
  co_return co_await hold_while(controller, job->id, std::move(words), variables_of(*job), program);
}

Result<int> alloc(Program& program, Arguments arguments) {
  ROTA_TRY(const auto around, job_around());
  if (around)
    return Error{Errc::usage,
                 format("this is inside job {} already; leave it first", around->value)};
  std::vector<std::string> words = std::move(arguments.operands);
  if (words.empty()) {
    const char* shell = std::getenv("SHELL");
    words.emplace_back(shell != nullptr && *shell == '/' ? shell : "/bin/sh");
  }
  ROTA_TRY(auto request, allocation_from(arguments.options, base_name(words.front())));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  return run_to_end(run_allocated(program, controller, std::move(request), std::move(words)));
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(alloc_command(), argc, argv, alloc);
}
