// gpud/health/policy.h - what is done about which trouble with a GPU: one table, and a site's own
// words on it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/result.h"

namespace rota::gpud {

/// From harmless to grave.
enum class HealthAction : std::uint8_t {
  log,       // on record, nothing else
  job,       // the job whose doing it was fails; the GPU stays
  suspect,   // shown as suspect for as long as it lasts; the GPU stays
  idle,      // no new jobs; reset and tested once its jobs have ended by themselves
  replace,   // no new jobs, and never again when its jobs have ended
  gpu,       // its jobs are ended, then it is reset and tested
  node,      // its jobs are ended, and the node takes no more of any kind
  recovery,  // as the driver's recovery action says
};
std::string_view name_of(HealthAction action);

/// Troubles that are no Xid, by the names that node.health_policy knows.
enum class Symptom : std::uint8_t {
  ecc_uncorrected,  // errors since the last reset
  hanging,          // two NVML calls in a row did not come back in time
  hot,              // at or over the temperature at which it slows down
  link_down,        // an NVLink that was up at boot
  lost,             // not on the bus any more, or not found by the driver
  remap_failed,     // no spare rows left
  remap_pending,    // rows to remap with the next reset
  reset_required,   // NVML refuses it until then
  retire_pending,   // pages to retire with the next reset: Volta and older
  sram_exceeded,    // over the threshold at which NVIDIA replaces it
  throttled,        // hardware slows it down for more than 6 of 10 minutes
  unkillable,       // processes of a job that is over, which SIGKILL did not end
};
inline constexpr std::size_t symptom_count = 12;
std::string_view name_of(Symptom symptom);

/// What people read of an Xid: "double bit ECC error"; "" for one that is not known.
std::string_view xid_text(std::uint32_t xid);

class HealthPolicy {
 public:
  HealthPolicy();

  HealthAction of_xid(std::uint32_t xid) const;
  bool knows(std::uint32_t xid) const { return xids_.contains(xid); }
  HealthAction of(Symptom symptom) const { return symptoms_[static_cast<std::size_t>(symptom)]; }
  /// NVML's field 230.
  HealthAction of_recovery(std::uint32_t action) const;

  /// Words such as "31=log 140=job link_down=suspect unknown=gpu", between blanks or commas.
  /// An error names the word.
  Result<void> change(std::string_view text);

 private:
  std::map<std::uint32_t, HealthAction> xids_;
  HealthAction symptoms_[symptom_count];
  HealthAction unknown_ = HealthAction::idle;
};

}  // namespace rota::gpud
