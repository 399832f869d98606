// commands/rproject.cpp - rproject: list, show, create, update, delete.
#include <unistd.h>

#include "commands/exit_code.h"
#include "commands/org_view.h"
#include "commands/output.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/project_options.h"
#include "commands/session.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

std::string json_text(const OrgAnswer& answer) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("revision", answer.revision);
  json.key("projects");
  json.begin_array();
  const ProjectShares shares(answer.shares);
  for (const Project& project : answer.org.projects)
    write_project(json, project, shares.of(project.name));
  json.end_array();
  json.end_object();
  return text + "\n";
}

Result<int> show(const net::ConnectOptions& controller, const ProjectOptions& options) {
  ROTA_TRY(auto answer, ask_org(controller, true));
  if (options.command == ProjectCommand::show) {
    const Project* found = find_project(answer.org, options.name);
    if (found == nullptr)
      return Error{Errc::no_such_project, format("{}; {}", quoted(options.name),
                                                 known_projects(answer.org, options.name))};
    Project project = *found;
    if (!options.json) {
      ROTA_CHECK(print(project_text(project, ProjectShares(answer.shares).of(project.name))));
      return exit_ok;
    }
    answer.org.projects = {std::move(project)};
  }
  TableStyle style = style_for(STDOUT_FILENO);
  style.header = options.header;
  if (options.parsable) style.separator = '|';
  ROTA_CHECK(print(options.json ? json_text(answer) : project_table(answer).render(style)));
  return exit_ok;
}

proto::ProjectVerb verb_of(ProjectCommand command) {
  switch (command) {
    case ProjectCommand::create:
      return proto::ProjectVerb::create;
    case ProjectCommand::remove:
      return proto::ProjectVerb::remove;
    default:
      return proto::ProjectVerb::update;
  }
}

Result<int> change(const Program& program, const net::ConnectOptions& controller,
                   const ProjectOptions& options) {
  proto::ProjectChangeRequest request;
  ROTA_TRY(request.request, make_request_id());
  request.verb = verb_of(options.command);
  request.name = options.name;
  request.settings = options.settings;
  ROTA_TRY(const auto reply, ask<proto::ProjectChangeReply>(controller, request));
  for (const std::string& line : reply.warnings) program.say(format("warning: {}", line));
  std::string text;
  for (const std::string& line : reply.lines) text += printable(line) + "\n";
  if (!options.quiet) ROTA_CHECK(print(text.empty() ? "nothing changes\n" : text));
  return exit_ok;
}

Result<int> project(Program& program, Arguments arguments) {
  ROTA_TRY(const auto options, project_options_from(arguments));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  const bool reads =
      options.command == ProjectCommand::list || options.command == ProjectCommand::show;
  return reads ? show(controller, options) : change(program, controller, options);
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(project_command(), argc, argv, project);
}
