// gpud/mig/ledger.h - which MIG instances are ours, kept in the spool.
//
// Written before an instance is made and after it is gone, so that an rgpud that was killed in
// between finds what it began. Not synced: what a power failure would take from the file it takes
// from the GPU too.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "model/ids.h"

namespace rota::gpud {

struct MigOwned {
  std::string gpu;      // UUID
  std::string profile;  // for people
  std::uint32_t profile_id = 0;
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  RunId run;

  friend bool operator==(const MigOwned&, const MigOwned&) = default;
  static auto fields(auto& m) {
    return std::tie(m.gpu, m.profile, m.profile_id, m.start, m.size, m.run);
  }
};

struct MigLedger {
  std::vector<MigOwned> instances;
  std::vector<std::string> switched;  // GPUs whose MIG mode we turned on, and shall turn off

  friend bool operator==(const MigLedger&, const MigLedger&) = default;
  static auto fields(auto& m) { return std::tie(m.instances, m.switched); }
};

/// Empty where there is no file.
Result<MigLedger> mig_ledger_load(const std::string& path);
Result<void> mig_ledger_save(const std::string& path, const MigLedger& ledger);

}  // namespace rota::gpud
