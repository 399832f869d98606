// gpud/mig/work.cpp - step by step; what stands on a step that failed is left for another time.
#include "gpud/mig/work.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace rota::gpud {
namespace {

using Kind = MigStep::Kind;

/// One pass over the steps.
class Pass {
 public:
  Pass(const Nvml& nvml, const std::string& uuid, const MigWish& wish, MigOutcome& outcome)
      : nvml_(nvml), uuid_(uuid), wish_(wish), outcome_(outcome) {}

  void run(const MigPlan& plan) {
    for (const MigStep& step : plan.steps) take(step);
  }

 private:
  void take(const MigStep& step) {
    MigOutcome::Entry* entry =
        step.kind != Kind::switch_off ? &outcome_.entries[step.entry] : nullptr;
    // The steps of one entry follow each other; the first that fails ends them.
    if (entry != nullptr && !entry->trouble.empty()) return;
    const bool comes = step.kind == Kind::switch_on || step.kind == Kind::create;
    if (comes && (stuck_ || !mode_trouble_.empty())) {
      entry->is_busy = mode_trouble_.empty() || mode_is_busy_;
      entry->trouble = mode_trouble_.empty() ? "another instance is still in use" : mode_trouble_;
      return;
    }
    const Result<bool> done = carry_out(step);
    if (done && *done) return;
    const std::string trouble = done ? "it is still in use" : done.error().message();
    if (step.kind == Kind::switch_on) {
      mode_trouble_ = done ? "the GPU is in use, and has to be idle for MIG" : trouble;
      mode_is_busy_ = done.has_value();
    }
    if (step.kind == Kind::destroy || step.kind == Kind::destroy_compute) stuck_ = true;
    if (entry == nullptr) {
      outcome_.mode_trouble = trouble;
      return;
    }
    entry->trouble = step.kind == Kind::switch_on ? mode_trouble_ : trouble;
    entry->is_busy = done.has_value();
  }

  Result<bool> carry_out(const MigStep& step) {
    switch (step.kind) {
      case Kind::switch_on:
      case Kind::switch_off: {
        ROTA_TRY(const bool done, nvml_.mig_switch(uuid_, step.kind == Kind::switch_on));
        outcome_.was_switched = outcome_.was_switched || done;
        return done;
      }
      case Kind::create: {
        const MigEntry& entry = wish_.entries[step.entry];
        ROTA_TRY(created_, nvml_.mig_create(uuid_, entry.profile_id, entry.start, entry.size));
        return true;
      }
      case Kind::create_compute: {
        // 0 may be an instance's number: what was just created is meant unless one was named.
        const std::uint32_t instance = created_ ? *std::exchange(created_, {}) : step.instance;
        ROTA_CHECK(nvml_.mig_create_compute(uuid_, instance));
        return true;
      }
      case Kind::destroy_compute:
        return nvml_.mig_destroy_compute(uuid_, step.instance, step.compute);
      case Kind::destroy:
        return nvml_.mig_destroy(uuid_, step.instance);
    }
    return true;
  }

  const Nvml& nvml_;
  const std::string& uuid_;
  const MigWish& wish_;
  MigOutcome& outcome_;
  std::optional<std::uint32_t> created_;
  bool stuck_ = false;  // something that should have gone is still there
  std::string mode_trouble_;
  bool mode_is_busy_ = false;
};

}  // namespace

Result<MigOutcome> carry_out_mig(const Nvml& nvml, const std::string& uuid, const MigWish& wish) {
  ROTA_TRY(const MigSeen before, nvml.mig(uuid));
  const MigPlan plan = plan_mig(before, wish);
  MigOutcome outcome;
  outcome.entries.resize(wish.entries.size());
  for (std::size_t i = 0; i < plan.refusals.size(); ++i)
    outcome.entries[i].trouble = plan.refusals[i];
  Pass(nvml, uuid, wish, outcome).run(plan);
  ROTA_TRY(const MigSeen after, nvml.mig(uuid));
  outcome.is_on = after.is_on;
  for (std::size_t i = 0; i < wish.entries.size(); ++i) {
    const MigEntry& wanted = wish.entries[i];
    MigOutcome::Entry& entry = outcome.entries[i];
    const auto there = std::ranges::find_if(
        after.instances, [&](const MigInstance& instance) { return wanted.is(instance); });
    const bool is_there = there != after.instances.end();
    if (wanted.is_leaving) {
      // Another of the same kind may be there by now: then this one has gone before it.
      entry.is_settled = !is_there || entry.trouble.empty();
    } else if (is_there && !there->computes.empty() && entry.trouble.empty()) {
      entry.is_settled = true;
      entry.instance = there->id;
      entry.compute = there->computes.front();
    } else if (entry.trouble.empty()) {
      entry.trouble = "it is not there although the driver made it";
    }
  }
  return outcome;
}

}  // namespace rota::gpud
