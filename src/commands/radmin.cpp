// commands/radmin.cpp - radmin: who may hold how much, described in a file: apply, show, export;
// and which nodes and GPUs take new jobs.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <iterator>

#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/org_ask.h"
#include "commands/org_view.h"
#include "commands/output.h"
#include "commands/payload.h"
#include "commands/program.h"
#include "commands/session.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/nearest.h"
#include "model/org_yaml.h"
#include "proto/codec.h"

namespace rota::commands {
namespace {

enum : int { id_dry_run = option_own, id_yes, id_reason, id_no_header, id_parsable, id_json };

constexpr auto here = Scope::command_line;
constexpr auto options_table = std::to_array<Option>({
    {id_dry_run, 0, "dry-run", "", "apply: only show what would change", here},
    {id_yes, 'y', "yes", "", "apply: do not ask on a terminal", here},
    {id_reason, 'r', "reason", "TEXT", "node drain and gpu drain: why, for whoever looks", here},
    {id_no_header, 'n', "noheader", "", "show: print no header lines"},
    {id_parsable, 'P', "parsable", "", "show: print columns separated by '|', without blanks"},
    {id_json, 0, "json", "", "apply and show: print JSON, as doc/json.md describes it"},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 5> synopses{
    "[OPTION...] apply FILE",
    "[OPTION...] show",
    "[OPTION...] export",
    "[OPTION...] node drain|resume NODES",
    "[OPTION...] gpu drain|ok NODE GPU",
};

constexpr Command command{
    .name = "radmin",
    .synopses = synopses,
    .summary =
        "Make projects, departments, queues and users what a file says, show them, or print them "
        "as such a file; keep new jobs off nodes and GPUs, or let them return.",
    .options = options_table,
    .environment_prefix = "ROTA_ADMIN_",
};

struct AdminOptions {
  bool dry_run = false;
  bool yes = false;
  bool json = false;
  std::string reason;
  TableStyle style;
};

AdminOptions options_from(const Arguments& arguments) {
  AdminOptions options;
  options.style = style_for(STDOUT_FILENO);
  for (const Given& given : arguments.options) {
    const int id = given.option->id;
    options.dry_run = options.dry_run || id == id_dry_run;
    options.yes = options.yes || id == id_yes;
    options.json = options.json || id == id_json;
    if (id == id_reason) options.reason = given.value;
    if (id == id_no_header) options.style.header = false;
    if (id == id_parsable) options.style.separator = '|';
  }
  return options;
}

// ---- apply ----

Result<Org> read_org(const std::string& file) {
  auto org = file == "-" ? org_load("/dev/stdin") : org_load(file);
  // A file that is not there is a mistake on this command line; "not found" is about projects.
  if (!org && org.error().code == Errc::not_found) return Error{Errc::usage, org.error().detail};
  return org;
}

std::string lines_text(const proto::OrgApplyReply& reply) {
  std::string text;
  for (const std::string& line : reply.lines) text += printable(line) + "\n";
  if (reply.line_count > reply.lines.size())
    text += format("... and {} more\n", reply.line_count - reply.lines.size());
  return text;
}

std::string apply_json(const proto::OrgApplyReply& reply, bool applied) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("applied", applied);
  json.field("revision", reply.revision);
  json.field("changes", reply.line_count);
  json.key("difference");
  json.begin_array();
  for (const std::string& line : reply.lines) json.value(line);
  json.end_array();
  json.key("warnings");
  json.begin_array();
  for (const std::string& line : reply.warnings) json.value(line);
  json.end_array();
  json.end_object();
  return text + "\n";
}

/// Asks the person at the terminal; anybody else has said so by calling us.
bool is_confirmed(std::uint64_t changes) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return true;
  std::fprintf(stderr, "apply %s? [y/N] ",
               changes == 1 ? "this change" : format("these {} changes", changes).c_str());
  std::fflush(stderr);
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

Result<int> apply(const Program& program, const std::string& file, const AdminOptions& options) {
  proto::OrgApplyRequest request;
  ROTA_TRY(request.desired, read_org(file));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  request.dry_run = true;
  ROTA_TRY(const auto planned, ask<proto::OrgApplyReply>(controller, request));
  for (const std::string& line : planned.warnings) program.say(format("warning: {}", line));
  const bool nothing = planned.line_count == 0;
  if (!options.json) ROTA_CHECK(print(nothing ? "nothing changes\n" : lines_text(planned)));
  if (nothing || options.dry_run) {
    if (options.json) ROTA_CHECK(print(apply_json(planned, false)));
    return exit_ok;
  }
  if (!options.yes && !is_confirmed(planned.line_count)) {
    program.say("nothing was changed");
    return exit_error;
  }
  request.dry_run = false;
  request.revision = planned.revision;
  ROTA_TRY(request.request, make_request_id());
  ROTA_TRY(const auto reply, ask<proto::OrgApplyReply>(controller, request));
  ROTA_CHECK(print(options.json ? apply_json(reply, true)
                                : format("applied: revision {}\n", reply.revision)));
  return exit_ok;
}

// ---- show and export ----

std::string show_json(const OrgAnswer& answer) {
  std::string text;
  JsonWriter json(text);
  const auto list = [&json](std::string_view name, const auto& items, auto write) {
    json.key(name);
    json.begin_array();
    for (const auto& item : items) write(item);
    json.end_array();
  };
  const ProjectShares shares(answer.shares);
  json.begin_object();
  json.field("revision", answer.revision);
  list("departments", answer.org.departments,
       [&](const Department& item) { write_department(json, item); });
  list("projects", answer.org.projects,
       [&](const Project& item) { write_project(json, item, shares.of(item.name)); });
  list("queues", answer.org.queues, [&](const Queue& item) { write_queue(json, item); });
  list("users", answer.org.users, [&](const UserDefaults& item) { write_user(json, item); });
  json.end_object();
  return text + "\n";
}

std::string show_text(const OrgAnswer& answer, const TableStyle& style) {
  std::string text;
  const auto add = [&](const Table& table) {
    if (table.row_count() == 0) return;
    if (!text.empty()) text += "\n";
    text += table.render(style);
  };
  add(department_table(answer.org));
  add(project_table(answer));
  add(queue_table(answer.org));
  add(user_table(answer.org));
  return text;
}

Result<int> show(const Program& program, const AdminOptions& options, bool as_file) {
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  ROTA_TRY(const auto answer, ask_org(controller, !as_file));
  ROTA_CHECK(print(as_file        ? org_yaml(answer.org)
                   : options.json ? show_json(answer)
                                  : show_text(answer, options.style)));
  return exit_ok;
}

// ---- nodes and GPUs ----

Result<proto::NodeChangeRequest> node_request(const std::vector<std::string>& words,
                                              const AdminOptions& options) {
  using proto::NodeVerb;
  const bool is_gpu = words.front() == "gpu";
  const std::string verb = words.size() > 1 ? words[1] : "";
  const std::string_view back = is_gpu ? "ok" : "resume";
  if (verb != "drain" && verb != back)
    return Error{Errc::usage, format("{}: drain or {}?", words.front(), back)};
  if (is_gpu ? words.size() != 4 : words.size() < 3)
    return Error{Errc::usage, is_gpu ? format("gpu {} needs a node and a GPU of it", verb)
                                     : format("node {} needs nodes", verb)};
  proto::NodeChangeRequest request;
  request.reason = options.reason;
  if (is_gpu) {
    request.verb = verb == "drain" ? NodeVerb::drain_gpu : NodeVerb::return_gpu;
    request.nodes = {words[2]};
    request.gpu = words[3];
    return request;
  }
  request.verb = verb == "drain" ? NodeVerb::drain : NodeVerb::resume;
  for (std::size_t i = 2; i < words.size(); ++i) {
    auto names = hostlist_expand(words[i]);
    if (!names) return Error{Errc::usage, names.error().detail};
    std::move(names->begin(), names->end(), std::back_inserter(request.nodes));
  }
  return request;
}

Result<int> change_nodes(const Program& program, const std::vector<std::string>& words,
                         const AdminOptions& options) {
  ROTA_TRY(auto request, node_request(words, options));
  ROTA_TRY(request.request, make_request_id());
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  ROTA_TRY(const auto reply, ask<proto::NodeChangeReply>(controller, request));
  std::string text;
  for (const std::string& line : reply.lines) text += printable(line) + "\n";
  ROTA_CHECK(print(text));
  return exit_ok;
}

Result<int> admin(Program& program, Arguments arguments) {
  constexpr std::array<std::string_view, 5> verbs{"apply", "show", "export", "node", "gpu"};
  if (arguments.operands.empty())
    return Error{Errc::usage, "what to do? apply FILE, show, export, node or gpu"};
  const std::string& verb = arguments.operands.front();
  const AdminOptions options = options_from(arguments);
  if (verb == "apply") {
    if (arguments.operands.size() != 2)
      return Error{Errc::usage, "apply needs one file; '-' is standard input"};
    return apply(program, arguments.operands[1], options);
  }
  if (verb == "node" || verb == "gpu") return change_nodes(program, arguments.operands, options);
  if (verb != "show" && verb != "export") {
    const auto meant = nearest(verb, verbs);
    return Error{Errc::usage, format("unknown command {}; {}", quoted(verb),
                                     meant.empty() ? "known are apply, show, export, node, gpu"
                                                   : format("did you mean '{}'?", meant))};
  }
  if (arguments.operands.size() != 1)
    return Error{Errc::usage, format("{} takes no arguments", verb)};
  return show(program, options, verb == "export");
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, admin);
}
