// commands/node_view.cpp - rows and JSON objects of nodes.
#include "commands/node_view.h"

#include <algorithm>

#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

/// Who holds the `index`th GPU of the inventory; none when it is idle.
JobId holder_of(const NodeView& node, std::size_t index) {
  return index < node.gpu_holders.size() ? node.gpu_holders[index] : JobId{};
}

/// Those who have a part of it.
std::vector<GpuShare> sharers_of(const NodeView& node, std::size_t index) {
  std::vector<GpuShare> sharers;
  for (const GpuShare& share : node.gpu_sharers)
    if (share.gpu == index) sharers.push_back(share);
  return sharers;
}

std::vector<MigHolder> instances_of(const NodeView& node, std::size_t index) {
  std::vector<MigHolder> instances;
  for (const MigHolder& each : node.mig_holders)
    if (each.slot.gpu == index) instances.push_back(each);
  return instances;
}

/// "12", or of a GPU that is shared "13:0.5 14:0.25", or cut "13:3g.20gb 14:1g.5gb".
std::string jobs_text(const NodeView& node, std::size_t index) {
  if (const JobId job = holder_of(node, index)) return format("{}", job.value);
  std::string text;
  for (const MigHolder& each : instances_of(node, index))
    text += format("{}{}:{}", text.empty() ? "" : " ", each.job.value, each.slot.profile);
  for (const GpuShare& share : sharers_of(node, index))
    text +=
        format("{}{}:{}", text.empty() ? "" : " ", share.job.value, decimal_format(share.share, 6));
  return text.empty() ? "-" : text;
}

/// What a GPU is used for: "whole", "shared", "idle", or of one that is cut its memory slices:
/// "[....333.]" has an instance of three compute slices on the slices 4 to 6, and "#" stands for
/// one that is not ours.
std::string layout_of(const NodeView& node, std::size_t index) {
  const MigGeometry& mig = node.inventory.gpus[index].mig;
  const auto instances = instances_of(node, index);
  const bool is_bound = mig.is_on && (!mig.switches || mig.blocked != 0);
  if (holder_of(node, index)) return "whole";
  if (!sharers_of(node, index).empty()) return "shared";
  if (instances.empty() && !is_bound) return "idle";
  std::string slices(mig.slice_count(), '.');
  for (std::size_t i = 0; i < slices.size(); ++i)
    if ((mig.blocked >> i & 1) != 0) slices[i] = '#';
  for (const MigHolder& each : instances) {
    const auto name = MigName::parse(each.slot.profile);
    const char letter =
        name && name->compute_slices < 10 ? static_cast<char>('0' + name->compute_slices) : '*';
    for (std::size_t i = each.slot.start; i < each.slot.start + each.slot.size; ++i)
      if (i < slices.size()) slices[i] = letter;
  }
  return format("[{}]", slices);
}

const GpuUsage* usage_of(const NodeView& node, const Gpu& gpu) {
  for (const GpuUsage& usage : node.usage)
    if (usage.uuid == gpu.uuid) return &usage;
  return nullptr;
}

/// In millionths, as projects are charged.
std::int64_t gpus_held(const NodeView& node) {
  std::int64_t held = 0;
  for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i)
    if (holder_of(node, i)) held += gpu_unit;
  for (const GpuShare& share : node.gpu_sharers) held += share.share;
  for (const MigHolder& each : node.mig_holders) held += each.slot.amount;
  return held;
}

/// "Tesla V100-SXM2-32GB", or all models of a mixed node.
std::string models_of(const NodeView& node) {
  std::vector<std::string_view> models;
  std::string text;
  for (const Gpu& gpu : node.inventory.gpus) {
    if (std::find(models.begin(), models.end(), gpu.model) != models.end()) continue;
    models.push_back(gpu.model);
    text += format("{}{}", text.empty() ? "" : ", ", gpu.model);
  }
  return text.empty() ? "-" : text;
}

/// Whether `a` comes before `b` when runs of digits count as numbers; a total order over texts.
bool natural_order(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto take_digits = [&](std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && digit(text[end])) ++end;
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
  };
  std::string_view x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (digit(x.front()) && digit(y.front())) {
      const auto m = take_digits(x), n = take_digits(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else if (x.front() != y.front()) {
      return x.front() < y.front();
    } else {
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;
}

/// How it is; a controller that is too old to say knows only well ones.
GpuHealth health_of(const NodeView& node, const Gpu& gpu) {
  for (const GpuHealth& health : node.health)
    if (health.uuid == gpu.uuid) return health;
  return {};
}

Colour colour_of(NodeState state) { return state == NodeState::up ? Colour::good : Colour::bad; }

/// How it is cut, and whose the instances are.
void write_mig(JsonWriter& json, const NodeView& node, std::size_t position) {
  const MigGeometry& mig = node.inventory.gpus[position].mig;
  json.key("mig");
  if (mig.profiles.empty()) return json.null();
  json.begin_object();
  json.field("possible", mig.can_be_cut());
  json.field("slices", mig.slice_count());
  json.key("profiles");
  json.begin_array();
  for (const MigProfile& profile : mig.profiles) json.value(profile.name);
  json.end_array();
  json.key("instances");
  json.begin_array();
  for (const MigHolder& each : instances_of(node, position)) {
    json.begin_object();
    json.field("profile", each.slot.profile);
    json.field("start", each.slot.start);
    json.field("size", each.slot.size);
    json.field("job", each.job.value);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_gpu(JsonWriter& json, const NodeView& node, std::size_t position) {
  const Gpu& gpu = node.inventory.gpus[position];
  const JobId job = holder_of(node, position);
  const GpuUsage* usage = usage_of(node, gpu);
  json.begin_object();
  json.field("index", gpu.index);
  json.field("uuid", gpu.uuid);
  json.field("model", gpu.model);
  json.field("memory_bytes", gpu.memory_bytes);
  json.field_or_null("job", bool(job), job.value);
  json.key("shares");
  json.begin_array();
  for (const GpuShare& share : sharers_of(node, position)) {
    json.begin_object();
    json.field("job", share.job.value);
    json.key("share");
    json.units(share.share, 6);
    json.end_object();
  }
  json.end_array();
  write_mig(json, node, position);
  json.field_or_null("utilization_percent", usage != nullptr,
                     usage != nullptr ? usage->utilization_percent : 0);
  json.field_or_null("memory_used_bytes", usage != nullptr,
                     usage != nullptr ? usage->memory_used_bytes : 0);
  json.field_or_null("processes", usage != nullptr, usage != nullptr ? usage->process_count : 0);
  json.field("pci_bus_id", gpu.pci_bus_id);
  json.field_or_null("numa_node", gpu.numa_node >= 0, gpu.numa_node);
  const GpuHealth health = health_of(node, gpu);
  json.field("condition", name_of(health.condition));
  json.field_or_null("condition_reason", !health.reason.empty(), health.reason);
  json.field_or_null("condition_since", bool(health.since), rfc3339(health.since));
  json.end_object();
}

}  // namespace

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::up:
      return "up";
    case NodeState::drained:
      return "drained";
    case NodeState::down:
      break;
  }
  return "down";
}

void sort_by_name(std::vector<NodeView>& nodes) {
  std::sort(nodes.begin(), nodes.end(), [](const NodeView& a, const NodeView& b) {
    return natural_order(a.identity.name, b.identity.name);
  });
}

Table node_table(const std::vector<NodeView>& nodes) {
  Table table({{"NODE"},
               {"STATE"},
               {"GPUS", Align::right},
               {"MODEL", Align::left, true},
               {"TYPE", Align::left, true},
               {"GROUPS", Align::left, true},
               {"PLACE", Align::left, true},
               {"CPUS", Align::right},
               {"MEMORY", Align::right},
               {"REASON", Align::left, true}});
  for (const NodeView& node : nodes) {
    table.add(node.identity.name);
    table.add(name_of(node.state), colour_of(node.state));
    table.add(format("{}/{}", decimal_format(gpus_held(node), 6), node.inventory.gpus.size()));
    table.add(models_of(node));
    table.add(node.type.empty() ? "-" : node.type);
    table.add(node.groups.empty() ? "-" : format("{}", fmt::join(node.groups, ",")));
    table.add(node.place.empty() ? "-" : node.place);
    table.add(format("{}/{}", node.cpus_held, node.inventory.cpu_count));
    table.add(format("{}/{}", size_format(node.memory_held_bytes),
                     size_format(node.inventory.memory_bytes)));
    table.add(node.reason);
  }
  return table;
}

Table gpu_table(const std::vector<NodeView>& nodes) {
  Table table({{"NODE"},
               {"GPU", Align::right},
               {"MODEL", Align::left, true},
               {"MEMORY", Align::right},
               {"USED", Align::right},
               {"UTIL", Align::right},
               {"LAYOUT"},
               {"JOB", Align::right},
               {"CONDITION"},
               {"UUID", Align::left, true},
               {"REASON", Align::left, true}});
  for (const NodeView& node : nodes) {
    for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i) {
      const Gpu& gpu = node.inventory.gpus[i];
      const std::string jobs = jobs_text(node, i);
      const GpuUsage* usage = usage_of(node, gpu);
      table.add(node.identity.name, node.state == NodeState::up ? Colour::none : Colour::bad);
      table.add(format("{}", gpu.index));
      table.add(gpu.model);
      table.add(size_format(gpu.memory_bytes));
      table.add(usage != nullptr ? size_format(usage->memory_used_bytes) : "-");
      table.add(usage != nullptr ? format("{}%", usage->utilization_percent) : "-");
      const std::string layout = layout_of(node, i);
      table.add(layout, layout == "idle" ? Colour::dim : Colour::none);
      table.add(jobs, jobs == "-" ? Colour::dim : Colour::good);
      const GpuHealth health = health_of(node, gpu);
      table.add(std::string(name_of(health.condition)),
                takes_jobs(health.condition) ? Colour::none : Colour::bad);
      table.add(gpu.uuid);
      table.add(health.reason);
    }
  }
  return table;
}

std::string node_text(const NodeView& node) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::string& value) {
    if (!value.empty()) text += format("{}: {}\n", name, printable(value));
  };
  add("node", node.identity.name);
  add("state", std::string(name_of(node.state)));
  add("reason", node.reason);
  if (node.since) add("since", rfc3339(node.since));
  add("address", node.identity.address);
  add("version", node.identity.version);
  add("type", node.type);
  add("groups", format("{}", fmt::join(node.groups, ",")));
  add("place", node.place);
  add("cpus", format("{}", node.inventory.cpu_count));
  add("cpus_held", format("{}", node.cpus_held));
  add("memory", size_format(node.inventory.memory_bytes));
  add("memory_held", size_format(node.memory_held_bytes));
  add("gpus", format("{}", node.inventory.gpus.size()));
  add("gpus_held", decimal_format(gpus_held(node), 6));
  for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i) {
    const Gpu& gpu = node.inventory.gpus[i];
    const GpuHealth health = health_of(node, gpu);
    std::string line = format("{}, {}, {}, {}", gpu.model, size_format(gpu.memory_bytes), gpu.uuid,
                              layout_of(node, i));
    if (const std::string jobs = jobs_text(node, i); jobs != "-") line += ", jobs " + jobs;
    if (const GpuUsage* usage = usage_of(node, gpu))
      line += format(", {}% busy, {} used", usage->utilization_percent,
                     size_format(usage->memory_used_bytes));
    line += format(", {}", name_of(health.condition));
    if (!health.reason.empty()) line += format(" ({})", health.reason);
    add(format("gpu{}", gpu.index), line);
  }
  return text;
}

void write_node(JsonWriter& json, const NodeView& node) {
  json.begin_object();
  json.field("name", node.identity.name);
  json.field("state", name_of(node.state));
  json.field_or_null("reason", !node.reason.empty(), node.reason);
  json.field_or_null("since", bool(node.since), rfc3339(node.since));
  json.field("cpus", node.inventory.cpu_count);
  json.field("cpus_held", node.cpus_held);
  json.field("memory_bytes", node.inventory.memory_bytes);
  json.field("memory_held_bytes", node.memory_held_bytes);
  json.key("gpus");
  json.begin_array();
  for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i) write_gpu(json, node, i);
  json.end_array();
  json.field_or_null("type", !node.type.empty(), node.type);
  json.key("groups");
  json.begin_array();
  for (const std::string& group : node.groups) json.value(group);
  json.end_array();
  json.field_or_null("place", !node.place.empty(), node.place);
  json.field("address", node.identity.address);
  json.field("version", node.identity.version);
  json.end_object();
}

}  // namespace rota::commands
