// sim/conform_case.cpp - from the neutral format to a world, and from round to round.
#include "sim/conform_case.h"

#include <algorithm>
#include <cmath>

namespace rota::sim {

namespace json = boost::json;
using sched::Amount;
using sched::Demand;
using sched::Resource;
using sched::Task;
using sched::TaskState;

namespace {

const json::array no_items;

std::string text(const json::object& o, const char* key) {
  const auto* value = o.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

double number(const json::object& o, const char* key, double otherwise) {
  const auto* value = o.if_contains(key);
  return value != nullptr && value->is_number() ? value->to_number<double>() : otherwise;
}

bool flag(const json::object& o, const char* key, bool otherwise) {
  const auto* value = o.if_contains(key);
  return value != nullptr && value->is_bool() ? value->as_bool() : otherwise;
}

const json::array& items(const json::object& o, const char* key) {
  const auto* value = o.if_contains(key);
  return value != nullptr && value->is_array() ? value->as_array() : no_items;
}

/// `null` and absent are unbounded.
std::int64_t bound(const json::object& o, const char* key, double unit) {
  const auto* value = o.if_contains(key);
  if (value == nullptr || value->is_null()) return sched::unbounded;
  return std::llround(value->to_number<double>() * unit);
}

sched::QuotaTerms terms_of(const json::object& o) {
  sched::QuotaTerms terms;
  terms.deserved[Resource::gpu] = bound(o, "deserved_gpus", sched::one_gpu);
  terms.deserved[Resource::cpu] = bound(o, "deserved_cpu_milli", 1);
  terms.deserved[Resource::memory] = bound(o, "deserved_mem_bytes", 1);
  terms.limit[Resource::gpu] = bound(o, "limit_gpus", sched::one_gpu);
  terms.limit[Resource::cpu] = bound(o, "limit_cpu_milli", 1);
  terms.limit[Resource::memory] = bound(o, "limit_mem_bytes", 1);
  terms.weight = {number(o, "over_quota_weight", 0), 1, 1};
  terms.rank = static_cast<std::int32_t>(number(o, "priority", 100));
  terms.age_order = static_cast<std::uint64_t>(number(o, "created_order", 0));
  if (const auto* own = o.if_contains("reclaim_min_runtime_sec"); own != nullptr && !own->is_null())
    terms.reclaim_min_runtime_seconds = own->to_number<std::int64_t>();
  if (const auto* own = o.if_contains("preempt_min_runtime_sec"); own != nullptr && !own->is_null())
    terms.preempt_min_runtime_seconds = own->to_number<std::int64_t>();
  return terms;
}

Demand demand_of(const json::object& o) {
  Demand demand;
  if (o.contains("gpu_fraction")) {
    demand.gpu = Demand::Gpu::portion;
    demand.portion = std::llround(number(o, "gpu_fraction", 0) * sched::one_gpu);
    demand.devices = static_cast<std::uint32_t>(number(o, "gpu_devices", 1));
  } else if (o.contains("gpu_memory_mib")) {
    demand.gpu = Demand::Gpu::memory;
    demand.memory_mib = static_cast<std::int64_t>(number(o, "gpu_memory_mib", 0));
    demand.devices = static_cast<std::uint32_t>(number(o, "gpu_devices", 1));
  } else if (number(o, "gpus", 0) > 0) {
    demand.gpu = Demand::Gpu::whole;
    demand.devices = static_cast<std::uint32_t>(number(o, "gpus", 0));
  }
  if (const auto* mig = o.if_contains("mig"); mig != nullptr && mig->is_object())
    for (const auto& [profile, count] : mig->as_object())
      if (count.to_number<std::uint32_t>() > 0)
        demand.mig.push_back({std::string(profile), count.to_number<std::uint32_t>()});
  demand.cpu_milli = static_cast<std::int64_t>(number(o, "cpu_milli", 0));
  demand.memory_bytes = static_cast<std::int64_t>(number(o, "mem_bytes", 0));
  return demand;
}

TaskState state_from(const std::string& word) {
  if (word == "Pending") return TaskState::waiting;
  if (word == "Gated") return TaskState::gated;
  if (word == "Binding") return TaskState::starting;
  if (word == "Bound" || word == "Running") return TaskState::running;
  if (word == "Pipelined") return TaskState::promised;
  if (word == "Releasing") return TaskState::leaving;
  if (word == "StuckInReleasing") return TaskState::stuck;
  if (word == "Succeeded") return TaskState::succeeded;
  return TaskState::failed;
}

std::string word_of(TaskState state) {
  switch (state) {
    case TaskState::waiting:
      return "Pending";
    case TaskState::gated:
      return "Gated";
    case TaskState::starting:
      return "Binding";
    case TaskState::running:
      return "Running";
    case TaskState::promised:
      return "Pipelined";
    case TaskState::leaving:
      return "Releasing";
    case TaskState::stuck:
      return "StuckInReleasing";
    case TaskState::succeeded:
      return "Succeeded";
    case TaskState::failed:
      break;
  }
  return "Failed";
}

bool is_on_a_node(TaskState state) {
  return sched::is_placed(state) || state == TaskState::leaving || state == TaskState::stuck;
}

/// Objects of an array in the order of their names.
std::vector<const json::object*> by_name(const json::array& array) {
  std::vector<const json::object*> objects;
  for (const auto& item : array) objects.push_back(&item.as_object());
  std::stable_sort(objects.begin(), objects.end(),
                   [](const json::object* a, const json::object* b) {
                     return text(*a, "name") < text(*b, "name");
                   });
  return objects;
}

/// By order_priority, higher first and those without last; then by name.
std::vector<const json::object*> in_task_order(const json::array& array) {
  auto tasks = by_name(array);
  const auto order = [](const json::object* o) { return number(*o, "order_priority", -INFINITY); };
  std::stable_sort(tasks.begin(), tasks.end(), [&](const json::object* a, const json::object* b) {
    return order(a) > order(b);
  });
  return tasks;
}

}  // namespace

ConformCase::ConformCase(const json::object& source) {
  if (const auto* settings = source.if_contains("settings"))
    read_policy(settings->as_object());
  else
    read_policy({});
  read_nodes(items(source, "nodes"));
  world_.measure_gpus();
  read_topologies(items(source, "topologies"));
  read_queues(items(source, "departments"), items(source, "queues"));
  for (const auto& job : items(source, "jobs")) read_job(job.as_object());
}

void ConformCase::read_policy(const json::object& settings) {
  sched::Policy& policy = world_.policy;
  policy.stale_grace_seconds =
      static_cast<std::int64_t>(number(settings, "staleness_grace_sec", 60));
  policy.consolidate_jobs_max = policy.scenarios_max = ~std::uint32_t{0};
  const auto* own = settings.if_contains("policy");
  if (own == nullptr || !own->is_object()) return;
  const json::object& o = own->as_object();
  if (o.contains("modules")) {
    const json::array& modules = items(o, "modules");
    const auto has = [&](const char* name) {
      return std::find(modules.begin(), modules.end(), json::value(name)) != modules.end();
    };
    policy.check_quota = has("proportion") && has("predicates");
    checks_nodes_ = has("predicates");
    has_topology_ = has("topology");
    policy.prefer_full = has("nodeplacement");
    policy.prefer_now = has("nodeavailability");
    policy.prefer_beside_others = has("gpusharingorder");
    policy.prefer_cpu_nodes = has("resourcetype");
    policy.prefer_topology = has("topology");
  }
  if (const auto* placement = o.if_contains("placement")) {
    const json::object& p = placement->as_object();
    policy.spread_gpu = text(p, "node_gpu") == "spread";
    policy.spread_cpu = text(p, "node_cpu") == "spread";
    policy.pack_shared = text(p, "shared_gpu") != "spread";
  }
}

void ConformCase::read_nodes(const json::array& nodes) {
  for (const json::object* o : by_name(nodes)) {
    sched::FleetNode node;
    node.name = text(*o, "name");
    node.gpu_count = static_cast<std::uint32_t>(number(*o, "gpus", 0));
    node.gpu_memory_mib = static_cast<std::int64_t>(number(*o, "gpu_memory_mib", 0));
    node.gpu_memory_known = flag(*o, "gpu_memory_known", true);
    node.cpu_milli = static_cast<std::int64_t>(number(*o, "cpu_milli", 0));
    node.memory_bytes = static_cast<std::int64_t>(number(*o, "mem_bytes", 0));
    node.task_count_max = static_cast<std::uint32_t>(number(*o, "max_tasks", 110));
    if (const auto* labels = o->if_contains("labels"); labels != nullptr && labels->is_object())
      for (const auto& [key, value] : labels->as_object())
        node.labels[std::string(key)] = std::string(value.as_string());
    if (const auto* mig = o->if_contains("mig"); mig != nullptr && mig->is_object()) {
      const std::string strategy = text(mig->as_object(), "strategy");
      node.mig_mode = strategy == "mixed"    ? sched::FleetNode::Mig::mixed
                      : strategy == "single" ? sched::FleetNode::Mig::single
                                             : sched::FleetNode::Mig::none;
      if (const auto* instances = mig->as_object().if_contains("instances"))
        for (const auto& [profile, count] : instances->as_object())
          node.mig[std::string(profile)].total = count.to_number<std::int64_t>();
    }
    const std::string name = node.name;
    nodes_[name] = world_.fleet.add(std::move(node));
  }
}

void ConformCase::read_topologies(const json::array& topologies) {
  for (const auto& item : topologies) {
    std::vector<std::string> levels;
    for (const auto& level : items(item.as_object(), "levels"))
      levels.emplace_back(level.as_string());
    world_.topologies.emplace_back(text(item.as_object(), "name"), std::move(levels), world_.fleet);
  }
}

void ConformCase::read_queues(const json::array& departments, const json::array& queues) {
  for (const auto& item : departments) {
    const std::string name = text(item.as_object(), "name");
    departments_[name] = world_.quotas.add(name, sched::quota_root, terms_of(item.as_object()));
  }
  // Parents may be listed after their children.
  std::vector<const json::object*> left;
  for (const auto& item : queues) left.push_back(&item.as_object());
  for (std::size_t before = left.size() + 1; !left.empty() && left.size() < before;) {
    before = left.size();
    std::erase_if(left, [this](const json::object* o) {
      const std::string name = text(*o, "name"), parent = text(*o, "parent");
      sched::QuotaIndex above = sched::quota_root;
      if (const auto at = departments_.find(parent); at != departments_.end())
        above = at->second;
      else if (const auto queue = queues_.find(parent); queue != queues_.end())
        above = queue->second;
      else if (!parent.empty())
        return false;
      queues_[name] = world_.quotas.add(name, above, terms_of(*o));
      return true;
    });
  }
}

/// Who asks for a topology or level that is not there, or for no level of it, lies nowhere.
std::optional<sched::TopologyWish> ConformCase::read_wish(const json::value* source) {
  if (source == nullptr || !source->is_object() || !has_topology_) return std::nullopt;
  const json::object& o = source->as_object();
  const std::string name = text(o, "topology");
  if (name.empty()) return std::nullopt;
  auto& topologies = world_.topologies;
  auto at = std::find_if(topologies.begin(), topologies.end(),
                         [&name](const sched::Topology& each) { return each.name() == name; });
  if (at == topologies.end())
    at = topologies.emplace(at, name, std::vector<std::string>(), world_.fleet);
  sched::TopologyWish wish{static_cast<std::uint32_t>(at - topologies.begin()), {}, {}};
  const auto level = [&](const char* key) -> std::optional<std::uint32_t> {
    const std::string word = text(o, key);
    if (word.empty()) return std::nullopt;
    const auto& levels = at->levels();
    return static_cast<std::uint32_t>(std::find(levels.begin(), levels.end(), word) -
                                      levels.begin());
  };
  const auto beyond = static_cast<std::uint32_t>(at->levels().size());
  wish.required = level("required_level");
  wish.preferred = level("preferred_level");
  if (wish.preferred == beyond || (!wish.required && !wish.preferred)) wish.required = beyond;
  return wish;
}

void ConformCase::read_groups(const json::object& source, sched::Gang& gang, std::uint32_t index) {
  sched::Group group;
  group.name = text(source, "name");
  group.topology = read_wish(source.if_contains("topology"));
  if (const auto* minimum = source.if_contains("min_subgroups"); minimum && minimum->is_number())
    group.minimum = minimum->to_number<std::uint32_t>();
  for (const auto& item : items(source, "pod_sets")) {
    const json::object& o = item.as_object();
    group.sets.push_back(static_cast<std::uint32_t>(gang.sets.size()));
    gang.sets.push_back({text(o, "name"), static_cast<std::uint32_t>(number(o, "min_available", 1)),
                         read_wish(o.if_contains("topology"))});
  }
  for (const auto& item : items(source, "groups")) {
    const auto below = static_cast<std::uint32_t>(gang.groups.size());
    group.groups.push_back(below);
    gang.groups.emplace_back();
    read_groups(item.as_object(), gang, below);
  }
  gang.groups[index] = std::move(group);
}

std::uint32_t ConformCase::shared_id(sched::NodeIndex node, const std::string& label) {
  const auto next = static_cast<std::uint32_t>(shared_ids_.size() + 1);
  return shared_ids_.try_emplace({node, label}, next).first->second;
}

sched::TaskShape ConformCase::read_task_shape(const json::object& source, const json::object& job,
                                              const sched::Gang& gang) const {
  sched::TaskShape task;
  const auto* request = source.if_contains("request");
  if (request == nullptr) request = job.if_contains("request");
  // Without a request it asks for nothing: best effort.
  task.demand =
      std::make_shared<Demand>(request != nullptr ? demand_of(request->as_object()) : Demand());
  const std::string set = text(source, "pod_set");
  for (std::uint32_t i = 0; i < gang.sets.size(); ++i)
    if (gang.sets[i].name == set) task.set = i;
  if (const auto* nodes = source.if_contains("allowed_nodes");
      checks_nodes_ && nodes && nodes->is_array()) {
    auto list = std::make_shared<sched::NodeList>();
    for (const auto& name : nodes->as_array())
      if (const auto at = node(std::string(name.as_string()))) list->push_back(*at);
    std::sort(list->begin(), list->end());
    task.nodes = std::move(list);
  }
  return task;
}

Task ConformCase::read_task(const json::object& source, const Demand& demand) {
  Task task;
  task.state = state_from(text(source, "state"));
  if (!is_on_a_node(task.state)) return task;
  const auto at = node(text(source, "node"));
  if (!at) {
    task.state = TaskState::failed;
    return task;
  }
  task.spot.node = *at;
  if (demand.is_shared()) {
    for (const auto& label : items(source, "gpu_groups"))
      task.spot.shared.push_back(shared_id(*at, std::string(label.as_string())));
    // Without labels it has GPUs of its own.
    while (task.spot.shared.size() < demand.devices)
      task.spot.shared.push_back(
          shared_id(*at, text(source, "name") + "/" + std::to_string(task.spot.shared.size())));
  }
  return task;
}

/// One that is not there, or not a leaf, gets nothing: neither what is due nor what is left over.
sched::QuotaIndex ConformCase::queue_of(const std::string& name) {
  for (const auto* known : {&queues_, &departments_})
    if (const auto at = known->find(name);
        at != known->end() && world_.quotas.at(at->second).children.empty())
      return at->second;
  if (!no_queue_) {
    sched::QuotaTerms nothing;
    nothing.limit = {};
    nothing.weight = {};
    no_queue_ = world_.quotas.add("", sched::quota_root, nothing);
  }
  return *no_queue_;
}

void ConformCase::read_job(const json::object& source) {
  sched::SchedJob job;
  auto shape = std::make_shared<sched::JobShape>();
  job.project = queue_of(text(source, "queue"));
  job.priority = static_cast<std::int32_t>(number(source, "priority", 50));
  job.preemptible = flag(source, "preemptible", true) && job.project != no_queue_;
  job.submitted = -std::llround(number(source, "age_minutes", 0) * 60);
  if (source.contains("groups")) {
    shape->gang.groups.emplace_back();
    read_groups(source.at("groups").as_object(), shape->gang, 0);
  } else {
    shape->gang =
        sched::Gang::simple(static_cast<std::uint32_t>(number(source, "min_available", 1)),
                            read_wish(source.if_contains("topology")));
  }
  if (const double delay = number(source, "preemption_delay_sec", 0); delay > 0)
    job.preempts_after = job.submitted + std::llround(delay);
  if (const auto* stale = source.if_contains("stale_for_sec"); stale && stale->is_number())
    job.stale_since = -std::llround(stale->to_number<double>());
  if (const auto* grace = source.if_contains("staleness_grace_sec"); grace && grace->is_number())
    job.stale_grace = static_cast<std::int32_t>(std::llround(grace->to_number<double>()));

  const auto index = static_cast<std::uint32_t>(world_.job_count());
  job.id = index;
  for (const json::object* task : in_task_order(items(source, "tasks"))) {
    shape->tasks.push_back(read_task_shape(*task, source, shape->gang));
    job.tasks.push_back(read_task(*task, *shape->tasks.back().demand));
    if (sched::is_placed(job.tasks.back().state)) job.started = -60;
    const sched::TaskRef ref{index, static_cast<std::uint32_t>(job.tasks.size() - 1)};
    tasks_[text(*task, "name")] = ref;
    first_words_[ref] = text(*task, "state");
  }
  jobs_[text(source, "name")] = index;
  stays_releasing_.push_back(flag(source, "stays_releasing", false));
  job.shape = std::move(shape);
  world_.add(std::move(job));
}

ConformCase::RoundCounts ConformCase::run(std::span<const sched::Action> actions) {
  std::map<sched::TaskRef, TaskState> before;
  for (std::uint32_t j = 0; j < world_.job_count(); ++j)
    for (std::uint32_t t = 0; t < world_.job(j).tasks.size(); ++t)
      before[{j, t}] = world_.job(j).tasks[t].state;
  sched::run_pass(world_, actions);
  RoundCounts counts;
  for (const auto& [ref, state] : before) {
    const Task& task = world_.task(ref);
    counts.placements += task.state == TaskState::starting && state != TaskState::starting;
    counts.promises += task.state == TaskState::promised;
    counts.evictions +=
        task.leaves.has_value() || (task.state == TaskState::leaving && sched::is_placed(state));
  }
  return counts;
}

void ConformCase::move_on() {
  // A world anew: nothing of a pass is remembered but where tasks are.
  sched::World next;
  next.policy = world_.policy;
  for (sched::FleetNode node : world_.fleet.nodes()) {
    node.residents.clear();
    node.shared.clear();
    next.fleet.add(std::move(node));
  }
  next.measure_gpus();
  next.topologies = world_.topologies;
  for (sched::QuotaIndex i = 1; i < world_.quotas.size(); ++i) {
    const sched::QuotaNode& node = world_.quotas.at(i);
    next.quotas.add(node.name, node.parent, node.terms);
  }
  for (std::uint32_t j = 0; j < world_.job_count(); ++j) {
    sched::SchedJob job = world_.job(j);
    for (Task& task : job.tasks) {
      task.evicted.reset();
      task.leaves.reset();
      const bool back = task.state == TaskState::promised ||
                        (task.state == TaskState::leaving && !stays_releasing_[j]);
      if (task.state == TaskState::starting) {
        task.state = TaskState::running;
        first_words_[{j, static_cast<std::uint32_t>(&task - job.tasks.data())}] = "Running";
      }
      if (!back) continue;
      task.state = TaskState::waiting;
      task.spot = {};
    }
    next.add(std::move(job));
  }
  world_ = std::move(next);
}

std::optional<std::uint32_t> ConformCase::job(const std::string& name) const {
  const auto at = jobs_.find(name);
  return at == jobs_.end() ? std::nullopt : std::optional(at->second);
}
std::optional<sched::TaskRef> ConformCase::task(const std::string& name) const {
  const auto at = tasks_.find(name);
  return at == tasks_.end() ? std::nullopt : std::optional(at->second);
}
std::optional<sched::NodeIndex> ConformCase::node(const std::string& name) const {
  const auto at = nodes_.find(name);
  return at == nodes_.end() ? std::nullopt : std::optional(at->second);
}

std::string ConformCase::status(sched::TaskRef ref) const {
  const TaskState state = world_.task(ref).state;
  const std::string& first = first_words_.at(ref);
  return state_from(first) == state ? first : word_of(state);
}

}  // namespace rota::sim
