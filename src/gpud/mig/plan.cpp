// gpud/mig/plan.cpp - what goes, the mode, what comes.
#include "gpud/mig/plan.h"

#include <algorithm>

#include "common/format.h"

namespace rota::gpud {
namespace {

using Kind = MigStep::Kind;

bool overlap(std::uint32_t a, std::uint32_t a_size, std::uint32_t b, std::uint32_t b_size) {
  return a < b + b_size && b < a + a_size;
}

/// The entry that says that this instance has to go, if there is one. An instance that a run has is
/// never meant, although one of the same kind at the same place may have gone before.
const MigEntry* leaving_entry(const MigWish& wish, const MigInstance& instance) {
  const auto is_made = [&](const MigEntry& each) {
    return each.is_made && !each.is_leaving && each.is(instance);
  };
  if (std::ranges::any_of(wish.entries, is_made)) return nullptr;
  const auto found = std::ranges::find_if(
      wish.entries, [&](const MigEntry& each) { return each.is_leaving && each.is(instance); });
  return found == wish.entries.end() ? nullptr : &*found;
}

void add_ends(const MigSeen& seen, const MigWish& wish, MigPlan& plan,
              std::vector<MigInstance>& staying) {
  for (const MigInstance& instance : seen.instances) {
    const MigEntry* entry = leaving_entry(wish, instance);
    if (entry == nullptr) {
      staying.push_back(instance);
      continue;
    }
    const auto at = static_cast<std::size_t>(entry - wish.entries.data());
    for (const MigCompute& compute : instance.computes)
      plan.steps.push_back({Kind::destroy_compute, at, instance.id, compute.id});
    plan.steps.push_back({Kind::destroy, at, instance.id, 0});
  }
}

/// Why the entry cannot be made beside what stays; "": it can.
std::string refusal_of(const MigEntry& entry, const MigWish& wish,
                       const std::vector<MigInstance>& staying) {
  for (const MigInstance& instance : staying) {
    if (entry.is(instance) || !overlap(entry.start, entry.size, instance.start, instance.size))
      continue;
    const bool ours =
        std::ranges::any_of(wish.entries, [&](const MigEntry& each) { return each.is(instance); });
    return format("instance {} lies at {}:{}, {}", instance.id, instance.start, instance.size,
                  ours ? "and another job has it" : "and is not ours");
  }
  return "";
}

}  // namespace

MigPlan plan_mig(const MigSeen& seen, const MigWish& wish) {
  MigPlan plan;
  plan.refusals.resize(wish.entries.size());
  std::vector<MigInstance> staying;
  add_ends(seen, wish, plan, staying);
  bool is_on = seen.is_on;
  for (std::size_t i = 0; i < wish.entries.size(); ++i) {
    const MigEntry& entry = wish.entries[i];
    if (entry.is_leaving) continue;
    const auto there = std::ranges::find_if(
        staying, [&](const MigInstance& instance) { return entry.is(instance); });
    if (there != staying.end()) {
      if (there->computes.empty()) plan.steps.push_back({Kind::create_compute, i, there->id, 0});
      continue;
    }
    plan.refusals[i] = refusal_of(entry, wish, staying);
    if (plan.refusals[i].empty() && !is_on && !wish.switches)
      plan.refusals[i] =
          "it is not in MIG mode, and only a reset by the administrator changes that";
    if (!plan.refusals[i].empty()) continue;
    if (!is_on) plan.steps.push_back({Kind::switch_on, i, 0, 0});
    is_on = true;
    plan.steps.push_back({Kind::create, i, 0, 0});
    plan.steps.push_back({Kind::create_compute, i, 0, 0});
  }
  const bool is_wanted =
      std::ranges::any_of(wish.entries, [](const MigEntry& entry) { return !entry.is_leaving; });
  if (seen.is_on && wish.off_wanted && wish.switches && !is_wanted && staying.empty())
    plan.steps.push_back({Kind::switch_off, 0, 0, 0});
  return plan;
}

std::string mig_steps_text(const MigPlan& plan, const MigWish& wish) {
  std::vector<std::string> words;
  for (const MigStep& step : plan.steps) {
    switch (step.kind) {
      case Kind::switch_on:
        words.push_back("on");
        break;
      case Kind::switch_off:
        words.push_back("off");
        break;
      case Kind::create:
        words.push_back(format("make {}@{}", wish.entries[step.entry].profile_id,
                               wish.entries[step.entry].start));
        break;
      case Kind::create_compute:
        words.push_back("compute");
        break;
      case Kind::destroy_compute:
        words.push_back(format("end {}.{}", step.instance, step.compute));
        break;
      case Kind::destroy:
        words.push_back(format("end {}", step.instance));
        break;
    }
  }
  for (const std::string& refusal : plan.refusals)
    if (!refusal.empty()) words.push_back("no: " + refusal);
  return format("{}", fmt::join(words, ", "));
}

}  // namespace rota::gpud
