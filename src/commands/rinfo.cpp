// commands/rinfo.cpp - rinfo: the nodes and their GPUs, and what has happened to them.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "commands/exit_code.h"
#include "commands/health_view.h"
#include "commands/node_view.h"
#include "commands/output.h"
#include "commands/program.h"
#include "commands/session.h"
#include "common/format.h"
#include "common/hostlist.h"

namespace rota::commands {
namespace {

enum : int { id_gpus = option_own, id_health, id_no_header, id_parsable, id_json };

constexpr auto options_table = std::to_array<Option>({
    {id_gpus, 0, "gpus", "", "one line for each GPU"},
    {id_health, 0, "health", "", "what has happened to GPUs and nodes, the latest last"},
    {id_no_header, 'n', "noheader", "", "print no header line"},
    {id_parsable, 'P', "parsable", "", "print columns separated by '|', without blanks"},
    {id_json, 0, "json", "", "print JSON, as doc/json.md describes it"},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});

constexpr std::array<std::string_view, 1> synopses{"[OPTION...] [NODES...]"};

constexpr Command command{
    .name = "rinfo",
    .synopses = synopses,
    .summary = "Show the nodes and their GPUs: all, or those named (dgx[1-4],login1).",
    .options = options_table,
    .environment_prefix = "ROTA_INFO_",
};

struct InfoOptions {
  std::vector<std::string> names;
  bool gpus = false;
  bool health = false;
  bool json = false;
  TableStyle style;
};

Result<InfoOptions> options_from(const Arguments& arguments) {
  InfoOptions options;
  options.style = style_for(STDOUT_FILENO);
  for (const Given& given : arguments.options) {
    const int id = given.option->id;
    options.gpus = options.gpus || id == id_gpus;
    options.health = options.health || id == id_health;
    options.json = options.json || id == id_json;
    if (id == id_no_header) options.style.header = false;
    if (id == id_parsable) options.style.separator = '|';
  }
  for (const std::string& operand : arguments.operands) {
    auto names = hostlist_expand(operand);
    if (!names) return Error{Errc::usage, names.error().detail};
    std::move(names->begin(), names->end(), std::back_inserter(options.names));
    if (options.names.size() > hostlist_size_max)
      return Error{Errc::usage, format("more than {} nodes are named", hostlist_size_max)};
  }
  return options;
}

std::string json_text(const std::vector<NodeView>& nodes) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("nodes");
  json.begin_array();
  for (const NodeView& node : nodes) write_node(json, node);
  json.end_array();
  json.end_object();
  return text + "\n";
}

Result<int> show_health(const net::ConnectOptions& controller, const InfoOptions& options) {
  proto::HealthRequest request;
  request.nodes = options.names;
  ROTA_TRY(const auto reply, ask<proto::HealthReply>(controller, request));
  ROTA_CHECK(print(options.json ? health_json(reply.events)
                                : health_table(reply.events).render(options.style)));
  return exit_ok;
}

Result<int> info(Program& program, Arguments arguments) {
  ROTA_TRY(const auto options, options_from(arguments));
  ROTA_TRY(const auto controller, controller_options(program));
  program.note(format("the controller is {}", controller.address));
  if (options.health) return show_health(controller, options);
  std::vector<NodeView> nodes;
  const proto::NodesRequest request{options.names};
  ROTA_CHECK(ask_stream<proto::NodesReply>(controller, request, [&](proto::NodesReply reply) {
    std::move(reply.nodes.begin(), reply.nodes.end(), std::back_inserter(nodes));
  }));
  if (options.names.empty()) sort_by_name(nodes);
  ROTA_CHECK(print(options.json   ? json_text(nodes)
                   : options.gpus ? gpu_table(nodes).render(options.style)
                                  : node_table(nodes).render(options.style)));
  return exit_ok;
}

}  // namespace
}  // namespace rota::commands

int main(int argc, char** argv) {
  using namespace rota::commands;
  return program_main(command, argc, argv, info);
}
