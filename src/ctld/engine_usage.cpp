// ctld/engine_usage.cpp - what jobs do with their GPUs, and jobs that do nothing with them.
#include <algorithm>
#include <utility>

#include "common/format.h"
#include "common/units.h"
#include "ctld/engine.h"

namespace rota::ctld {

void Engine::note_usage(const Job& job, const NodePart& part, const RunUsage& usage) {
  run_usage_[job.id][{part.node, part.growth}] = usage;
}

RunUsage Engine::usage_on(const Job& job, const NodePart& part) const {
  const auto known = run_usage_.find(job.id);
  if (known == run_usage_.end()) return {};
  const auto at = known->second.find({part.node, part.growth});
  return at == known->second.end() ? RunUsage{} : at->second;
}

/// The sum of its parts, those that have ended too; what is in use now is of those that it holds.
RunUsage Engine::usage_of(const Job& job) const {
  RunUsage sum;
  const auto known = run_usage_.find(job.id);
  if (known == run_usage_.end()) return sum;
  for (const auto& [part, usage] : known->second) {
    sum.sampled_ms += usage.sampled_ms;
    sum.busy_ms += usage.busy_ms;
    sum.energy_mj += usage.energy_mj;
    sum.memory_max_bytes += usage.memory_max_bytes;
  }
  std::uint64_t percent = 0;
  std::uint64_t gpus = 0;
  for (const NodePart& part : job.last->placement) {
    const RunUsage usage = usage_on(job, part);
    sum.power_mw += usage.power_mw;
    sum.memory_bytes += usage.memory_bytes;
    percent += std::uint64_t{usage.utilization_percent} * part.gpus.size();
    gpus += part.gpus.size();
  }
  if (gpus > 0) sum.utilization_percent = static_cast<std::uint32_t>(percent / gpus);
  sum.idle_ms = idle_ms(job);
  return sum;
}

/// For how long all of its GPUs have been idle, by the node that saw the least of it; 0: they are
/// not, or a node has not said.
std::int64_t Engine::idle_ms(const Job& job) const {
  if (job.state != JobState::running) return 0;
  std::optional<std::int64_t> least;
  for (const NodePart& part : job.last->placement) {
    if (part.gpus.empty() && part.mig.empty()) continue;
    const std::int64_t idle = usage_on(job, part).idle_ms;
    least = std::min(least.value_or(idle), idle);
  }
  return least.value_or(0);
}

/// An inference job waits for others' work: that is what it is for.
Engine::IdleRule Engine::idle_rule(const Job& job) const {
  if (job.spec.kind == JobKind::inference) return {};
  const bool interactive = job.spec.kind == JobKind::interactive;
  if (const Project* project = find_project(org(), job.spec.project)) {
    const auto& own =
        interactive ? project->interactive_idle_limit_seconds : project->train_idle_limit_seconds;
    if (own) return {*own, "the project"};
  }
  return {
      interactive ? settings_.interactive_idle_limit_seconds : settings_.train_idle_limit_seconds,
      "the site"};
}

std::string Engine::idle_text(const Job& job) const {
  const auto idle = idle_.find(job.id);
  if (job.state != JobState::running || idle == idle_.end()) return {};
  std::string text = format("its GPUs are idle since {}", rfc3339(idle->second.since));
  if (const IdleRule rule = idle_rule(job); rule.limit_seconds > 0)
    text += format(", {} allows {}", rule.whose,
                   elapsed_format(std::chrono::seconds(rule.limit_seconds)));
  return text;
}

void Engine::judge_idle(Job& job, Now now) {
  const std::int64_t idle = idle_ms(job);
  if (idle == 0) {
    if (idle_.erase(job.id) > 0) note(job);
    return;
  }
  const auto [spell, is_new] =
      idle_.try_emplace(job.id, IdleSpell{{now.wall.microseconds - idle * 1000}});
  if (is_new) note(job);
  const IdleRule rule = idle_rule(job);
  const std::int64_t limit_ms = rule.limit_seconds * 1000;
  if (limit_ms == 0 || idle < limit_ms) {
    if (is_new) effects_.notes.push_back(format("job {}: {}", job.id.value, idle_text(job)));
    // At half time: early enough to do something about it, late enough to mean it.
    if (idle * 2 >= limit_ms && limit_ms > 0 && !std::exchange(spell->second.is_told, true))
      tell(job, format("the GPUs of job {} have been idle for {}; it is ended when they are for {}",
                       job.id.value, elapsed_format(std::chrono::milliseconds(idle)),
                       elapsed_format(std::chrono::milliseconds(limit_ms))));
    return;
  }
  const std::string why = format("its GPUs were idle for {}, {} allows {}",
                                 elapsed_format(std::chrono::milliseconds(idle)), rule.whose,
                                 elapsed_format(std::chrono::seconds(rule.limit_seconds)));
  effects_.notes.push_back(format("job {} is ended: {}", job.id.value, why));
  job.last.edit().end = RunEnd{.cause = EndCause::idle, .detail = why};
  begin_ending(job);
  order_end_everywhere(job);
}

/// To those who read its output.
void Engine::tell(const Job& job, std::string text) {
  for (const NodePart& part : job.last->placement)
    if (part.task_first == 0 && part.task_count > 0)
      return order(part.node, proto::TellRun{job.run(part), std::move(text)});
}

bool Engine::runs_heard(NodeId id, const std::vector<proto::RunUsageReport>& reports, Now now) {
  const std::size_t notes = effects_.notes.size();
  const std::size_t orders = effects_.orders.size();
  bool changed = false;
  for (const proto::RunUsageReport& report : reports) {
    const RunId run = report.run;
    const auto at = jobs_.find(run.job);
    if (at == jobs_.end()) continue;
    Job& job = at->second;
    const Placement& parts = job.last->placement;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const NodePart& each) {
      return each.node == id && job.run(each) == run;
    });
    if (part == parts.end()) continue;
    note_usage(job, *part, report.usage);
    if (job.state != JobState::running) continue;
    const bool was_idle = idle_.contains(job.id);
    judge_idle(job, now);
    changed = changed || was_idle != idle_.contains(job.id);
  }
  return changed || effects_.notes.size() != notes || effects_.orders.size() != orders;
}

}  // namespace rota::ctld
