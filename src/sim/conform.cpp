// sim/conform.cpp - runs a scheduling case and compares what came with what must come.
#include "sim/conform.h"

#include <boost/json/src.hpp>
#include <cmath>
#include <map>
#include <set>

#include "common/format.h"
#include "sim/conform_case.h"
#include "sim/conform_units.h"
#include "sim/text_file.h"

namespace rota::sim {

namespace json = boost::json;
using sched::Resource;
using sched::TaskRef;

namespace {

std::vector<sched::Action> actions_of(const json::object& source) {
  static const std::map<std::string, sched::Action> words{
      {"allocate", sched::Action::allocate},
      {"consolidate", sched::Action::consolidate},
      {"consolidation", sched::Action::consolidate},
      {"reclaim", sched::Action::reclaim},
      {"preempt", sched::Action::preempt},
      {"stale_gang_eviction", sched::Action::evict_stale}};
  std::vector<sched::Action> actions;
  for (const auto& word : source.at("actions").as_array())
    if (const auto at = words.find(std::string(word.as_string())); at != words.end())
      actions.push_back(at->second);
  return actions;
}

/// What an expectation says against what is.
class Comparison {
 public:
  Comparison(const ConformCase& now, const json::object& expected, bool strict,
             std::vector<std::string>& faults)
      : now_(now), expected_(expected), strict_(strict), faults_(faults) {}

  void run() {
    for (const auto& [name, wish] : part("jobs")) {
      const auto job = now_.job(std::string(name));
      if (!job) {
        fault("job {}: not in the case", name);
        continue;
      }
      std::vector<std::uint32_t> tasks;
      for (std::uint32_t i = 0; i < now_.world().job(*job).tasks.size(); ++i) {
        compare_task(format("{}[{}]", std::string_view(name), i), {*job, i}, wish.as_object());
        tasks.push_back(i);
      }
      compare_sums(format("job {}", std::string_view(name)), *job, tasks, wish.as_object());
    }
    for (const auto& [name, wish] : part("tasks")) {
      const auto task = now_.task(std::string(name));
      if (!task) {
        fault("task {}: not in the case", name);
        continue;
      }
      compare_task(std::string(name), *task, wish.as_object());
      compare_sums(format("task {}", std::string_view(name)), task->job, {task->task},
                   wish.as_object());
    }
    for (const auto& [name, wish] : part("nodes"))
      compare_node(std::string(name), wish.as_object());
    compare_totals();
  }

 private:
  template <class... Values>
  void fault(const char* pattern, const Values&... values) {
    faults_.push_back(format(fmt::runtime(pattern), printable(values)...));
  }
  static const std::string& printable(const std::string& text) { return text; }
  static std::string printable(json::string_view text) { return std::string(text); }
  static std::string printable(double value) { return format("{}", value); }

  const json::object& part(const char* name) const {
    static const json::object nothing;
    const auto* value = expected_.if_contains(name);
    return value != nullptr && value->is_object() ? value->as_object() : nothing;
  }

  void compare_task(const std::string& name, TaskRef ref, const json::object& wish) {
    if (const auto* status = wish.if_contains("status"); status != nullptr) {
      const std::string is = now_.status(ref);
      if (is != status->as_string())
        fault("task {}: expected {}, is {}", name, json::string_view(status->as_string()), is);
    }
    if (!strict_) return;
    const auto* node = wish.if_contains("node");
    const sched::Task& task = now_.world().task(ref);
    if (node == nullptr || task.spot.node == sched::no_node) return;
    const std::string& is = now_.world().fleet.at(task.spot.node).name;
    if (is != node->as_string())
      fault("task {}: expected on {}, is on {}", name, json::string_view(node->as_string()), is);
    const auto* ignore = wish.if_contains("ignore_gpu_groups");
    const auto* groups = wish.if_contains("gpu_groups");
    if (groups != nullptr && !(ignore != nullptr && ignore->is_bool() && ignore->as_bool()))
      compare_shared(name, task.spot, groups->as_array());
  }

  /// Equal labels on a node stand for one GPU, different ones for different GPUs.
  void compare_shared(const std::string& name, const sched::Spot& spot, const json::array& labels) {
    std::set<std::string> wanted;
    for (const auto& label : labels) wanted.insert(std::string(label.as_string()));
    const std::set<std::uint32_t> is(spot.shared.begin(), spot.shared.end());
    if (is.empty()) return;
    if (wanted.size() != is.size())
      return fault("task {}: expected on {} shared GPUs, is on {}", name,
                   static_cast<double>(wanted.size()), static_cast<double>(is.size()));
    if (wanted.size() != 1) return;  // which label is which GPU is not told
    const auto key = std::pair(spot.node, *wanted.begin());
    const auto [known, is_new] = gpu_of_label_.try_emplace(key, *is.begin());
    const auto [label, label_is_new] =
        label_of_gpu_.try_emplace({spot.node, *is.begin()}, *wanted.begin());
    if (known->second != *is.begin() || label->second != *wanted.begin())
      fault("task {}: shares a GPU with others than expected", name);
  }

  /// Of these tasks of the job together.
  void compare_sums(const std::string& what, std::uint32_t index,
                    const std::vector<std::uint32_t>& tasks, const json::object& wish) {
    const sched::SchedJob& job = now_.world().job(index);
    double gpus = 0, cpu = 0, memory = 0, charged = 0;
    for (const std::uint32_t i : tasks) {
      const sched::Task& task = job.tasks[i];
      const sched::Demand& demand = job.demand(i);
      gpus += demand.whole_gpus();
      if (demand.gpu == sched::Demand::Gpu::portion)
        gpus += static_cast<double>(demand.portion * demand.devices) / sched::one_gpu;
      cpu += static_cast<double>(demand.cpu_milli);
      memory += static_cast<double>(demand.memory_bytes);
      if (sched::is_placed(task.state))
        charged += static_cast<double>(task.charge[Resource::gpu]) / sched::one_gpu;
    }
    compare_number(what, "gpus_required", gpus, wish);
    compare_number(what, "cpu_milli_required", cpu, wish);
    compare_number(what, "mem_bytes_required", memory, wish);
    compare_number(what, "gpus_accepted", charged, wish);
    if (const auto* reason = wish.if_contains("has_reason");
        reason != nullptr && reason->is_bool() && reason->as_bool() &&
        now_.world().cause_of(index).kind == sched::WaitCause::Kind::none)
      fault("{}: expected a reason for waiting, there is none", what);
    if (const auto* age = wish.if_contains("last_start_older_than_sec");
        age != nullptr && age->is_number() &&
        (job.started == sched::never ||
         static_cast<double>(now_.world().now - job.started) < age->to_number<double>()))
      fault("{}: expected to have started longer than {} s ago", what, age->to_number<double>());
  }

  void compare_number(const std::string& what, const char* key, double is,
                      const json::object& wish) {
    const auto* wanted = wish.if_contains(key);
    if (wanted == nullptr || !wanted->is_number()) return;
    const double want = wanted->to_number<double>();
    if (std::abs(want - is) > 1e-6)
      fault("{}: expected {} of {}, is {}", what, want, std::string(key), is);
  }

  void compare_node(const std::string& name, const json::object& wish) {
    const auto index = now_.node(name);
    if (!index) return fault("node {}: not in the case", name);
    const sched::FleetNode& node = now_.world().fleet.at(*index);
    const auto compare = [&](const char* key, std::int64_t is) {
      const auto* wanted = wish.if_contains(key);
      if (wanted != nullptr && wanted->is_number() &&
          std::abs(wanted->to_number<double>() - static_cast<double>(is)) > 1e-6)
        fault("node {}: expected {} {}, is {}", name, wanted->to_number<double>(), std::string(key),
              static_cast<double>(is));
    };
    compare("idle_gpus", node.gpus_idle);
    compare("releasing_gpus", node.gpus_leaving);
  }

  void compare_totals() {
    for (const auto& [status, wanted] : part("total_tasks_by_status")) {
      std::int64_t is = 0;
      for (std::uint32_t j = 0; j < now_.world().job_count(); ++j)
        for (std::uint32_t t = 0; t < now_.world().job(j).tasks.size(); ++t)
          is += now_.status({j, t}) == status;
      if (is != wanted.to_number<std::int64_t>())
        fault("expected {} tasks {}, there are {}", wanted.to_number<double>(),
              json::string_view(status), static_cast<double>(is));
    }
    for (const auto& [name, sets] : part("pod_set_nodes"))
      compare_set_nodes(std::string(name), sets.as_object());
  }

  void compare_set_nodes(const std::string& name, const json::object& sets) {
    const auto job = now_.job(name);
    if (!job) return fault("job {}: not in the case", name);
    const sched::SchedJob& j = now_.world().job(*job);
    for (const auto& [set, wish] : sets) {
      const auto* exactly = wish.as_object().if_contains("exactly");
      if (exactly == nullptr) continue;
      std::set<std::string> wanted, is;
      for (const auto& node : exactly->as_array()) wanted.insert(std::string(node.as_string()));
      for (std::uint32_t i = 0; i < j.tasks.size(); ++i)
        if (j.tasks[i].spot.node != sched::no_node &&
            j.shape->gang.sets[j.shape->tasks[i].set].name == set)
          is.insert(now_.world().fleet.at(j.tasks[i].spot.node).name);
      if (is != wanted)
        fault("job {}: set {} is on other nodes than expected", name, json::string_view(set));
    }
  }

  const ConformCase& now_;
  const json::object& expected_;
  bool strict_;
  std::vector<std::string>& faults_;
  std::map<std::pair<sched::NodeIndex, std::string>, std::uint32_t> gpu_of_label_;
  std::map<std::pair<sched::NodeIndex, std::uint32_t>, std::string> label_of_gpu_;
};

void check_limits(const json::object& expected, const ConformCase::RoundCounts& counts, int round,
                  std::vector<std::string>& faults) {
  const auto* limits = expected.if_contains("limits_per_round");
  if (limits == nullptr || !limits->is_object()) return;
  const auto check = [&](const char* key, std::int64_t is) {
    const auto* most = limits->as_object().if_contains(key);
    if (most != nullptr && most->is_number() && is > most->to_number<std::int64_t>())
      faults.push_back(format("round {}: {} is {}, at most {} allowed", round, key, is,
                              most->to_number<std::int64_t>()));
  };
  check("max_placements", counts.placements);
  check("max_evictions", counts.evictions);
  check("max_pipelined", counts.promises);
}

Verdict run_scheduling_case(const json::object& source, bool strict) {
  Verdict verdict{std::string(source.at("id").as_string()), {}};
  ConformCase state(source);
  const auto actions = actions_of(source);
  const json::object& expected = source.at("expected").as_object();
  if (source.at("mode").as_string() == "action") {
    check_limits(expected, state.run(actions), 1, verdict.faults);
    Comparison(state, expected, strict, verdict.faults).run();
    return verdict;
  }
  const auto until = source.at("rounds_until_match").to_number<int>();
  const auto after = source.at("rounds_after_match").to_number<int>();
  for (int round = 1; round <= until; ++round) {
    check_limits(expected, state.run(actions), round, verdict.faults);
    state.move_on();
  }
  Comparison(state, expected, strict, verdict.faults).run();
  for (int round = until + 1; round <= until + after && verdict.faults.empty(); ++round) {
    check_limits(expected, state.run(actions), round, verdict.faults);
    Comparison(state, expected, strict, verdict.faults).run();
    if (!verdict.faults.empty()) verdict.faults.push_back(format("(after round {})", round));
    state.move_on();
  }
  return verdict;
}

}  // namespace

Result<json::array> read_cases(const std::string& path) {
  ROTA_TRY(const std::string text, read_text_file(path));
  boost::system::error_code error;
  json::value document = json::parse(text, error);
  if (error) return Error{Errc::malformed, format("{}: not JSON: {}", path, error.message())};
  if (!document.is_object() || !document.as_object().contains("cases") ||
      !document.at("cases").is_array())
    return Error{Errc::malformed, format("{}: an object with an array 'cases' was expected", path)};
  return std::move(document.as_object().at("cases").as_array());
}

Verdict run_case(const json::object& source, bool strict) {
  try {
    return source.contains("kind") ? run_unit_case(source) : run_scheduling_case(source, strict);
  } catch (
      const std::exception& failure) {  // what Boost.JSON throws about a field that is not there
    const auto* id = source.if_contains("id");
    return {id != nullptr && id->is_string() ? std::string(id->as_string()) : "?",
            {format("the case cannot be read: {}", failure.what())}};
  }
}

}  // namespace rota::sim
