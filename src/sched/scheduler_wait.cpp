// sched/scheduler_wait.cpp - why a job waits, in the numbers that decided it.
#include <algorithm>
#include <set>

#include "common/assert.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "sched/scheduler.h"

namespace rota::sched {
namespace {

std::string amount_text(Resource r, std::int64_t amount) {
  switch (r) {
    case Resource::gpu:
      return format("{} GPU{}", decimal_format(amount, 6), amount == one_gpu ? "" : "s");
    case Resource::cpu:
      return format("{} CPU{}", decimal_format(amount, 3), amount == 1000 ? "" : "s");
    case Resource::memory:
      return format("{} of memory", size_format(static_cast<std::uint64_t>(amount)));
  }
  return {};
}

/// The first resource of which `asked` more passes `bound`.
Resource passing(const Amount& held, const Amount& asked, const Amount& bound) {
  for (const Resource r : resources)
    if (held[r] + asked[r] > bound[r]) return r;
  return Resource::gpu;
}

/// The largest sum over nodes of the set in one place of the level that it requires.
template <class Value>
std::int64_t most_in_one_place(const World& world, const NodeSet& set, Value value) {
  const Topology& topology = world.topologies[set.topology->topology];
  std::int64_t most = 0;
  for (const std::uint32_t place : topology.places_of(*set.topology->required)) {
    std::int64_t sum = 0;
    for (const NodeIndex node : topology.at(place).nodes)
      if (set.nodes == nullptr || std::binary_search(set.nodes->begin(), set.nodes->end(), node))
        sum += value(world.fleet.at(node));
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

/// The gate that the job is stopped at, and what its project or department has there.
std::string Scheduler::quota_text(const Job& job, const WaitCause& cause) const {
  const QuotaNode& node = world_.quotas.at(cause.project);
  const SchedJob& waiting = world_.job(number_of(job.id));
  Amount asked;
  for (const std::uint32_t task : tasks_to_place(waiting)) asked += waiting.demand(task).charge(0);
  const std::string name = format(
      "{} {}", quota_map_.is_project(cause.project) ? "project" : "department", quoted(node.name));
  std::string needs = request_text(job.spec);
  if (job.spec.rules->exclusive)
    needs += format(" ({} at least)", amount_text(Resource::gpu, asked[Resource::gpu]));
  if (cause.kind == WaitCause::Kind::limit) {
    const Resource r = passing(node.held, asked, node.terms.limit);
    return format("needs {}: {} holds {}, its limit is {}", needs, name,
                  amount_text(r, node.held[r]), amount_text(r, node.terms.limit[r]));
  }
  const Resource r = passing(node.held_firm, asked, node.terms.deserved);
  return format(
      "needs {} and cannot be preempted, so it must fit the quota: {} has {} of its quota of {} in "
      "such jobs",
      needs, name, amount_text(r, node.held_firm[r]), amount_text(r, node.terms.deserved[r]));
}

const std::string& Scheduler::free_text(const NodeSet& set) const {
  const auto level = set.topology ? set.topology->required : std::nullopt;
  std::string& text = free_texts_[{set.id, level}];
  if (!text.empty()) return text;
  std::int64_t gpus = 0, gpus_most = 0, cpu_milli = 0;
  for_nodes(world_.fleet, set.nodes.get(), [&](const FleetNode& node) {
    if (!node.usable) return;
    gpus += node.gpus_idle;
    gpus_most = std::max(gpus_most, node.gpus_idle);
    cpu_milli += node.cpu_idle;
  });
  std::string in_one;
  if (level)
    in_one = format(
        "at most {} GPUs in one {}, ",
        most_in_one_place(world_, set,
                          [](const FleetNode& node) { return node.usable ? node.gpus_idle : 0; }),
        topology().levels()[*level]);
  text = format("{} GPUs and {} CPUs are free{}, {}at most {} GPUs on one node", gpus,
                cpu_milli / 1000, set.id == 0 ? "" : " there", in_one, gpus_most);
  return text;
}

/// Of a job that wants nodes for itself.
std::string Scheduler::empty_text(const NodeSet& set) const {
  std::size_t count = 0, empty = 0;
  for_nodes(world_.fleet, set.nodes.get(), [&](const FleetNode& node) {
    if (!node.usable) return;
    ++count;
    empty += node.residents.empty();
  });
  return format("{} of {} node{} {} empty", empty == 0 ? "none" : format("{}", empty), count,
                count == 1 ? "" : "s", empty > 1 ? "are" : "is");
}

/// Of a job that waits for MIG instances: whether slices are missing, or only lie badly.
std::string Scheduler::cut_text(const JobSpec& spec, const NodeSet& set) const {
  const auto shape = shapes_.shape_of(spec, world_, set);
  const Demand& demand = *shape->tasks.front().demand;
  std::int64_t slices = 0, places = 0, gpus = 0;
  for_nodes(world_.fleet, set.nodes.get(), [&](const FleetNode& node) {
    const auto* profile = cut_on(node, demand);
    if (!node.usable || profile == nullptr) return;
    ++gpus;
    places += cut_room(node, *profile, true);
    slices += node.gpu_free_amount * node.cuts->axis->slice_count() / one_gpu / profile->size;
  });
  if (gpus == 0) return "no GPU that is up can be cut so";
  if (places == 0 && slices > 0)
    return format(
        "blocked by layout: free memory slices would make {} of them, but lie between others' "
        "instances",
        slices);
  return format("there is room for {} of them now", places);
}

std::string Scheduler::never_text(const JobSpec& spec) const {
  const NodeSet set = set_of(spec);
  std::size_t count = 0;
  std::uint32_t gpus_most = 0;
  std::int64_t cpus_most = 0, memory_most = 0;
  for_nodes(world_.fleet, set.nodes.get(), [&](const FleetNode& node) {
    ++count;
    gpus_most = std::max(gpus_most, node.gpus_present);
    cpus_most = std::max(cpus_most, node.cpu_milli / 1000);
    memory_most = std::max(memory_most, node.gpu_memory_mib);
  });
  const std::string which = node_rules_.rule_of(spec).text();
  if (spec.task.uses_mig()) {
    std::set<std::string> profiles;
    for_nodes(world_.fleet, set.nodes.get(), [&](const FleetNode& node) {
      if (node.cuts == nullptr) return;
      for (const auto& profile : node.cuts->axis->profiles()) profiles.insert(profile.name);
    });
    return format("needs {}; {}", request_text(spec),
                  profiles.empty()
                      ? format("no GPU of the {} node{}{}{} can be cut by MIG", count,
                               count == 1 ? "" : "s", which.empty() ? "" : " ", which)
                      : format("GPUs{}{} can be cut into {}", which.empty() ? "" : " of nodes ",
                               which, fmt::join(profiles, ", ")));
  }
  return format(
      "needs {}; the cluster has {} node{}{}{}, the largest with {} GPUs{} and {} CPUs{}",
      request_text(spec), count, count == 1 ? "" : "s", which.empty() ? "" : " ", which, gpus_most,
      spec.task.gpu_memory_mib == 0
          ? ""
          : format(" of up to {}", size_format(static_cast<std::uint64_t>(memory_most) << 20)),
      cpus_most, set.topology && set.topology->required ? "; " + places_text(spec, set) : "");
}

/// What places of the level that is required have, at most.
std::string Scheduler::places_text(const JobSpec& spec, const NodeSet& set) const {
  std::size_t nodes = 0;
  for (const std::uint32_t place : topology().places_of(*set.topology->required))
    nodes = std::max(nodes, topology().at(place).nodes.size() + topology().at(place).to_come);
  const auto gpus = [](const FleetNode& node) { return std::int64_t{node.gpus_present}; };
  return format("a {} has at most {} node{} and {} GPUs", spec.topology->required, nodes,
                nodes == 1 ? "" : "s", most_in_one_place(world_, set, gpus));
}

/// What its waiting has to do with the level that it requires.
std::string Scheduler::required_fit_text(const JobSpec& spec, Fit fit, const NodeSet& set,
                                         const std::string& which) const {
  const std::string& level = spec.topology->required;
  if (!topology().level_named(level))
    return format("rota.yaml has no level {} in its topology now", quoted(level));
  switch (fit) {
    case Fit::when_up:
      return format("a {} would have it with nodes{} that are not up now", level, which);
    case Fit::never:
      return format("more than the known nodes{} of any {} have", which, level);
    default:
      return format("no {} has room for all of it{}; {}", level,
                    which.empty() ? "" : format(" on nodes{}", which), free_text(set));
  }
}

/// What its waiting has to do with groups of nodes that have to lie together.
std::string Scheduler::segment_fit_text(Fit fit, const NodeSet& set,
                                        const std::string& which) const {
  const std::uint32_t level = *set.segments->wish.required;
  if (level >= topology().levels().size())
    return "rota.yaml has no place for its segments in its topology now";
  const std::string& name = topology().levels()[level];
  switch (fit) {
    case Fit::when_up:
      return format("each {} together in one {} only with nodes{} that are not up now",
                    set.segments->size, name, which);
    case Fit::never:
      return format("more than the known nodes{} have with {} together in one {}", which,
                    set.segments->size, name);
    default:
      return format("too few places have {} nodes{} free together in one {}; {}",
                    set.segments->size, which, name, free_text(set));
  }
}

/// Where it may run, and what that has to do with its waiting.
std::string Scheduler::fit_text(const JobSpec& spec, Fit fit) const {
  std::string which = node_rules_.rule_of(spec).text();
  if (!which.empty()) which = " " + which;
  const NodeSet set = set_of(spec);
  if (set.topology && set.topology->required && fit != Fit::no_node)
    return required_fit_text(spec, fit, set, which);
  if (set.segments && set.segments->wish.required && fit != Fit::no_node)
    return segment_fit_text(fit, set, which);
  switch (fit) {
    case Fit::no_node:
      return format("no node{} is known", which);
    case Fit::when_up:
      return format("nodes{} that are down now would have it", which);
    case Fit::never:
      return format("more than all known nodes{} have", which);
    case Fit::yes:
      break;
  }
  const std::string free = spec.task.uses_mig()    ? cut_text(spec, set)
                           : spec.rules->exclusive ? empty_text(set)
                                                   : free_text(set);
  return which.empty() ? free : format("may run on nodes{}; {}", which, free);
}

Wait Scheduler::wait_of(const Job& job) const {
  const std::uint32_t number = number_of(job.id);
  const WaitCause& cause = world_.cause_of(number);
  if (cause.kind == WaitCause::Kind::none) return {WaitReason::none, "about to be looked at"};
  if (const auto first = world_.first_of_class(number); first != number)
    return {WaitReason::priority, format("waits behind job {}", world_.job(first).id)};
  switch (cause.kind) {
    case WaitCause::Kind::limit:
      return {WaitReason::limit, quota_text(job, cause)};
    case WaitCause::Kind::quota:
      return {WaitReason::quota, quota_text(job, cause)};
    case WaitCause::Kind::reserved:
      return {WaitReason::priority,
              format("needs {}: it would delay job {}", request_text(job.spec), cause.job)};
    case WaitCause::Kind::promised:
      return {WaitReason::promised,
              format("needs {}: others are leaving that place", request_text(job.spec))};
    default:
      break;
  }
  const Fit fit = fit_of(job.spec);
  return {fit == Fit::yes ? WaitReason::resources : WaitReason::node_down,
          format("needs {}: {}", request_text(job.spec), fit_text(job.spec, fit))};
}

}  // namespace rota::sched
