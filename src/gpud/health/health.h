// gpud/health/health.h - how the GPUs of this node are: event in, effects out.
//
// No I/O, no clock, no threads. Of each GPU: ok -> suspect -> draining -> resetting -> testing ->
// ok or failed (doc/design/0017-gpu-health.md). Monitor feeds it and carries out what it asks for.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/health/policy.h"
#include "gpud/health/record.h"
#include "gpud/inventory/nvml_health.h"
#include "model/gpu.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::gpud {

inline constexpr std::uint32_t whole_gpu = UINT32_MAX;

/// A run that has (a part of) a GPU.
struct GpuTenant {
  RunId run;
  std::uint32_t instance = whole_gpu;  // of MIG

  friend auto operator<=>(const GpuTenant&, const GpuTenant&) = default;
};

/// An Xid as one of two sources tells it. Each of them misses some, so both are heard, and what
/// both tell counts once.
struct XidSeen {
  enum class Source : std::uint8_t { driver, log };
  std::string uuid;
  std::uint32_t xid = 0;
  Source source = Source::driver;
  std::uint32_t instance = whole_gpu;
  std::optional<RunId> run;  // whose process did it, where the source says
  bool is_foreign = false;   // it names a process that is of no run
};

/// End this run; it says why.
struct EndTenant {
  RunId run;
  EndCause cause = EndCause::gpu_failed;
  std::string detail;
};
/// Answered by reset_done().
struct ResetGpu {
  std::string uuid;
};
/// Answered by test_done().
struct TestGpu {
  std::string uuid;
};
/// Answered by polled(), as soon as can be.
struct PollGpu {
  std::string uuid;
};
using HealthEffect = std::variant<EndTenant, ResetGpu, TestGpu, PollGpu>;

class Health {
 public:
  /// `record` is what an earlier rgpud left, from this boot or another.
  Health(HealthPolicy policy, const std::vector<Gpu>& gpus, HealthRecord record,
         std::string boot_id, Now now);

  /// Who has which GPU now: all of it, by UUID.
  void set_tenants(std::map<std::string, std::vector<GpuTenant>> tenants, Now now);

  void seen(const XidSeen& xid, Now now);
  /// The GPU of a recovery action that has changed, or any other that is worth a look now.
  void look_at(const std::string& uuid);
  void polled(const std::string& uuid, const GpuVitals& vitals, Now now);
  /// A question to NVML about this GPU has not been answered in time.
  void missed(const std::string& uuid, Now now);
  void reset_done(const std::string& uuid, const Result<void>& result, Now now);
  /// `result` is NVML's answer, or why the GPU failed its test.
  void test_done(const std::string& uuid, const Result<GpuVitals>& result, Now now);
  /// Processes of a run that is over, which SIGKILL did not end, may have this GPU open still.
  void left_behind(const std::string& uuid, const std::vector<ProcessName>& processes, Now now);
  /// All that is waited for, and those of it that have gone at last.
  std::vector<ProcessName> left() const;
  void gone(const std::vector<ProcessName>& processes, Now now);
  /// A site's own check: good, or what it says.
  void checked(const std::string& path, const Result<void>& result, Now now);
  /// A check that is not run any more says nothing.
  void keep_checks(const std::set<std::string>& paths, Now now);
  /// An administrator: try this GPU again ("": the node).
  void retry(const std::string& uuid, Now now);
  /// Now and then: resets that failed are tried again.
  void tick(Now now);

  /// The controller has events up to this one on record.
  void taken(std::uint64_t sequence);

  std::vector<HealthEffect> take_effects();
  /// Whether report() says something new since the last call of this.
  bool take_news();

  proto::GpuHealthReport report() const;
  std::vector<GpuHealth> conditions() const;
  std::string node_reason() const;
  HealthRecord record() const;
  /// Not before this line of the kernel's log.
  std::uint64_t kmsg_sequence() const { return kmsg_sequence_; }
  void set_kmsg_sequence(std::uint64_t sequence) { kmsg_sequence_ = sequence; }

 private:
  struct Heard {
    std::uint32_t xid;
    XidSeen::Source source;
    MonoTime at;
    bool is_unclaimed;  // a job's doing, and nobody could say whose
  };
  struct Patient {
    GpuFile file;
    std::string name;  // "GPU 3"
    bool is_here = true;
    std::vector<GpuTenant> tenants;
    std::set<Symptom> symptoms;
    std::map<Symptom, std::string> suspicions;  // that make it suspect, with their words
    std::vector<Heard> heard;
    std::deque<std::pair<MonoTime, bool>> throttling;
    std::uint32_t missed = 0;
    std::uint32_t recovery_action = 0;
    bool fault_again = false;  // while it was being reset or tested
    std::optional<MonoTime> reset_again_at;
    // The last event of its kind, to count repeats instead of filling the history with them.
    std::string last_text;
    MonoTime last_at;
  };

  Patient* find(const std::string& uuid);
  void resume(Patient& patient, bool rebooted, Now now);
  bool is_repeat(Patient& patient, const XidSeen& xid, bool is_claimed, Now now, bool& late_claim);
  void act(Patient& patient, HealthAction action, const std::string& text, std::uint32_t xid,
           std::uint32_t instance, Now now);
  void blame(Patient& patient, RunId run, const std::string& text, std::uint32_t xid, Now now);
  void drain(Patient& patient, const std::string& text, std::uint32_t xid, std::vector<JobId> jobs,
             Now now);
  static std::set<RunId> runs_on(const Patient& patient, std::uint32_t instance);
  std::vector<JobId> end_tenants(Patient& patient, std::uint32_t instance, const std::string& text);
  void note_incident(Patient& patient, Now now);
  void advance(Patient& patient, Now now);
  void fail(Patient& patient, const std::string& text, bool is_final, Now now);
  void test(Patient& patient, std::string reason, Now now);
  void move(Patient& patient, GpuCondition to, std::string reason, std::uint32_t xid,
            std::vector<JobId> jobs, Now now);
  void note(Patient& patient, const std::string& text, std::uint32_t xid, std::vector<JobId> jobs,
            Now now);
  void add_event(HealthEvent event, Now now);
  void suspect(Patient& patient, Symptom symptom, std::string text, Now now);
  void unsuspect(Patient& patient, Symptom symptom, Now now);
  void update_suspicion(Patient& patient, Now now);
  void set_trouble(const std::string& source, std::string text, bool until_reboot, Now now);
  void clear_trouble(const std::string& source, Now now);
  std::vector<std::pair<Symptom, std::string>> symptoms_of(Patient& patient,
                                                           const GpuVitals& vitals, Now now);

  HealthPolicy policy_;
  std::string boot_id_;
  std::vector<Patient> patients_;  // in the order of the inventory, then those that are missing
  std::vector<NodeTrouble> troubles_;
  std::vector<HealthEvent> events_;
  std::uint64_t sequence_ = 0;
  std::uint64_t kmsg_sequence_ = 0;
  std::vector<HealthEffect> effects_;
  bool has_news_ = true;
};

}  // namespace rota::gpud
