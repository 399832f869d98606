// commands/rota.cpp - rota: version, ping, and the door to the sister commands.
#include <algorithm>
#include <array>

#include "commands/copy.h"
#include "commands/exit_code.h"
#include "commands/forward.h"
#include "commands/job_change.h"
#include "commands/json.h"
#include "commands/output.h"
#include "commands/program.h"
#include "commands/session.h"
#include "commands/show.h"
#include "commands/sisters.h"
#include "commands/translate.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"
#include "common/version.h"

namespace rota::commands {
namespace {

enum : int { id_json = option_own, id_task, id_address, id_port };

constexpr auto table = std::to_array<Option>({
    {id_json, 0, "json", "", "print the answer of version, ping, show and url as JSON",
     Scope::command_line},
    {id_task, 0, "task", "N", "with cp and port-forward: beside this task; default: 0",
     Scope::command_line},
    {id_address, 0, "address", "IP", "with port-forward: listen on this; default: 127.0.0.1",
     Scope::command_line},
    {id_port, 0, "port", "N", "with url: of this port; default: the job's first",
     Scope::command_line},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 14> synopses{
    "[OPTION...] version",
    "[OPTION...] ping",
    "[OPTION...] show job|node|project|queue NAME...",
    "[OPTION...] hold|release|requeue|suspend|resume JOB...",
    "[OPTION...] update job JOB... KEY=VALUE...",
    "[OPTION...] checkpointed [JOB]",
    "[OPTION...] bash JOB",
    "[OPTION...] cp JOB:PATH PATH | PATH JOB:PATH",
    "[OPTION...] port-forward JOB [HERE:]THERE...",
    "[OPTION...] login|logout REGISTRY",
    "[OPTION...] url JOB",
    "[OPTION...] translate FILE | 'COMMAND...'",
    "[OPTION...] submit|run|alloc|queue|cancel|info|logs [ARGUMENT...]",
    "[OPTION...] exec|attach|share|project|admin|secret [ARGUMENT...]",
};

constexpr Command command{
    .name = "rota",
    .synopses = synopses,
    .summary =
        "Show the version, ask whether the controller is there, show all that is known of jobs, "
        "nodes, projects and queues; hold, release, requeue, suspend, resume or change a job, say "
        "that its work is saved, open a shell in it, copy files, forward ports, give its address "
        "for a browser; keep logins to registries, say what a script or command of "
        "Slurm's or Run:ai's is here, or run one of the other commands.",
    .options = table,
    .options_anywhere = false,
};

constexpr auto sisters =
    std::to_array<std::string_view>({"submit", "run", "alloc", "queue", "cancel", "info", "logs",
                                     "exec", "attach", "share", "project", "admin", "secret"});
constexpr auto verbs = std::to_array<std::string_view>(
    {"version",      "ping",   "show",   "hold",         "release",   "requeue",
     "suspend",      "resume", "update", "checkpointed", "bash",      "cp",
     "port-forward", "login",  "logout", "url",          "translate", "submit",
     "run",          "alloc",  "queue",  "cancel",       "info",      "logs",
     "exec",         "attach", "share",  "project",      "admin",     "secret"});

Result<int> show_version(bool as_json) {
  std::string text = format("rota {}\n", version());
  if (as_json) {
    text.clear();
    JsonWriter json(text);
    json.begin_object();
    json.field("version", version());
    json.end_object();
    text += '\n';
  }
  ROTA_CHECK(print(text));
  return exit_ok;
}

std::string ping_json(const net::ConnectOptions& controller, const proto::PingReply& reply,
                      Duration took) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("controller", controller.address);
  json.field("cluster", reply.cluster_name);
  json.field("version", reply.version);
  json.field_or_null("trouble", !reply.trouble.empty(), reply.trouble);
  json.field_or_null("up_since", bool(reply.up_since), rfc3339(reply.up_since));
  json.field("jobs_waiting", reply.jobs_waiting);
  json.field("jobs_running", reply.jobs_running);
  json.field("nodes_up", reply.nodes_up);
  json.field("nodes_down", reply.nodes_down);
  json.field("round_trip_microseconds", took / std::chrono::microseconds(1));
  json.end_object();
  return text + "\n";
}

std::string ping_text(const net::ConnectOptions& controller, const proto::PingReply& reply,
                      Duration took) {
  const auto microseconds = took / std::chrono::microseconds(1);
  return format(
      "controller {} answers in {}.{} ms: cluster {}, version {}, up since {}\n"
      "nodes: {} up, {} down; jobs: {} waiting, {} running\n",
      controller.address, microseconds / 1000, microseconds % 1000 / 100,
      escaped(reply.cluster_name), escaped(reply.version), rfc3339(reply.up_since), reply.nodes_up,
      reply.nodes_down, reply.jobs_waiting, reply.jobs_running);
}

Result<int> ping(const Program& program, bool as_json) {
  ROTA_TRY(const auto controller, controller_options(program));
  const MonoTime start = mono_now();
  ROTA_TRY(const auto reply, ask<proto::PingReply>(controller, proto::PingRequest{.token = 1}));
  const Duration took = mono_now() - start;
  ROTA_CHECK(
      print(as_json ? ping_json(controller, reply, took) : ping_text(controller, reply, took)));
  if (reply.trouble.empty()) return exit_ok;
  program.say(format("the controller takes no changes now: {}", reply.trouble));
  return exit_error;
}

Result<int> copy(const Program& program, const std::vector<std::string>& words,
                 std::uint32_t task) {
  if (words.size() != 2)
    return Error{Errc::usage, "cp needs two places: 'cp 12:out/model.pt .' or 'cp data 12:/tmp'"};
  ROTA_TRY(const auto from, copy_place_from(words[0]));
  ROTA_TRY(const auto to, copy_place_from(words[1]));
  ROTA_TRY(const auto controller, controller_options(program));
  return copy_files(program, controller, from, to, task);
}

Result<int> forward(const Program& program, const std::vector<std::string>& words,
                    ForwardOptions options) {
  if (words.size() < 2)
    return Error{Errc::usage, "port-forward needs a job and ports: 'port-forward 12 8888:80'"};
  ROTA_TRY(options.job, job_named(program, words.front()));
  for (std::size_t i = 1; i < words.size(); ++i) {
    ROTA_TRY(const auto port, forward_port_from(words[i]));
    options.ports.push_back(port);
  }
  ROTA_TRY(const auto controller, controller_options(program));
  return run_to_end(forward_ports(controller, std::move(options), program));
}

Result<int> url(const Program& program, const std::vector<std::string>& words, std::uint16_t port,
                bool as_json) {
  if (words.size() != 1)
    return Error{Errc::usage, format("one job number is needed, {} were given", words.size())};
  proto::UrlRequest request;
  ROTA_TRY(request.job, job_named(program, words.front()));
  request.port = port;
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(const auto reply, ask<proto::UrlReply>(controller, request));
  const std::string whole = format("{}?rota_token={}", reply.url, reply.token);
  std::string text = whole;
  if (as_json) {
    text.clear();
    JsonWriter json(text);
    json.begin_object();
    json.field("job", request.job.value);
    json.field("url", reply.url);
    json.field("token", reply.token);
    json.field("url_with_token", whole);
    json.end_object();
  }
  ROTA_CHECK(print(text + "\n"));
  return exit_ok;
}

Result<int> run_verb(Program& program, Arguments arguments) {
  if (arguments.operands.empty())
    return Error{Errc::usage, format("what to do? {}", fmt::join(verbs, ", "))};
  const std::string verb = arguments.operands.front();
  std::vector<std::string> rest(arguments.operands.begin() + 1, arguments.operands.end());
  for (const std::string_view sister : sisters)
    if (verb == sister) return become_sister(format("r{}", verb), rest);
  if (verb == "login" || verb == "logout") {
    rest.insert(rest.begin(), verb);
    return become_sister("rsecret", rest);
  }
  if (verb == "bash") {
    if (rest.size() != 1)
      return Error{Errc::usage, format("one job number is needed, {} were given", rest.size())};
    return become_sister("rexec", {"-it", rest.front()});
  }
  const auto is_verb = [&verb](std::string_view known) { return verb == known; };
  if (std::ranges::none_of(verbs, is_verb)) {
    const auto near = nearest(verb, verbs);
    return Error{Errc::usage, format("unknown command {}; {}", quoted(verb),
                                     near.empty() ? format("known are {}", fmt::join(verbs, ", "))
                                                  : format("did you mean '{}'?", near))};
  }
  // Options may stand behind these as well.
  Arguments behind;
  Command with_words = command;
  with_words.options_anywhere = verb == "url" || verb == "show";
  if (const auto bad = parse_words(with_words, rest, behind)) return Error{Errc::usage, bad->what};
  const bool has_arguments = is_change(verb) || verb == "checkpointed" || verb == "show" ||
                             verb == "cp" || verb == "port-forward" || verb == "url" ||
                             verb == "translate";
  if (!behind.operands.empty() && !has_arguments)
    return Error{Errc::usage, format("{} takes no arguments", verb)};
  bool as_json = false;
  std::uint16_t port = 0;
  ForwardOptions forwarding;
  for (const auto* list : {&arguments.options, &behind.options}) {
    for (const Given& given : *list) {
      as_json = as_json || given.option->id == id_json;
      if (given.option->id == id_address) forwarding.address = given.value;
      if (given.option->id == id_port) {
        const auto number = number_parse(given.value, 65535);
        if (!number || *number == 0) return bad_value(given, "a port is a number from 1 to 65535");
        port = static_cast<std::uint16_t>(*number);
      }
      if (given.option->id != id_task) continue;
      const auto task = number_parse(given.value, JobBounds::task_count_max - 1);
      if (!task) return bad_value(given, task.error().detail);
      forwarding.task = static_cast<std::uint32_t>(*task);
    }
  }
  if (is_change(verb)) return change_jobs(program, verb, behind.operands);
  if (verb == "checkpointed") return tell_saved(program, behind.operands);
  if (verb == "translate") return translate(program, behind.operands);
  if (verb == "cp") return copy(program, behind.operands, forwarding.task);
  if (verb == "port-forward") return forward(program, behind.operands, std::move(forwarding));
  if (verb == "url") return url(program, behind.operands, port, as_json);
  if (verb == "show") return show(program, behind.operands, as_json);
  return verb == "version" ? show_version(as_json) : ping(program, as_json);
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, run_verb);
}
