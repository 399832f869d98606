// contribs/slurm/slurm.cpp - questions to the controller, and answers in Slurm's form.
#include "slurm.h"

#include <algorithm>
#include <ctime>

#include "commands/exit_code.h"
#include "commands/output.h"
#include "common/clock.h"
#include "common/format.h"
#include "common/units.h"
#include "common/version.h"

namespace rota::slurm {
namespace {

using namespace commands;

int fail(const Program& program, const Error& error) {
  if (error.code == Errc::io_failed && error.detail == broken_pipe) return exit_broken_pipe;
  program.say(format("error: {}", error.detail.empty() ? error.message() : error.detail));
  return exit_failure;
}

}  // namespace

int slurm_main(const Command& command, const std::vector<std::string>& words,
               Result<int> (*work)(Program& program, Arguments arguments)) {
  prepare_standard_files();
  Program program(command.name);
  Arguments arguments;
  if (const auto bad = parse_words(command, words, arguments)) {
    program.say(format("error: {}", bad->what));
    program.say(format("Try \"{} --help\" for more information", command.name));
    return exit_failure;
  }
  for (const Given& given : arguments.options) {
    std::string text;
    if (given.option->id == option_help) text = help_text(command);
    if (given.option->id == option_usage) text = usage_text(command);
    if (given.option->id == option_version) text = format("{} (rota {})\n", release, version());
    if (given.option->id == option_verbose) ++program.verbosity;
    if (text.empty()) continue;
    const auto printed = print(text);
    return printed ? exit_ok : fail(program, printed.error());
  }
  const auto code = work(program, std::move(arguments));
  return code ? *code : fail(program, code.error());
}

Result<std::vector<NodeView>> nodes_named(const Program& program,
                                          const std::vector<std::string>& names) {
  ROTA_TRY(const auto controller, controller_options(program));
  std::vector<NodeView> nodes;
  const proto::NodesRequest request{names};
  ROTA_CHECK(ask_stream<proto::NodesReply>(controller, request, [&](proto::NodesReply reply) {
    std::move(reply.nodes.begin(), reply.nodes.end(), std::back_inserter(nodes));
  }));
  return nodes;
}

std::string date_text(WallTime time, std::string_view none) {
  if (!time) return std::string(none);
  const std::time_t seconds = time.microseconds / 1'000'000;
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return std::string(none);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
  return {text, size};
}

std::string long_duration(Duration time) {
  const std::int64_t seconds = time / std::chrono::seconds(1);
  const std::string clock =
      format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return seconds >= 86400 ? format("{}-{}", seconds / 86400, clock) : clock;
}

std::string_view state_name(JobState state) {
  if (state == JobState::starting) return "CONFIGURING";
  if (state == JobState::launch_failed) return "BOOT_FAIL";
  return name_of(state);
}

bool is_within(const JobView& job, const std::vector<std::string>& queues,
               const std::vector<std::string>& nodes) {
  const auto is_in = [](const auto& list, const std::string& word) {
    return list.empty() || std::ranges::find(list, word) != list.end();
  };
  if (!is_in(queues, job.spec.queue)) return false;
  return nodes.empty() || std::ranges::any_of(job.nodes, [&](const std::string& node) {
           return is_in(nodes, node);
         });
}

std::uint64_t cpus_of(const JobView& job) {
  return std::uint64_t{job.spec.task_count} * job.spec.task.cpu_count;
}

std::string tres_text(const JobView& job) {
  const std::uint64_t nodes =
      std::max<std::uint64_t>(1, job.nodes.empty() ? job.spec.node_count : job.nodes.size());
  const std::uint64_t memory =
      job.spec.node.memory_bytes * nodes + job.spec.task.memory_bytes * job.spec.task_count;
  std::string text = format("cpu={}", cpus_of(job));
  if (memory > 0) text += format(",mem={}M", memory >> 20);
  text += format(",node={},billing={}", nodes, cpus_of(job));
  if (job.gpu_amount > 0) text += format(",gres/gpu={}", decimal_format(job.gpu_amount, 6));
  return text;
}

}  // namespace rota::slurm
