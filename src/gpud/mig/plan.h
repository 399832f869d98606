// gpud/mig/plan.h - from the instances there are to those there should be: steps, in order.
//
// No NVML, no clock: what is seen and what is wished go in, steps come out. The same plan made
// again after half of it was carried out is the other half.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gpud/mig/instances.h"

namespace rota::gpud {

/// An instance of ours on one GPU: one that a run is to have, or one that is to go.
struct MigEntry {
  std::uint32_t profile_id = 0;
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  bool is_leaving = false;
  bool is_made = false;  // the run has it

  bool is(const MigInstance& instance) const {
    return instance.profile_id == profile_id && instance.start == start && instance.size == size;
  }
  friend bool operator==(const MigEntry&, const MigEntry&) = default;
};

struct MigWish {
  std::vector<MigEntry> entries;
  bool switches = false;    // the mode can be changed without a reset
  bool off_wanted = false;  // once nothing is left
};

struct MigStep {
  enum class Kind : std::uint8_t {
    switch_on = 1,
    switch_off,
    create,           // of `entry`
    create_compute,   // in `instance`, or in the one that was just created
    destroy_compute,  // `compute` of `instance`
    destroy,          // `instance`
  };
  Kind kind = Kind::create;
  std::size_t entry = 0;  // place in the wish; of no meaning when the mode is changed
  std::uint32_t instance = 0;
  std::uint32_t compute = 0;
  friend bool operator==(const MigStep&, const MigStep&) = default;
};

struct MigPlan {
  std::vector<MigStep> steps;
  /// One per entry: why it cannot be made at all; "": it can, or nothing is to be made.
  std::vector<std::string> refusals;
};

/// First what goes, then the mode, then what comes. An instance that lies in the way and is not
/// ours is a refusal, never a step.
MigPlan plan_mig(const MigSeen& seen, const MigWish& wish);

/// For tests and the log: "end 2.0, end 2, on, make 19@0, compute".
std::string mig_steps_text(const MigPlan& plan, const MigWish& wish);

}  // namespace rota::gpud
