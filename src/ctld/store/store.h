// ctld/store/store.h - rows in, rows out. No SQL outside this folder.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "ctld/rows.h"

namespace rota::ctld {

/// What a controller remembers. commit() and probe() are called from one thread at a time, load(),
/// payload() and secret() from another one; the two may overlap.
class Store {
 public:
  virtual ~Store() = default;

  /// All rows or none of them; on return they survive a power loss. On store_unavailable nothing of
  /// it happened, and a later call may succeed.
  virtual Result<void> commit(const std::vector<Row>& rows) = 0;
  /// Whether a row could be committed now.
  virtual Result<void> probe() = 0;

  /// All jobs that have not ended, the latest `ended_kept` that have, everything else that lives,
  /// and what was held since `past_since`; never: the past is not asked for.
  virtual Result<Snapshot> load(std::uint64_t ended_kept, WallTime past_since = {}) = 0;
  virtual Result<std::optional<JobPayload>> payload(JobId job) = 0;
  /// What the user's secret says, sealed as it was put.
  virtual Result<std::optional<std::string>> secret(std::uint32_t uid, const std::string& name) = 0;
};

/// The embedded store: one SQLite file in WAL mode with full synchronisation. Creates it, or brings
/// an older one to this schema; a newer one is refused.
Result<std::unique_ptr<Store>> open_sqlite(const std::string& path);

/// The schema's numbered steps, as SQL, from the first.
extern const std::vector<const char*> store_migrations;

}  // namespace rota::ctld
