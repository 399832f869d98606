// contribs/slurm/sinfo.cpp - sinfo: queues as partitions, and their nodes.
#include <algorithm>
#include <array>
#include <map>

#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/org_ask.h"
#include "commands/output.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/lower.h"
#include "common/units.h"
#include "fields.h"
#include "nodes.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using namespace commands;

enum : int {
  id_format = option_own,
  id_noheader,
  id_long,
  id_nodes,
  id_by_node,
  id_partition,
  id_states,
  id_summarize,
  id_reasons,
  id_ignored,
};

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_ignored, 'a', "all", "", "accepted: all queues are shown", here},
    {id_ignored, 'e', "exact", "", "accepted", here},
    {id_format, 'o', "format", "FORMAT", "letters of what to print: %P %t %N", here},
    {id_noheader, 'h', "noheader", "", "print no header line", here},
    {id_long, 'l', "long", "", "more columns", here},
    {id_nodes, 'n', "nodes", "NODES", "only these nodes", here},
    {id_by_node, 'N', "Node", "", "one line for each node and queue", here},
    {id_partition, 'p', "partition", "LIST", "only these queues", here},
    {id_states, 't', "states", "LIST", "only nodes in these states: idle, mix, alloc, ...", here},
    {id_summarize, 's', "summarize", "", "one line for each queue", here},
    {id_reasons, 'R', "list-reasons", "", "why nodes are not up", here},
    {id_ignored, 'M', "clusters", "LIST", "accepted: there is one", here},
    verbose_option,
    {option_help, 0, "help", "", "show this help and end", here},
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 1> synopses{"[OPTION...]"};
constexpr Command command{.name = "sinfo",
                          .synopses = synopses,
                          .summary = "Show queues and nodes, as Slurm does: see rinfo(1).",
                          .options = table};

struct Wanted {
  std::string format_text = "%#P %.5a %.10l %.6D %.6t %N";
  std::vector<std::string> nodes;
  std::vector<std::string> queues;
  std::vector<std::string> states;
  bool header = true;
  bool by_node = false;
  bool down_only = false;
};

/// One line of the list: nodes of a queue that look alike.
struct Group {
  const Partition* partition = nullptr;
  std::vector<const NodeView*> nodes;
};

struct Letter {
  char letter;
  std::string_view header;
  std::string (*text)(const Group& group);
};

std::string range_of(const Group& group, std::uint64_t (*value)(const NodeView& node)) {
  std::uint64_t least = UINT64_MAX;
  for (const NodeView* node : group.nodes) least = std::min(least, value(*node));
  const bool differ =
      std::ranges::any_of(group.nodes, [&](const NodeView* node) { return value(*node) != least; });
  return group.nodes.empty() ? "0" : format("{}{}", least, differ ? "+" : "");
}
std::string counted(const Group& group, bool of_cpus) {
  std::uint64_t allocated = 0, idle = 0, other = 0, total = 0;
  for (const NodeView* node : group.nodes) {
    const std::uint64_t all = of_cpus ? node->inventory.cpu_count : 1;
    const std::uint64_t held = of_cpus ? node->cpus_held : node->cpus_held > 0 ? 1 : 0;
    const bool is_up = node->state == NodeState::up;
    total += all;
    allocated += held;
    (is_up ? idle : other) += all - held;
  }
  return format("{}/{}/{}/{}", allocated, idle, other, total);
}
std::string names_of(const Group& group) {
  std::vector<std::string> names;
  for (const NodeView* node : group.nodes) names.push_back(node->identity.name);
  return hostlist_fold(names);
}
const NodeView& first_of(const Group& group) { return *group.nodes.front(); }
std::string state_of(const Group& group, bool compact) {
  return group.nodes.empty() ? "n/a" : node_state(first_of(group), compact);
}

constexpr auto letters = std::to_array<Letter>({
    {'P', "PARTITION",
     [](const Group& group) {
       return group.partition->name + (group.partition->is_default ? "*" : "");
     }},
    {'R', "PARTITION", [](const Group& group) { return group.partition->name; }},
    {'a', "AVAIL", [](const Group&) { return std::string("up"); }},
    {'l', "TIMELIMIT", [](const Group& group) { return group.partition->limit; }},
    {'L', "DEFAULTTIME", [](const Group& group) { return group.partition->default_time; }},
    {'D', "NODES", [](const Group& group) { return format("{}", group.nodes.size()); }},
    {'F', "NODES(A/I/O/T)", [](const Group& group) { return counted(group, false); }},
    {'A', "NODES(A/I)",
     [](const Group& group) {
       const std::string all = counted(group, false);
       return all.substr(0, all.find('/', all.find('/') + 1));
     }},
    {'t', "STATE", [](const Group& group) { return state_of(group, true); }},
    {'T', "STATE", [](const Group& group) { return state_of(group, false); }},
    {'N', "NODELIST", names_of},
    {'n', "HOSTNAMES", names_of},
    {'c', "CPUS",
     [](const Group& group) {
       return range_of(
           group, [](const NodeView& node) -> std::uint64_t { return node.inventory.cpu_count; });
     }},
    {'C', "CPUS(A/I/O/T)", [](const Group& group) { return counted(group, true); }},
    {'m', "MEMORY",
     [](const Group& group) {
       return range_of(group,
                       [](const NodeView& node) { return node.inventory.memory_bytes >> 20; });
     }},
    {'G', "GRES",
     [](const Group& group) { return group.nodes.empty() ? "(null)" : gres_of(first_of(group)); }},
    {'f', "AVAIL_FEATURES",
     [](const Group& group) {
       return group.nodes.empty() ? "(null)" : features_of(first_of(group));
     }},
    {'b', "ACTIVE_FEATURES",
     [](const Group& group) {
       return group.nodes.empty() ? "(null)" : features_of(first_of(group));
     }},
    {'E', "REASON",
     [](const Group& group) {
       const bool has = !group.nodes.empty() && !first_of(group).reason.empty();
       return has ? first_of(group).reason : "none";
     }},
    {'H', "TIMESTAMP",
     [](const Group& group) {
       return group.nodes.empty() ? "Unknown" : date_text(first_of(group).since);
     }},
    {'u', "USER", [](const Group&) { return std::string("root"); }},
    {'g', "GROUPS", [](const Group&) { return std::string("all"); }},
    {'h', "OVERSUBSCRIBE", [](const Group&) { return std::string("NO"); }},
    {'r', "ROOT", [](const Group&) { return std::string("no"); }},
    {'s', "JOB_SIZE", [](const Group&) { return std::string("1-infinite"); }},
    {'w', "WEIGHT", [](const Group&) { return std::string("1"); }},
    {'z', "S:C:T",
     [](const Group& group) {
       return group.nodes.empty() ? "0" : format("1:{}:1", first_of(group).inventory.cpu_count);
     }},
    {'X', "SOCKETS", [](const Group&) { return std::string("1"); }},
    {'d', "TMP_DISK", [](const Group&) { return std::string("0"); }},
    {'O', "CPU_LOAD", [](const Group&) { return std::string("N/A"); }},
});

struct Part {
  std::string literal;
  const Letter* letter = nullptr;
  std::size_t width = 0;
  bool right = false;
};

Result<std::vector<Part>> parts_of(std::string_view text) {
  std::vector<Part> parts;
  Part part;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      part.literal += text[i];
      continue;
    }
    ++i;
    bool fits = false;  // "%#P": as wide as the longest
    if (text[i] == '#') fits = true, ++i;
    if (i < text.size() && text[i] == '.') part.right = true, ++i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9')
      part.width = std::min<std::size_t>(
          part.width * 10 + static_cast<std::size_t>(text[i++] - '0'), 10'000);
    const auto found =
        std::ranges::find(letters, i < text.size() ? text[i] : '\0', &Letter::letter);
    if (found == letters.end())
      return Error{Errc::usage, format("Invalid node format specification: {}",
                                       i < text.size() ? text.substr(i, 1) : text)};
    part.letter = &*found;
    if (fits) part.width = SIZE_MAX;
    parts.push_back(std::exchange(part, {}));
  }
  if (!part.literal.empty()) parts.push_back(std::move(part));
  return parts;
}

Result<Wanted> wanted_from(const Arguments& arguments) {
  Wanted wanted;
  std::string own;
  bool is_long = false;
  for (const Given& given : arguments.options) {
    switch (given.option->id) {
      case id_format:
        own = given.value;
        break;
      case id_noheader:
        wanted.header = false;
        break;
      case id_long:
        is_long = true;
        break;
      case id_nodes: {
        ROTA_TRY(wanted.nodes, hostlist_expand(given.value));
        break;
      }
      case id_by_node:
        wanted.by_node = true;
        break;
      case id_partition:
        ROTA_CHECK(add_words(given.value, wanted.queues));
        break;
      case id_states:
        ROTA_CHECK(add_words(lower_case(given.value), wanted.states));
        break;
      case id_summarize:
        wanted.format_text = "%#P %.5a %.10l %.16F %N";
        break;
      case id_reasons:
        wanted.down_only = true;
        wanted.format_text = "%20E %9u %19H %N";
        break;
      default:
        break;
    }
  }
  if (!arguments.operands.empty())
    return Error{Errc::usage, format("Unrecognized argument: {}", arguments.operands.front())};
  if (wanted.by_node)
    wanted.format_text =
        is_long ? "%#N %.6D %#P %.11T %.4c %.8z %.6m %.8d %.6w %.8f %20E" : "%#N %.6D %#P %6t";
  else if (is_long)
    wanted.format_text = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
  if (!own.empty()) wanted.format_text = own;
  return wanted;
}

/// Lines that would look alike are one, unless each node has its own.
std::vector<Group> groups_of(const Wanted& wanted, const std::vector<Partition>& partitions,
                             const std::vector<NodeView>& nodes, const std::vector<Part>& parts) {
  std::vector<Group> groups;
  for (const Partition& partition : partitions) {
    std::map<std::string, Group> alike;
    std::vector<std::string> order;
    for (const NodeView& node : nodes) {
      if (!partition.holds(node)) continue;
      const std::string state = node_state(node, true);
      const bool is_wanted =
          wanted.states.empty() || std::ranges::any_of(wanted.states, [&](const std::string& each) {
            return state.starts_with(each) || node_state(node, false) == each;
          });
      if (!is_wanted || (wanted.down_only && node.state == NodeState::up)) continue;
      const Group alone{&partition, {&node}};
      std::string key = wanted.by_node ? node.identity.name : std::string();
      for (const Part& part : parts)
        if (part.letter != nullptr &&
            std::string_view("PRtTEHfbGcmn").find(part.letter->letter) != std::string_view::npos)
          key += "\n" + part.letter->text(alone);
      if (!alike.contains(key)) order.push_back(key);
      Group& group = alike[key];
      group.partition = &partition;
      group.nodes.push_back(&node);
    }
    for (const std::string& key : order) groups.push_back(alike[key]);
    const bool shows_empty = wanted.nodes.empty() && wanted.states.empty() && !wanted.down_only;
    if (order.empty() && shows_empty && !wanted.by_node) groups.push_back({&partition, {}});
  }
  return groups;
}

Result<int> show(Program& program, Arguments arguments) {
  ROTA_TRY(const Wanted wanted, wanted_from(arguments));
  ROTA_TRY(auto parts, parts_of(wanted.format_text));
  ROTA_TRY(auto partitions, partitions_of(program));
  if (!wanted.queues.empty())
    std::erase_if(partitions, [&wanted](const Partition& partition) {
      return std::ranges::find(wanted.queues, partition.name) == wanted.queues.end();
    });
  ROTA_TRY(auto nodes, nodes_named(program, wanted.nodes));
  std::ranges::sort(nodes, {}, [](const NodeView& node) { return node.identity.name; });
  const std::vector<Group> groups = groups_of(wanted, partitions, nodes, parts);
  for (Part& part : parts) {
    if (part.width != SIZE_MAX) continue;
    part.width = part.letter->header.size();
    for (const Group& group : groups)
      part.width = std::max(part.width, part.letter->text(group).size());
  }
  const auto line = [&parts](const Group* group) {
    std::string text;
    for (const Part& part : parts) {
      text += part.literal;
      if (part.letter == nullptr) continue;
      text +=
          fitted(group == nullptr ? std::string(part.letter->header) : part.letter->text(*group),
                 part.width, part.right);
    }
    while (text.ends_with(' ')) text.pop_back();
    return text + "\n";
  };
  std::string text;
  if (wanted.header) text += line(nullptr);
  for (const Group& group : groups) text += line(&group);
  ROTA_CHECK(print(text));
  return exit_ok;
}

}  // namespace

int sinfo(const std::vector<std::string>& words) { return slurm_main(command, words, show); }

}  // namespace rota::slurm
