// sim/scenario_run.cpp - one step after the other; names to jobs and back.
#include "sim/scenario_run.h"

#include <algorithm>
#include <map>
#include <queue>

#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"
#include "sim/virtual_cluster.h"

namespace rota::sim {
namespace {

using Kind = Expectation::Kind;
using State = VirtualJob::State;
using Names = std::vector<std::string>;

std::string names_text(const Names& names) { return names.empty() ? "none" : hostlist_fold(names); }

class Player {
 public:
  explicit Player(const Scenario& scenario)
      : scenario_(scenario),
        cluster_(scenario.cluster, scenario.org, {.policy = scenario.policy}) {}

  ScenarioOutcome play() {
    for (const Step& step : scenario_.steps)
      std::visit([this](const auto& each) { take(each); }, step);
    return std::move(outcome_);
  }

 private:
  /// Jobs that are yet to come.
  struct Coming {
    SimTime at = 0;
    std::size_t order = 0;
    const ScenarioJob* job = nullptr;
    friend bool operator>(const Coming& a, const Coming& b) {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  void take(const SubmitStep& step) {
    for (const ScenarioJob& job : step.jobs)
      coming_.push({cluster_.now() + job.after, order_++, &job});
    run_until(cluster_.now());
  }
  void take(const WaitStep& step) { run_until(cluster_.now() + step.time); }
  void take(const CancelStep& step) {
    for (const std::string& name : step.names)
      if (const auto at = numbers_.find(name); at != numbers_.end()) cluster_.cancel(at->second);
    cluster_.settle();
  }
  void take(const ExpectStep& step) {
    for (const Expectation& expectation : step.expectations) check(expectation);
  }

  void run_until(SimTime time) {
    while (!coming_.empty() && coming_.top().at <= time) {
      const SimTime at = coming_.top().at;
      cluster_.run_until(at);
      for (; !coming_.empty() && coming_.top().at == at; coming_.pop()) submit(*coming_.top().job);
      cluster_.settle();
    }
    cluster_.run_until(time);
    cluster_.settle();
  }

  void submit(const ScenarioJob& job) {
    if (cluster_.fits(job.spec))
      numbers_[job.spec.name] = cluster_.submit(job.spec, job.work);
    else
      refused_.push_back(job.spec.name);
  }

  // ---- what came ----

  Names in_state(State state) const {
    Names names;
    for (const VirtualJob& job : cluster_.jobs())
      if (job.state == state) names.push_back(job.spec.name);
    return names;
  }

  Names on_node(const std::string& node) const {
    Names names;
    for (const VirtualJob& job : cluster_.jobs())
      if (std::any_of(job.placement.begin(), job.placement.end(),
                      [&](const NodePart& part) { return cluster_.node_name(part.node) == node; }))
        names.push_back(job.spec.name);
    return names;
  }

  Names jobs_of(const Expectation& expectation) const {
    switch (expectation.kind) {
      case Kind::running:
        return in_state(State::running);
      case Kind::waiting:
        return in_state(State::waiting);
      case Kind::ended:
        return in_state(State::ended);
      case Kind::cancelled:
        return in_state(State::cancelled);
      case Kind::refused:
        return refused_;
      default:
        return on_node(expectation.subject);
    }
  }

  const sched::QuotaNode& quota_of(const std::string& name) const {
    return find_project(scenario_.org, name) != nullptr ? cluster_.scheduler().project(name)
                                                        : cluster_.scheduler().department(name);
  }

  std::int64_t preemptions_of(const std::string& name) const {
    const auto at = numbers_.find(name);
    if (at == numbers_.end()) return 0;
    return std::count_if(cluster_.happenings().begin(), cluster_.happenings().end(),
                         [&](const Happening& each) {
                           return each.job == at->second && each.what == Happening::What::displaced;
                         });
  }

  std::int64_t idle() const {
    std::int64_t idle = 0;
    for (const sched::FleetNode& node : cluster_.scheduler().world().fleet.nodes())
      idle += node.gpus_idle;
    return idle * gpu_unit;
  }

  // ---- expectations ----

  void check(const Expectation& expectation) {
    constexpr auto gpu = sched::Resource::gpu;
    const std::string& subject = expectation.subject;
    switch (expectation.kind) {
      case Kind::held:
        return compare_amounts(expectation, quota_of(subject).held[gpu], 6);
      case Kind::share:
        return compare_amounts(expectation, quota_of(subject).allocatable(gpu), 6);
      case Kind::idle:
        return compare_amounts(expectation, idle(), 6);
      case Kind::same_gpu:
        return check_same_gpu(expectation);
      case Kind::preempted:
        return compare_amounts(expectation, preemptions_of(subject), 0);
      default:
        return compare_names(expectation);
    }
  }

  /// "n1[0,3]": where a job is; "nowhere".
  std::string spots_text(const std::string& name) const {
    std::string text;
    if (const auto at = numbers_.find(name); at != numbers_.end())
      for (const NodePart& part : cluster_.jobs()[at->second].placement)
        text += format("{}{}[{}]", text.empty() ? "" : ",", cluster_.node_name(part.node),
                       fmt::join(part.gpus, ","));
    return text.empty() ? "nowhere" : text;
  }

  void check_same_gpu(const Expectation& expectation) {
    std::string came;
    bool is_one = true;
    for (const std::string& name : expectation.names) {
      const std::string spots = spots_text(name);
      is_one = is_one && spots != "nowhere" && spots == spots_text(expectation.names.front());
      came += format("{}{} on {}", came.empty() ? "" : ", ", name, spots);
    }
    if (is_one)
      ++outcome_.passed;
    else
      fail(expectation, names_text(expectation.names) + " on one GPU", std::move(came));
  }

  void compare_names(const Expectation& expectation) {
    Names came = jobs_of(expectation);
    std::sort(came.begin(), came.end());
    if (came == expectation.names) {
      ++outcome_.passed;
      return;
    }
    fail(expectation, names_text(expectation.names),
         names_text(came) + why_text(expectation, came));
  }

  /// Why the first job waits that should not.
  std::string why_text(const Expectation& expectation, const Names& came) const {
    if (expectation.kind != Kind::running && expectation.kind != Kind::waiting) return "";
    const bool should_run = expectation.kind == Kind::running;
    const Names& more = should_run ? expectation.names : came;
    const Names& less = should_run ? came : expectation.names;
    for (const std::string& name : more) {
      const auto at = numbers_.find(name);
      if (std::binary_search(less.begin(), less.end(), name) || at == numbers_.end()) continue;
      if (cluster_.jobs()[at->second].state == State::waiting)
        return format(" ({}: {})", name, cluster_.wait_text(at->second));
    }
    return "";
  }

  void compare_amounts(const Expectation& expectation, std::int64_t came, unsigned digits) {
    if (came == expectation.amount)
      ++outcome_.passed;
    else
      fail(expectation, decimal_format(expectation.amount, digits), decimal_format(came, digits));
  }

  void fail(const Expectation& expectation, std::string expected, std::string came) {
    std::string what(name_of(expectation.kind));
    if (!expectation.subject.empty()) what += ": " + expectation.subject;
    outcome_.failures.push_back(
        {expectation.mark, cluster_.now(), std::move(what), std::move(expected), std::move(came)});
  }

  const Scenario& scenario_;
  VirtualCluster cluster_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::size_t order_ = 0;
  std::map<std::string, JobNumber, std::less<>> numbers_;
  Names refused_;
  ScenarioOutcome outcome_;
};

}  // namespace

ScenarioOutcome run_scenario(const Scenario& scenario) { return Player(scenario).play(); }

}  // namespace rota::sim
