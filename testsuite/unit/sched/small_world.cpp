// testsuite/unit/sched/small_world.cpp - reads the little language, writes down what came.
#include "unit/sched/small_world.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/assert.h"
#include "common/format.h"

namespace rota::sched {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// The first word of each item, and the others as key=value (the first plain word is "project",
/// later ones stand for themselves).
template <class Take>
void for_items(const std::string& text, Take take) {
  for (const std::string& item : split(text, ';')) {
    std::istringstream stream(item);
    std::string name;
    if (!(stream >> name)) continue;
    std::map<std::string, std::string> words;
    for (std::string word; stream >> word;) {
      const auto equals = word.find('=');
      if (equals != std::string::npos)
        words[word.substr(0, equals)] = word.substr(equals + 1);
      else
        words[words.contains("project") ? word : "project"] = word;
    }
    take(name, words);
  }
}

double number(const std::map<std::string, std::string>& words, const char* key, double otherwise) {
  const auto at = words.find(key);
  return at == words.end() ? otherwise : std::stod(at->second);
}

std::int64_t gpus_or_unbounded(const std::map<std::string, std::string>& words, const char* key) {
  return words.contains(key) ? std::llround(number(words, key, 0) * one_gpu) : unbounded;
}

std::string gpus_text(std::int64_t amount) {
  return format("{}", static_cast<double>(amount) / static_cast<double>(one_gpu));
}

}  // namespace

SmallWorld::SmallWorld(const std::string& nodes, const std::string& projects,
                       const std::string& jobs) {
  for_items(nodes, [this](const auto& name, const auto& words) { add_node(name, words); });
  world_.measure_gpus();
  for_items(projects, [this](const auto& name, const auto& words) { add_project(name, words); });
  for_items(jobs, [this](const auto& name, const auto& words) { add_job(name, words); });
}

void SmallWorld::add_node(const std::string& name, const Words& words) {
  FleetNode node;
  node.name = name;
  node.gpu_count = static_cast<std::uint32_t>(number(words, "gpus", 8));
  node.gpu_memory_mib = 1000;
  node.cpu_milli = std::llround(number(words, "cpus", 1000) * 1000);
  node.memory_bytes = std::int64_t{1} << 40;
  node.task_count_max = 1000;
  world_.fleet.add(std::move(node));
}

void SmallWorld::add_project(const std::string& name, const Words& words) {
  QuotaTerms terms;
  terms.deserved = Amount::all(unbounded);
  terms.deserved[Resource::gpu] = std::llround(number(words, "quota", 0) * one_gpu);
  terms.limit[Resource::gpu] = gpus_or_unbounded(words, "limit");
  terms.weight = {number(words, "weight", number(words, "quota", 0)), 1, 1};
  terms.rank = static_cast<std::int32_t>(number(words, "rank", 100));
  terms.age_order = projects_.size();
  if (words.contains("keep")) {
    terms.reclaim_min_runtime_seconds = std::llround(number(words, "keep", 0));
    terms.preempt_min_runtime_seconds = terms.reclaim_min_runtime_seconds;
  }
  if (words.contains("reclaim_keep"))
    terms.reclaim_min_runtime_seconds = std::llround(number(words, "reclaim_keep", 0));
  if (words.contains("preempt_keep"))
    terms.preempt_min_runtime_seconds = std::llround(number(words, "preempt_keep", 0));
  const auto above = words.find("in");
  const QuotaIndex parent = above == words.end() ? quota_root : projects_.at(above->second);
  projects_[name] = world_.quotas.add(name, parent, terms);
}

NodeIndex SmallWorld::node_named(const std::string& name) const {
  for (NodeIndex i = 0; i < world_.fleet.size(); ++i)
    if (world_.fleet.at(i).name == name) return i;
  ROTA_ASSERT(!"a node of the text");
  return no_node;
}

void SmallWorld::add_job(const std::string& name, const Words& words) {
  auto demand = std::make_shared<Demand>();
  if (words.contains("share")) {
    demand->gpu = Demand::Gpu::portion;
    demand->portion = std::llround(number(words, "share", 0) * one_gpu);
    demand->devices = 1;
  } else if (number(words, "gpus", 1) > 0) {
    demand->gpu = Demand::Gpu::whole;
    demand->devices = static_cast<std::uint32_t>(number(words, "gpus", 1));
  }
  demand->cpu_milli = 1000;
  std::vector<std::string> nodes;
  if (words.contains("on")) nodes = split(words.at("on"), ',');
  const auto tasks = static_cast<std::size_t>(
      number(words, "tasks", nodes.empty() ? 1 : static_cast<double>(nodes.size())));
  auto shape = std::make_shared<JobShape>();
  shape->gang =
      Gang::simple(static_cast<std::uint32_t>(number(words, "min", static_cast<double>(tasks))));
  for (std::size_t i = 0; i < tasks; ++i) shape->tasks.push_back({0, demand, nullptr});

  SchedJob job;
  job.id = job_names_.size();
  job.shape = std::move(shape);
  job.project = projects_.at(words.at("project"));
  job.priority = static_cast<std::int32_t>(number(words, "priority", 50));
  job.preemptible = !words.contains("firm");
  job.semi = words.contains("semi");
  job.background = words.contains("background");
  job.submitted = -std::llround(number(words, "age", 0));
  if (words.contains("delay"))
    job.preempts_after = job.submitted + std::llround(number(words, "delay", 0));
  if (!nodes.empty()) {
    job.started = -std::llround(number(words, "ran", 60));
    if (words.contains("saved")) job.saved = -std::llround(number(words, "saved", 0));
    job.tasks.resize(tasks);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Task& task = job.tasks[i];
      task.state = TaskState::running;
      task.spot.node = node_named(nodes[i]);
      const FleetNode& node = world_.fleet.at(task.spot.node);
      if (demand->gpu == Demand::Gpu::whole) {
        // Tasks of one job on one node get different GPUs.
        std::vector<bool> taken = node.gpu_taken;
        for (std::size_t j = 0; j < i; ++j)
          if (job.tasks[j].spot.node == task.spot.node)
            for (const auto gpu : job.tasks[j].spot.gpus) taken[gpu] = true;
        for (std::uint32_t g = 0; g < node.gpu_count && task.spot.gpus.size() < demand->devices;
             ++g)
          if (!taken[g]) task.spot.gpus.push_back(g);
      } else if (demand->is_shared()) {
        task.spot = choose_shared(node, task.spot.node, *demand, true).spot;
      }
    }
  }
  job_names_.push_back(name);
  world_.add(std::move(job));
}

std::string SmallWorld::run(std::span<const Action> actions) {
  std::vector<std::vector<TaskState>> before;
  for (std::uint32_t j = 0; j < world_.job_count(); ++j) {
    before.emplace_back();
    for (std::uint32_t t = 0; t < world_.job(j).task_count(); ++t)
      before.back().push_back(world_.job(j).state(t));
  }
  run_pass(world_, actions);
  std::string said;
  for (std::uint32_t j = 0; j < world_.job_count(); ++j) {
    std::map<std::string, std::string> by_verb;
    for (std::uint32_t t = 0; t < world_.job(j).tasks.size(); ++t) {
      const Task& task = world_.job(j).tasks[t];
      if (task.state == before[j][t]) continue;
      const bool gone = task.state == TaskState::leaving;
      const char* verb = task.leaves             ? "move"
                         : gone                  ? "evict"
                         : is_active(task.state) ? "start"
                                                 : "promise";
      std::string& where = by_verb[verb];
      if (!gone) where += (where.empty() ? "" : ",") + world_.fleet.at(task.spot.node).name;
    }
    for (const auto& [verb, where] : by_verb) {
      said += format("{}{} {}", said.empty() ? "" : "; ", verb, job_names_[j]);
      if (!where.empty()) said += (verb == "move" ? " to " : " on ") + where;
    }
  }
  return said;
}

std::string SmallWorld::shares() const {
  std::string text;
  for (QuotaIndex i = 1; i < world_.quotas.size(); ++i) {
    const QuotaNode& node = world_.quotas.at(i);
    text += format("{}{} {} of {}", text.empty() ? "" : "; ", node.name,
                   gpus_text(node.held[Resource::gpu]), gpus_text(node.fair_share[Resource::gpu]));
  }
  return text;
}

std::string SmallWorld::digest() const {
  std::string text;
  for (const FleetNode& node : world_.fleet.nodes()) {
    text +=
        format("{} gpus {}+{} cpu {}+{} tasks {}+{}", node.name, node.gpus_idle, node.gpus_leaving,
               node.cpu_idle, node.cpu_leaving, node.tasks_idle, node.tasks_leaving);
    for (const SharedGpu& gpu : node.shared)
      if (gpu.members > 0)
        text += format(" shared {}@{}:{}/{}/{}", gpu.id, gpu.gpu ? int(*gpu.gpu) : -1, gpu.used_mib,
                       gpu.held_mib, gpu.leaving_mib);
    text += '\n';
  }
  for (QuotaIndex i = 0; i < world_.quotas.size(); ++i) {
    const QuotaNode& node = world_.quotas.at(i);
    for (const Resource r : resources)
      text += format("{}/{}/{} ", node.held[r], node.held_firm[r], node.waiting[r]);
  }
  for (std::uint32_t j = 0; j < world_.job_count(); ++j)
    for (std::uint32_t t = 0; t < world_.job(j).task_count(); ++t) {
      const SchedJob& job = world_.job(j);
      text += format("\n{}.{} {}", job_names_[j], t, int(job.state(t)));
      if (job.tasks.empty() || job.tasks[t].spot.node == no_node) continue;
      text += format(" {}", job.tasks[t].spot.node);
      for (const auto gpu : job.tasks[t].spot.gpus) text += format(" g{}", gpu);
      for (const auto id : job.tasks[t].spot.shared) text += format(" s{}", id);
    }
  return text;
}

std::string decide(const std::string& nodes, const std::string& projects, const std::string& jobs) {
  return SmallWorld(nodes, projects, jobs).run();
}

}  // namespace rota::sched
