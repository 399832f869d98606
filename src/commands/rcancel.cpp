// commands/rcancel.cpp - rcancel: end jobs, or send them a signal.
#include <unistd.h>

#include "commands/cancel_options.h"
#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/session.h"
#include "common/format.h"

namespace rota::commands {
namespace {

Result<int> cancel(Program& program, Arguments arguments) {
  const Me me{.user = own_user, .is_root = geteuid() == 0};
  ROTA_TRY(auto options, cancel_options_from(arguments, me));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  proto::CancelRequest request;
  ROTA_TRY(request.request, make_request_id());
  request.filter = std::move(options.filter);
  request.signal = options.signal;
  ROTA_TRY(const auto reply, ask<proto::CancelReply>(controller, request));
  program.note(format("{} jobs {}", reply.done.size(),
                      options.signal == 0 ? "are being ended" : "were sent the signal"));
  if (!options.quiet)
    for (const proto::JobRefusal& refusal : reply.refused) program.say(refusal_text(refusal));
  return exit_code_of(reply.refused);
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(cancel_command(), argc, argv, cancel);
}
