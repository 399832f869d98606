// testsuite/sim/world_check.cpp - the promises of design.md 3, looked at after every step.
#include <algorithm>
#include <cmath>

#include "common/format.h"
#include "model/org_diff.h"
#include "sim/world.h"

namespace rota::sim {

namespace {

/// The wishes that jobs have here (choose_nodes), in other words.
bool is_wished(const NodeWish& wish, const std::string& node) {
  const bool is_t4 = (node.back() - '0') % 2 == 0;
  if (wish.constraint == "t4" && !is_t4) return false;
  if (wish.constraint == "l4&most" && is_t4) return false;
  if (wish.only == "n[1-2]" && node != "n1" && node != "n2") return false;
  return wish.except.empty() || node != wish.except;
}

}  // namespace

std::string World::check() {
  for (const auto& text : {check_engine(), check_reality(), check_arrays(), check_acknowledged()})
    if (!text.empty()) return text;
  return {};
}

/// Nothing is held twice, and the counters are the sum of what is held.
std::string World::check_engine() const {
  if (!engine_) return {};
  struct Held {
    std::uint64_t cpus = 0, memory = 0;
    std::map<std::uint16_t, JobId> gpus;           // whole
    std::map<std::uint16_t, std::int64_t> shared;  // what projects are charged
    std::map<std::uint16_t, std::int64_t> mib;     // memory asked for is charged rounded up
    std::map<std::uint16_t, std::uint32_t> cuts;   // slices under instances
    std::vector<MigHolder> slots;
    std::set<JobId> jobs;
    JobId alone;  // that shall have it to itself
  };
  std::map<NodeId, Held> held;
  for (const auto& [id, job] : engine_->jobs()) {
    std::uint64_t tasks = 0;
    std::set<NodeId> nodes;
    std::set<std::size_t> racks;
    for (const auto& part : job.last->placement)
      racks.insert(rack_of(engine_->nodes().at(part.node).identity.name));
    const TopologyRequest& wish = *job.spec.topology;
    if (!wish.required.empty() && wish.segment == 0 && racks.size() > 1)
      return format("job {} requires one rack and is in {}", id.value, racks.size());
    if (wish.segment > 0 && wish.preferred.empty()) {
      std::map<std::uint32_t, std::set<std::size_t>> of_segments;
      for (const auto& part : job.last->placement)
        of_segments[part.task_first / job.spec.tasks_per_node() / wish.segment].insert(
            rack_of(engine_->nodes().at(part.node).identity.name));
      for (const auto& [segment, its_racks] : of_segments)
        if (its_racks.size() > 1)
          return format("segment {} of job {} is in {} racks", segment, id.value, its_racks.size());
    }
    for (const auto& part : job.last->placement) {
      Held& node = held[part.node];
      node.cpus += part.cpu_count;
      node.jobs.insert(id);
      if (job.spec.rules->exclusive) node.alone = id;
      node.memory += part.memory_bytes;
      if (!part.leaving) tasks += part.task_count;
      if (!nodes.insert(part.node).second)
        return format("job {} has two parts on node {}", id.value, part.node.value);
      if (!is_wished(*job.spec.nodes, engine_->nodes().at(part.node).identity.name))
        return format("job {} wants nodes {} and is on node {}", id.value, text_of(*job.spec.nodes),
                      part.node.value);
      for (const auto gpu : part.gpus) {
        if (part.gpu_share > 0) {
          node.shared[gpu] += part.gpu_share;
          if ((node.mib[gpu] += gpu_mib_of(part)) > gpu_memory_mib)
            return format("{} MiB of GPU {} of node {} are given out", node.mib[gpu], gpu,
                          part.node.value);
        } else if (!node.gpus.emplace(gpu, id).second) {
          return format("GPU {} of node {} is held by jobs {} and {}", gpu, part.node.value,
                        node.gpus[gpu].value, id.value);
        }
        if (node.gpus.contains(gpu) && node.shared.contains(gpu))
          return format("GPU {} of node {} is held whole and in parts", gpu, part.node.value);
      }
      for (const MigSlot& slot : part.mig) {
        const auto* profile = mig_geometry().find(slot.profile);
        if (profile == nullptr || slot.size != profile->size ||
            !std::binary_search(profile->starts.begin(), profile->starts.end(), slot.start))
          return format("an instance {} at {} of job {} cannot be", slot.profile, slot.start,
                        id.value);
        const std::uint32_t mask = mask_of(slot);
        if ((node.cuts[slot.gpu] & mask) != 0)
          return format("slices of GPU {} of node {} are held twice, by job {} too", slot.gpu,
                        part.node.value, id.value);
        node.cuts[slot.gpu] |= mask;
        node.slots.push_back({slot, id});
      }
    }
    const bool waits = job.state == JobState::pending || job.state == JobState::suspended ||
                       job.spec.is_array() || is_final(job.state);
    if (waits && !job.last->placement.empty())
      return format("job {} is {} and holds resources", id.value, name_of(job.state));
    // In tasks mode a node's part may end well before the others have even started.
    const bool whole = (job.state == JobState::starting || job.state == JobState::running) &&
                       job.mode == LaunchMode::batch && !job.spec.is_array();
    if (job.spec.is_elastic() && nodes.size() > job.spec.node_count_max)
      return format("job {} is on {} nodes, it asked for {}", id.value, nodes.size(),
                    job.spec.node_count_max);
    if (whole &&
        (job.spec.is_elastic() ? tasks < job.spec.task_count : tasks != job.spec.task_count))
      return format("job {} is {} with {} of {} tasks", id.value, name_of(job.state), tasks,
                    job.spec.task_count);
  }
  for (const auto& [id, known] : engine_->nodes()) {
    const Held& node = held[id];
    const NodeView view = engine_->view(known);
    if (node.alone && node.jobs.size() > 1)
      return format("job {} shall have node {} to itself, and {} jobs are there", node.alone.value,
                    id.value, node.jobs.size());
    if (view.cpus_held != node.cpus || view.memory_held_bytes != node.memory)
      return format("node {}: the CPUs or memory held do not add up", id.value);
    for (std::uint16_t gpu = 0; gpu < view.gpu_holders.size(); ++gpu) {
      const auto holder = node.gpus.find(gpu);
      if (view.gpu_holders[gpu] != (holder == node.gpus.end() ? JobId{} : holder->second))
        return format("GPU {} of node {}: the scheduler and the jobs disagree", gpu, id.value);
    }
    for (const auto& [gpu, mask] : node.cuts)
      if (node.gpus.contains(gpu) || node.shared.contains(gpu))
        return format("GPU {} of node {} is cut and used otherwise", gpu, id.value);
    auto slots = node.slots;
    std::sort(slots.begin(), slots.end(),
              [](const MigHolder& a, const MigHolder& b) { return a.slot < b.slot; });
    if (slots != view.mig_holders)
      return format("node {}: the scheduler and the jobs disagree about instances", id.value);
    std::map<std::uint16_t, std::int64_t> shared;
    for (const GpuShare& share : view.gpu_sharers) shared[share.gpu] += share.share;
    if (shared != node.shared)
      return format("node {}: the scheduler and the jobs disagree about shared GPUs", id.value);
  }
  return check_projects();
}

/// What projects are charged is what their jobs hold or ask for, and what cannot be taken back
/// never passes a quota.
std::string World::check_projects() const {
  struct Sum {
    std::int64_t held = 0, firm = 0, waiting = 0;
    std::int64_t growth = 0;  // that may wait as well, or be done without
  };
  // An elastic job waits for all nodes that it could have.
  const auto gpus_of_all_nodes = [this](const JobSpec& spec) {
    const std::int64_t gpus = engine_->scheduler().gpu_amount(spec);
    return spec.is_elastic() ? gpus / spec.node_count * spec.node_count_max : gpus;
  };
  const auto add_waiting = [&](Sum& sum, const Job& job) {
    const auto times = static_cast<std::int64_t>(engine_->times_in_line(job));
    sum.waiting += times * gpus_of_all_nodes(job.spec);
    // It counts for all GPUs of its nodes, some of which may be away.
    const std::int64_t nodes = std::max(job.spec.node_count_max, job.spec.task_count);
    if (job.spec.rules->exclusive)
      sum.growth += times * nodes * options_.gpus_per_node * sched::one_gpu;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [id, job] : engine_->jobs()) {
    if (is_final(job.state) || is_ending(job.state) || job.spec.background) continue;
    Sum& sum = sums[job.spec.project];
    if (job.state == JobState::pending || job.state == JobState::suspended || job.spec.is_array())
      add_waiting(sum, job);
    else if (job.spec.is_elastic())
      sum.growth += job.spec.rules->exclusive
                        ? job.spec.node_count_max * options_.gpus_per_node * sched::one_gpu
                        : gpus_of_all_nodes(job.spec);
    for (const auto& part : job.last->placement) {
      if (part.leaving) continue;
      const std::int64_t gpus = part.gpu_amount();
      if (job.spec.is_elastic()) sum.growth -= gpus;
      sum.held += gpus;
      if (job.spec.is_firm(part)) sum.firm += gpus;
    }
  }
  for (const Project& project : engine_->org().projects) {
    const Sum& sum = sums[project.name];
    const auto& charged = engine_->scheduler().project(project.name);
    const auto gpu = sched::Resource::gpu;
    if (charged.held[gpu] != sum.held || charged.held_firm[gpu] != sum.firm ||
        charged.waiting[gpu] < sum.waiting || charged.waiting[gpu] > sum.waiting + sum.growth)
      return format("project {} is charged {} + {}, its jobs make {} + {}", project.name,
                    charged.held[gpu], charged.waiting[gpu], sum.held, sum.waiting);
    if (sum.firm > project.quota.gpu_quota)
      return format("project {} has {} in jobs that cannot be preempted, its quota is {}",
                    project.name, sum.firm, project.quota.gpu_quota);
  }
  return {};
}

/// No GPU serves more than it has, and no job runs twice at once, whatever anybody believes.
std::string World::check_reality() const {
  std::map<JobId, std::uint32_t> running;
  for (const auto& node : nodes_) {
    std::map<std::string, std::int64_t> used;
    std::map<std::string, std::uint32_t> cut;
    std::set<JobId> here;
    for (const auto& process : node.processes) {
      if (!process.alive) continue;
      if (!here.insert(process.run.job).second)
        return format("job {} runs twice on {}", process.run.job.value, node.name);
      const auto [at, first] = running.try_emplace(process.run.job, process.run.restart);
      if (!first && at->second != process.run.restart)
        return format("job {} runs twice at once: restarts {} and {}", process.run.job.value,
                      at->second, process.run.restart);
      for (const auto& gpu : process.gpus)
        if ((used[gpu] += process.gpu_mib) > gpu_memory_mib)
          return format("{} MiB of {} are used, the last by job {}", used[gpu], gpu,
                        process.run.job.value);
      for (const auto& [gpu, mask] : process.cuts) {
        if ((cut[gpu] & mask) != 0)
          return format("slices of {} are used twice, the last by job {}", gpu,
                        process.run.job.value);
        cut[gpu] |= mask;
      }
    }
    for (const auto& [gpu, mask] : cut)
      if (used.contains(gpu)) return format("{} is cut and used otherwise", gpu);
  }
  return {};
}

/// Every task of an array is one job, or was cancelled before it became one.
std::string World::check_arrays() const {
  std::map<JobId, std::set<std::uint32_t>> tasks;
  for (const auto& [id, job] : disk_.jobs())
    if (job.array->of && !tasks[job.array->of].insert(job.array->index).second)
      return format("task {} of array {} is two jobs", job.array->index, job.array->of.value);
  for (const auto& [id, job] : disk_.jobs()) {
    if (!job.spec.is_array() || !is_final(job.state)) continue;
    const std::size_t count = tasks[id].size() + job.array->cancelled.size();
    if (count != job.spec.rules->array.tasks.size())
      return format("array {} is over, and has {} of {} tasks", id.value, count,
                    job.spec.rules->array.tasks.size());
  }
  return {};
}

std::string World::check_acknowledged() const {
  for (const auto& client : clients_) {
    if (!client.acknowledged) continue;
    if (!disk_.jobs().contains(client.acknowledged))
      return format("job {} was acknowledged and is not in the store", client.acknowledged.value);
  }
  return {};
}

bool World::all_quiet() const {
  if (!engine_ || pump_due_ || committing_) return false;
  for (const auto& client : clients_)
    if (!client.acknowledged) return false;
  for (const auto& [id, job] : engine_->jobs())
    if (!is_final(job.state)) return false;
  for (const auto& node : nodes_)
    if (!node.agent || !node.agent->runs().empty() || node.session == 0) return false;
  return true;
}

/// What keeps the world from coming to rest.
std::string World::unrest() const {
  std::string text;
  if (!engine_) return "no controller";
  for (const auto& client : clients_)
    if (!client.acknowledged) text += format("request {} has no answer; ", client.request.low);
  for (const auto& [id, job] : engine_->jobs())
    if (!is_final(job.state))
      text += format("job {} is {} restart {} ({}); ", id.value, name_of(job.state), job.restarts,
                     engine_->view(job).reason);
  for (const auto& node : nodes_) {
    if (!node.agent) text += format("{} has no rgpud; ", node.name);
    if (node.session == 0) text += format("{} has no session; ", node.name);
    if (!node.agent) continue;
    for (const auto& [run, state] : node.agent->runs())
      text += format("{} has run {}.{} in phase {}; ", node.name, run.job.value, run.restart,
                     static_cast<int>(state.phase));
  }
  return text;
}

/// When all is over: nothing runs, nothing is remembered on nodes, every allocation is closed, and
/// without faults the ledger is the integral of what was held.
std::string World::check_end() const {
  for (const auto& node : nodes_) {
    for (const auto& process : node.processes)
      if (process.alive) return format("a process of job {} is left", process.run.job.value);
    if (!node.spool.empty()) return format("the spool of {} is not empty", node.name);
  }
  Org stored = disk_.load().org;
  normalize(stored);
  if (!difference(stored, engine_->org()).empty()) return "the projects are not those of the disk";
  double billed_gpu_ms = 0;
  for (const auto& [key, allocation] : disk_.allocations()) {
    if (!allocation.closed)
      return format("an allocation of job {} never ended", std::get<0>(key).job.value);
    billed_gpu_ms += static_cast<double>(allocation.gpu_amount) / gpu_unit *
                     static_cast<double>(allocation.held_ms);
  }
  // Each row is cut to whole milliseconds.
  const double tolerance = static_cast<double>(disk_.allocations().size()) * options_.gpus_per_node;
  if (!options_.faults && std::abs(billed_gpu_ms - gpu_ms_held_) > tolerance)
    return format("billed {} GPU-ms, held {}", billed_gpu_ms, gpu_ms_held_);
  return {};
}

}  // namespace rota::sim
