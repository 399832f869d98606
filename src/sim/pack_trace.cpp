// sim/pack_trace.cpp - rows to nodes, tasks and orders, each checked where it is read.
#include "sim/pack_trace.h"

#include <array>

#include "common/escape.h"
#include "common/format.h"
#include "sim/csv.h"
#include "sim/text_file.h"

namespace rota::sim {
namespace {

using sched::pack_amount_max;
using sched::pack_gpus_max;
using sched::pack_models_max;
using sched::PackNode;
using sched::PackRequest;

constexpr std::size_t text_size_max = std::size_t{256} << 20;
constexpr std::size_t nodes_max = 100'000;
constexpr std::size_t tasks_max = 4'000'000;  // in the file, and of one order
constexpr std::int64_t task_gpus_max = 1024;
constexpr std::int64_t milli = 1000;

using Models = std::map<std::string, std::int32_t, std::less<>>;

Result<PackNode> read_node(const CsvTable& row, Models& models) {
  enum : std::size_t { cpu, memory, gpus, model };
  PackNode node;
  ROTA_TRY(node.cpu_milli, row.number(cpu, 0, pack_amount_max));
  ROTA_TRY(const auto mib, row.number(memory, 0, pack_amount_max));
  ROTA_TRY(const auto gpu_count, row.number(gpus, 0, pack_gpus_max));
  node.memory_bytes = mib << 20;
  node.gpu_count = static_cast<std::int32_t>(gpu_count);
  if (node.gpu_count == 0) return node;
  if (row.field(model).empty()) return row.fault(model, "empty; expected the name of a GPU model");
  const auto [at, is_new] =
      models.try_emplace(std::string(row.field(model)), static_cast<std::int32_t>(models.size()));
  if (at->second >= pack_models_max)
    return row.fault(model, format("{} is one model too many; at most {} are possible",
                                   quoted(row.field(model)), pack_models_max));
  node.model = at->second;
  return node;
}

Result<void> read_nodes(const std::string& path, PackTrace& trace, Models& models) {
  constexpr std::array<std::string_view, 4> columns{"cpu_milli", "mem_mib", "gpus", "gpu_model"};
  ROTA_TRY(auto text, read_text_file(path, text_size_max));
  ROTA_TRY(auto table, CsvTable::open(path, std::move(text), columns));
  for (;;) {
    ROTA_TRY(const bool is_there, table.next());
    if (!is_there) break;
    if (trace.nodes.size() == nodes_max)
      return table.fault(0, format("more than {} nodes", nodes_max));
    ROTA_TRY(const auto node, read_node(table, models));
    trace.nodes.push_back(node);
  }
  if (trace.gpu_count() > 0) return {};
  return Error{Errc::invalid_argument, format("{}: no node with a GPU", path)};
}

/// "V100|A10" as bits; a model that no node has is none. Empty: any will do.
std::uint32_t models_of(std::string_view names, const Models& models) {
  if (names.empty()) return ~0u;
  std::uint32_t mask = 0;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('|', begin), names.size());
    const auto at = models.find(names.substr(begin, end - begin));
    if (at != models.end()) mask |= 1u << at->second;
    begin = end + 1;
  }
  return mask;
}

Result<PackRequest> read_task(const CsvTable& row, const Models& models) {
  enum : std::size_t { cpu, memory, gpus, share, accepted };
  PackRequest task;
  ROTA_TRY(task.cpu_milli, row.number(cpu, 0, pack_amount_max));
  ROTA_TRY(const auto mib, row.number(memory, 0, pack_amount_max));
  ROTA_TRY(const auto gpu_count, row.number(gpus, 0, task_gpus_max));
  // Only a single GPU can be shared.
  const std::int64_t share_min = gpu_count == 0 ? 0 : gpu_count == 1 ? 1 : milli;
  ROTA_TRY(const auto gpu_milli, row.number(share, share_min, gpu_count == 0 ? 0 : milli));
  task.memory_bytes = mib << 20;
  task.gpu_count = static_cast<std::int32_t>(gpu_count);
  task.gpu_share = static_cast<std::int32_t>(gpu_milli * (sched::whole_gpu / milli));
  task.models = models_of(row.field(accepted), models);
  return task;
}

Result<void> read_tasks(const std::string& path, PackTrace& trace, const Models& models) {
  constexpr std::array<std::string_view, 5> columns{"cpu_milli", "mem_mib", "gpus", "gpu_milli",
                                                    "gpu_models"};
  ROTA_TRY(auto text, read_text_file(path, text_size_max));
  ROTA_TRY(auto table, CsvTable::open(path, std::move(text), columns));
  for (;;) {
    ROTA_TRY(const bool is_there, table.next());
    if (!is_there) return {};
    if (trace.tasks.size() == tasks_max)
      return table.fault(0, format("more than {} tasks", tasks_max));
    ROTA_TRY(const auto task, read_task(table, models));
    trace.tasks.push_back(task);
  }
}

Result<std::vector<std::uint32_t>> read_list(const CsvReader& row, std::size_t count,
                                             std::string_view of) {
  if (count == 0) return row.fault(1, format("there are no {}", of));
  std::vector<std::uint32_t> list;
  for (std::size_t i = 2; i < row.size(); ++i) {
    ROTA_TRY(const auto value, row.number(i, 0, static_cast<std::int64_t>(count) - 1));
    list.push_back(static_cast<std::uint32_t>(value));
  }
  return list;
}

Result<std::vector<std::uint32_t>> read_ranks(const CsvReader& row, std::size_t node_count) {
  ROTA_TRY(auto ranks, read_list(row, node_count, "nodes"));
  if (ranks.size() != node_count)
    return row.fault(
        1, format("{} ranks; expected one for each of {} nodes", ranks.size(), node_count));
  std::vector<bool> given(node_count);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (given[ranks[i]]) return row.fault(i + 2, format("rank {} is given twice", ranks[i]));
    given[ranks[i]] = true;
  }
  return ranks;
}

/// "SEED,nodes,RANK..." and "SEED,tasks,ROW...", one of each for every seed.
Result<void> read_order(const CsvReader& row, PackTrace& trace) {
  ROTA_TRY(const auto seed, row.number(0, 0, std::numeric_limits<std::int64_t>::max()));
  const std::string_view what = row.size() > 1 ? row.field(1) : "";
  if (what != "nodes" && what != "tasks")
    return row.fault(row.size() > 1, "expected SEED,nodes,RANK... or SEED,tasks,ROW...");
  Arrivals& arrivals = trace.arrivals[static_cast<std::uint64_t>(seed)];
  auto& list = what == "nodes" ? arrivals.ranks : arrivals.tasks;
  if (!list.empty()) return row.fault(0, format("a second line of {} for seed {}", what, seed));
  if (what == "nodes") {
    ROTA_TRY(list, read_ranks(row, trace.nodes.size()));
  } else {
    ROTA_TRY(list, read_list(row, trace.tasks.size(), "tasks"));
  }
  return {};
}

Result<void> read_arrivals(const std::string& path, PackTrace& trace) {
  ROTA_TRY(auto text, read_text_file(path, text_size_max));
  CsvReader reader(path, std::move(text), tasks_max + 2);
  for (;;) {
    ROTA_TRY(const bool is_there, reader.next());
    if (!is_there) break;
    ROTA_CHECK(read_order(reader, trace));
  }
  if (trace.arrivals.empty())
    return Error{Errc::invalid_argument,
                 format("{}:1:1: empty; expected SEED,nodes,RANK...", path)};
  for (const auto& [seed, arrivals] : trace.arrivals)
    if (arrivals.ranks.empty() || arrivals.tasks.empty())
      return Error{Errc::invalid_argument,
                   format("{}: no line of {} for seed {}", path,
                          arrivals.ranks.empty() ? "nodes" : "tasks", seed)};
  return {};
}

}  // namespace

std::int64_t PackTrace::gpu_count() const {
  std::int64_t count = 0;
  for (const PackNode& node : nodes) count += node.gpu_count;
  return count;
}

Result<PackTrace> read_pack_trace(const PackFiles& files) {
  PackTrace trace;
  Models models;
  ROTA_CHECK(read_nodes(files.nodes, trace, models));
  ROTA_CHECK(read_tasks(files.tasks, trace, models));
  ROTA_CHECK(read_arrivals(files.arrivals, trace));
  return trace;
}

}  // namespace rota::sim
