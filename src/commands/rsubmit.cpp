// commands/rsubmit.cpp - rsubmit: queue a job, and with --wait see it to its end.
#include <unistd.h>

#include "commands/container_options.h"
#include "commands/directives.h"
#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/output.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/session.h"
#include "commands/sisters.h"
#include "commands/submit_options.h"
#include "commands/template.h"
#include "commands/watch.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

/// The controller may be away this long while we wait for a job's end.
constexpr Duration wait_patience = std::chrono::minutes(10);

struct Submission {
  SubmitOptions options;
  std::vector<Given> of_script;  // what its lines say, below all other options
  proto::SubmitRequest request;
};

Result<void> apply_all(const std::vector<Given>& given, SubmitOptions& options) {
  for (const Given& one : given) ROTA_CHECK(apply(one, options));
  return {};
}

Result<Directives> lines_of(const Program& program, const std::string& script,
                            const std::string& name, std::string_view keyword) {
  ROTA_TRY(auto directives, directives_parse(script, name, keyword));
  if (directives.ignored_line != 0)
    program.note(format("{}:{}: this {} line stands below the first command and is not read", name,
                        directives.ignored_line, keyword));
  return directives;
}

/// What cannot be honoured is said, a line for each; or it is all wrong.
Result<void> tell_lost(const Program& program, const std::vector<std::string>& lost,
                       bool is_strict) {
  for (const std::string& loss : lost) program.say(loss);
  if (!is_strict || lost.empty()) return {};
  return Error{Errc::usage, format("with --strict {} is a mistake",
                                   lost.size() == 1 ? "that" : "each of these")};
}

/// The script with its name for people, and what its #ROTA lines say; below those its #SBATCH
/// lines.
Result<void> take_script(const Program& program, const std::string& path, const std::string& name,
                         bool is_strict, Submission& submission) {
  JobPayload& payload = submission.request.payload;
  ROTA_TRY(payload.script, read_script(path));
  ROTA_CHECK(check_script(payload.script, name));
  ROTA_TRY(const auto foreign, lines_of(program, payload.script, name, slurm_lines));
  submission.options.slurm = !foreign.lines.empty();
  std::vector<std::string> lost;
  ROTA_TRY(submission.of_script, slurm_directive_options(foreign, name, lost));
  ROTA_CHECK(tell_lost(program, lost, is_strict));
  ROTA_TRY(const auto directives, lines_of(program, payload.script, name, rota_lines));
  ROTA_TRY(auto given, directive_options(directives, name));
  std::move(given.begin(), given.end(), std::back_inserter(submission.of_script));
  return {};
}

/// The options of a template lie below all others, also where one of those names it.
Result<void> apply_in_order(const std::vector<Given>& on_line, Submission& submission) {
  SubmitOptions seen;
  ROTA_CHECK(apply_all(submission.of_script, seen));
  ROTA_CHECK(apply_all(on_line, seen));
  if (!seen.template_name.empty()) {
    ROTA_TRY(const auto given, template_options(seen.template_name, seen.project.value_or("")));
    ROTA_CHECK(apply_all(given, submission.options));
  }
  ROTA_CHECK(apply_all(submission.of_script, submission.options));
  return apply_all(on_line, submission.options);
}

/// Where output goes that nobody has spoken of, and a srun for scripts that call it.
void behave_as_slurm(const SubmitOptions& options, JobPayload& payload) {
  if (!options.slurm) return;
  if (payload.stdout_pattern.empty())
    payload.stdout_pattern = options.rules.array.tasks.empty() ? "slurm-%j.out" : "slurm-%A_%a.out";
  const std::string directory = slurm_directory();
  if (directory.empty()) return;
  for (std::string& variable : payload.environment)
    if (variable.starts_with("PATH=") && variable.find(directory) == std::string::npos)
      variable.insert(5, directory + ":");
}

/// What to run. Returns the name that the job gets when none was given.
Result<std::string> take_work(const Program& program, Arguments& arguments,
                              Submission& submission) {
  JobPayload& payload = submission.request.payload;
  // Looked for first, because whether there is a script decides what lies below it.
  SubmitOptions on_line;
  ROTA_CHECK(apply_all(arguments.options, on_line));
  if (on_line.wrap) {
    if (!arguments.operands.empty())
      return Error{Errc::usage,
                   "--wrap is the whole job: no script or command can be given with it"};
    payload.script = "#!/bin/sh\n" + *on_line.wrap + "\n";
    return std::string("wrap");
  }
  if (arguments.after_dashes && !arguments.operands.empty()) {
    payload.mode = LaunchMode::tasks;
    payload.arguments = std::move(arguments.operands);
    return base_name(payload.arguments.front());
  }
  if (arguments.operands.empty() && !on_line.image.empty()) {  // the image says what it runs
    payload.mode = LaunchMode::tasks;
    const std::string name = base_name(on_line.image);
    return name.substr(0, name.find_first_of(":@"));
  }
  if (arguments.operands.empty() && (arguments.after_dashes || isatty(STDIN_FILENO) != 0))
    return Error{Errc::usage, "nothing to run: give a script, --wrap=COMMAND, or -- and a command"};
  const bool from_stdin = arguments.operands.empty();
  const std::string path = from_stdin ? "-" : arguments.operands.front();
  const std::string name = from_stdin ? "standard input" : path;
  ROTA_CHECK(take_script(program, path, name, on_line.strict, submission));
  if (from_stdin) return std::string("stdin");
  payload.arguments.assign(arguments.operands.begin() + 1, arguments.operands.end());
  return base_name(path);
}

Result<Submission> submission_from(const Program& program, Arguments arguments) {
  Submission submission;
  ROTA_TRY(const auto default_name, take_work(program, arguments, submission));
  ROTA_CHECK(apply_in_order(arguments.options, submission));
  proto::SubmitRequest& request = submission.request;
  ROTA_TRY(request.spec, job_spec_from(submission.options, default_name));
  ROTA_CHECK(take_surroundings(submission.options.directory, request.payload));
  if (submission.options.exported)
    ROTA_CHECK(keep_exported(*submission.options.exported, request.payload.environment));
  ROTA_CHECK(
      take_container(submission.options.container, submission.options.sources, request.payload));
  request.payload.secrets = submission.options.secrets;
  request.payload.stdout_pattern = submission.options.output;
  request.payload.stderr_pattern = submission.options.error;
  request.payload.stdin_path = submission.options.input;
  behave_as_slurm(submission.options, request.payload);
  ROTA_CHECK(validate(request.payload));
  ROTA_CHECK(validate(request.spec, request.payload));
  ROTA_TRY(request.request, make_request_id());
  return submission;
}

std::string gpus_text(const TaskRequest& task) {
  if (task.mig_count > 0) return format("{} MIG instances {}", task.mig_count, task.mig_profile);
  const std::string compute =
      task.uses_mps() ? format(" with {} of their compute", mps_text(task)) : "";
  return format("{}{} GPUs{}", gpu_part_text(task), task.gpu_count, compute);
}

void note_request(const Program& program, const JobSpec& spec) {
  if (program.verbosity == 0) return;
  std::string nodes =
      spec.node_count == 0 ? "as few nodes as possible" : format("{} nodes", spec.node_count);
  if (spec.is_elastic()) nodes += format(" (up to {} while it runs)", spec.node_count_max);
  program.note(format(
      "job '{}' of {}, kind {}: {} tasks on {}, {} and {} CPUs a task, {} "
      "GPUs and {} of memory a node",
      spec.name, spec.project.empty() ? "your default project" : format("project {}", spec.project),
      name_of(spec.kind), spec.task_count, nodes, gpus_text(spec.task), spec.task.cpu_count,
      spec.node.gpu_count,
      spec.node.memory_bytes == 0 ? "any amount" : size_format(spec.node.memory_bytes)));
}

std::string answer_text(const SubmitOptions& options, JobId job) {
  if (options.json) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.field("job_id", job.value);
    json.end_object();
    return text + "\n";
  }
  if (options.parsable) return format("{}\n", job.value);
  return options.quiet ? "" : format("Submitted batch job {}\n", job.value);
}

Result<int> wait_for_end(const Program& program, const net::ConnectOptions& controller, JobId id,
                         bool quiet) {
  const auto ended = [](const JobView& job) { return is_final(job.state); };
  ROTA_TRY(const auto job, run_to_end(wait_for_job(controller, id, wait_patience, ended)));
  const bool by_itself = job.state == JobState::completed ||
                         (job.state == JobState::failed && (job.exit_code | job.exit_signal) != 0);
  if (!quiet && !by_itself)
    program.say(format("job {} ended: {}{}{}", id.value, name_of(job.state),
                       job.reason.empty() ? "" : ": ", job.reason));
  return exit_code_of(job);
}

Result<int> submit(Program& program, Arguments arguments) {
  ROTA_TRY(const auto submission, submission_from(program, std::move(arguments)));
  note_request(program, submission.request.spec);
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  ROTA_TRY(const auto reply, ask<proto::SubmitReply>(controller, submission.request));
  if (auto printed = print(answer_text(submission.options, reply.job)); !printed) {
    // The job is queued all the same: say so where somebody may still read.
    program.say(format("job {} was queued, but its number could not be printed", reply.job.value));
    return printed.error();
  }
  if (!submission.options.wait) return exit_ok;
  return wait_for_end(program, controller, reply.job, submission.options.quiet);
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(submit_command(), argc, argv, submit);
}
