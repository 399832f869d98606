// gpud/mig/work.h - carries a plan out on one GPU. Runs where NVML may take its time.
#pragma once
#include <string>
#include <vector>

#include "common/result.h"
#include "gpud/inventory/nvml.h"
#include "gpud/mig/plan.h"

namespace rota::gpud {

/// What became of a wish. Told by what is there afterwards, not by what the calls returned.
struct MigOutcome {
  struct Entry {
    bool is_settled = false;  // made, or gone
    bool is_busy = false;     // in use, or behind something that is: worth another try
    MigCompute compute;       // of one that is made
    std::uint32_t instance = 0;
    std::string trouble;  // of one that is not settled
  };
  bool is_on = false;
  bool was_switched = false;   // the mode was changed: handles of others are void
  std::string mode_trouble;    // why it could not be switched off; "": it was not to be, or it is
  std::vector<Entry> entries;  // as in the wish
};

/// Fails only when the GPU cannot be asked.
Result<MigOutcome> carry_out_mig(const Nvml& nvml, const std::string& uuid, const MigWish& wish);

}  // namespace rota::gpud
