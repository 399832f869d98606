// commands/rshare.cpp - rshare: what every department, project and user is due, holds and waits
// for.
#include <unistd.h>

#include <array>

#include "commands/exit_code.h"
#include "commands/org_ask.h"
#include "commands/output.h"
#include "commands/program.h"
#include "commands/session.h"
#include "commands/share_view.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

enum : int { id_no_header = option_own, id_parsable, id_json };

constexpr auto options_table = std::to_array<Option>({
    {id_no_header, 'n', "noheader", "", "print no header line"},
    {id_parsable, 'P', "parsable", "", "print columns separated by '|', without blanks"},
    {id_json, 0, "json", "", "print JSON, as doc/json.md describes it"},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...]"};

constexpr Command command{
    .name = "rshare",
    .synopses = synopses,
    .summary =
        "Show quota, fair share and what is held and waited for, for every department, project "
        "and user.",
    .options = options_table,
    .environment_prefix = "ROTA_SHARE_",
};

std::string json_text(const OrgAnswer& answer) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("revision", answer.revision);
  json.key("shares");
  json.begin_array();
  for (const ShareView& share : answer.shares) write_share(json, share);
  json.end_array();
  json.end_object();
  return text + "\n";
}

Result<int> share(Program& program, Arguments arguments) {
  if (!arguments.operands.empty())
    return Error{Errc::usage, format("unexpected argument {}", quoted(arguments.operands.front()))};
  TableStyle style = style_for(STDOUT_FILENO);
  bool as_json = false;
  for (const Given& given : arguments.options) {
    as_json = as_json || given.option->id == id_json;
    if (given.option->id == id_no_header) style.header = false;
    if (given.option->id == id_parsable) style.separator = '|';
  }
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  ROTA_TRY(const auto answer, ask_org(controller, true));
  ROTA_CHECK(print(as_json ? json_text(answer)
                           : share_table(answer.shares, style.separator != 0).render(style)));
  return exit_ok;
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, share);
}
