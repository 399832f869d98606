// commands/rqueue.cpp - rqueue: the jobs that wait and run, once or as they change.
#include <unistd.h>

#include <set>

#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/output.h"
#include "commands/program.h"
#include "commands/queue_options.h"
#include "commands/queue_watch.h"
#include "commands/session.h"
#include "common/clock.h"
#include "common/format.h"

namespace rota::commands {
namespace {

/// Jobs that were named and do not exist: said on standard error, and in the exit code. With a
/// second filter they may exist and just not match.
int report_missing(const Program& program, const JobFilter& filter, const std::set<JobId>& seen) {
  const bool only_ids = filter.users.empty() && filter.projects.empty() && filter.names.empty() &&
                        filter.states.empty();
  int code = exit_ok;
  for (const JobId id : filter.jobs) {
    if (!only_ids || seen.contains(id)) continue;
    program.say(format("no such job: {}", id.value));
    code = exit_not_found;
  }
  return code;
}

Result<int> show_once(const Program& program, const net::ConnectOptions& controller,
                      const QueueOptions& options) {
  JobListing listing(options, style_for(STDOUT_FILENO));
  std::set<JobId> seen;
  const WallTime now = wall_now();
  const proto::QueueRequest request{.filter = options.filter, .watch = false};
  ROTA_CHECK(ask_stream<proto::QueueReply>(controller, request, [&](proto::QueueReply reply) {
    fill_elapsed(reply.jobs, now);
    listing.add(reply.jobs);
    if (!options.filter.jobs.empty())
      for (const JobView& job : reply.jobs) seen.insert(job.id);
  }));
  ROTA_CHECK(print(listing.take()));
  return report_missing(program, options.filter, seen);
}

Result<int> queue(Program& program, Arguments arguments) {
  ROTA_TRY(const auto options, queue_options_from(arguments, own_user));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  if (!options.watch) return show_once(program, controller, options);
  const bool screen = isatty(STDOUT_FILENO) != 0 && !options.json;
  return run_to_end(screen ? watch_on_screen(controller, options)
                           : watch_as_lines(controller, options));
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(queue_command(), argc, argv, queue);
}
