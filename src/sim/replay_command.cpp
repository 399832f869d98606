// sim/replay_command.cpp - rsim replay: a trace, and what it would have been like.
#include <unistd.h>

#include "commands/exit_code.h"
#include "commands/output.h"
#include "sim/replay_html.h"
#include "sim/replay_options.h"
#include "sim/replay_text.h"
#include "sim/rsim_options.h"
#include "sim/text_file.h"

namespace rota::sim {

using namespace commands;

Result<int> replay_command(const Arguments& arguments) {
  ROTA_TRY(const auto request, read_replay_request(arguments, "replay"));
  ROTA_TRY(const auto report, run_replay(request, request.projects, "replay"));
  if (!request.html.empty()) ROTA_CHECK(write_text_file(request.html, replay_html(report)));
  std::string text;
  if (request.json) {
    JsonWriter json(text);
    write_replay(json, report);
    text += '\n';
  } else {
    text = replay_text(report, style_for(STDOUT_FILENO));
  }
  ROTA_CHECK(print(text));
  return exit_ok;
}

}  // namespace rota::sim
