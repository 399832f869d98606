// sim/what_if_command.cpp - rsim what-if: the same jobs under other quotas.
#include <unistd.h>

#include "commands/exit_code.h"
#include "commands/output.h"
#include "sim/replay_options.h"
#include "sim/rsim_options.h"
#include "sim/text_file.h"
#include "sim/what_if_html.h"
#include "sim/what_if_text.h"

namespace rota::sim {

using namespace commands;

Result<int> what_if_command(const Arguments& arguments) {
  ROTA_TRY(const auto request, read_replay_request(arguments, "what-if"));
  if (request.with.empty())
    return Error{Errc::usage, "what-if: with which projects instead? --with=FILE"};
  ROTA_TRY(const auto before, run_replay(request, request.projects, "before"));
  ROTA_TRY(const auto after, run_replay(request, request.with, "after"));
  if (!request.html.empty()) ROTA_CHECK(write_text_file(request.html, what_if_html(before, after)));
  ROTA_CHECK(print(request.json ? what_if_json(before, after)
                                : what_if_text(before, after, style_for(STDOUT_FILENO))));
  return exit_ok;
}

}  // namespace rota::sim
