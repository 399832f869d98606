// testsuite/unit/sched/quota_ledger.h - what projects hold, by the model's own account.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "unit/sched/played_pass.h"

namespace rota::sched::drawn {

Triple operator+(const Triple& a, const Triple& b);
Triple operator-(const Triple& a, const Triple& b);
Triple operator*(const Triple& a, std::int64_t count);
/// In every resource.
bool within(const Triple& a, const Triple& b);
bool within(const Triple& a, const Bound& b);

/// The project and all above it, up to its department.
std::vector<std::size_t> line_of(const World& world, std::size_t project);
/// The two just below what they have in common, on a's and on b's side.
std::pair<std::size_t, std::size_t> levelled(const World& world, std::size_t a, std::size_t b);

/// Placed tasks are charged to their project and all above it; those that leave are not.
struct Ledger {
  std::vector<Triple> held, firm;  // by project; firm: of jobs that cannot be preempted

  Ledger(const World& world, const Stands& stands);

  void charge(const World& world, const Job& job, std::int64_t tasks);
  /// Which gate `tasks` more of this job do not pass; empty: all let it through.
  std::string gate_for(const World& world, const Job& job, std::int64_t tasks) const;
};

/// What projects hold and what waits in them, with all below; `stands` as of the beginning.
std::vector<Triple> requested_by(const World& world, const Stands& stands);

}  // namespace rota::sched::drawn
