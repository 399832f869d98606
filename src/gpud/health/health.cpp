// gpud/health/health.cpp - from what was seen of a GPU to what is done about it.
#include "gpud/health/health.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "common/assert.h"
#include "common/format.h"

namespace rota::gpud {
namespace {

using namespace std::chrono_literals;

/// What one source tells so shortly after the other is the same.
constexpr Duration echo_within = 10s;
/// The same words again within this time are counted, not told again.
constexpr Duration repeat_within = 60s;
constexpr Duration reset_pause = 60s;
constexpr std::uint32_t reset_failures_max = 3;
constexpr std::size_t blamed_jobs_max = 3;  // within a day, before the GPU itself is doubted
constexpr std::size_t incidents_max = 2;    // within a week, before the node is
constexpr Duration throttle_window = 10min;
constexpr std::int64_t throttle_percent = 60;
constexpr std::uint32_t missed_max = 2;
constexpr std::size_t events_max = 1000;
constexpr std::size_t heard_max = 64;
constexpr std::int64_t day_us = 24ll * 3600 * 1'000'000;

std::string repeated_source(const std::string& uuid) { return uuid + "/again"; }
std::string check_source(const std::string& path) { return "check:" + path; }

/// A wall clock, because a week outlasts a boot. One that steps may make the GPU's past longer or
/// shorter; nobody's job hangs on it.
bool is_within(WallTime at, WallTime now, std::int64_t microseconds) {
  return now.microseconds - at.microseconds < microseconds;
}

bool is_being_repaired(GpuCondition condition) {
  return condition == GpuCondition::resetting || condition == GpuCondition::testing;
}

std::string recovery_text(std::uint32_t action) {
  constexpr std::string_view names[] = {"nothing",     "a reset",           "a reboot",
                                        "a P2P drain", "a drain and reset", "a fabric recovery"};
  if (action < std::size(names)) return format("the driver asks for {}", names[action]);
  return format("the driver asks for recovery action {}", action);
}

}  // namespace

// ---- beginning, and what is there ----

Health::Health(HealthPolicy policy, const std::vector<Gpu>& gpus, HealthRecord record,
               std::string boot_id, Now now)
    : policy_(std::move(policy)),
      boot_id_(std::move(boot_id)),
      troubles_(std::move(record.troubles)),
      events_(std::move(record.events)),
      // The controller takes what is above the last it has: a spool that was lost must not begin
      // below that.
      sequence_(record.sequence != 0 ? record.sequence
                                     : static_cast<std::uint64_t>(now.wall.microseconds)) {
  const bool rebooted = record.boot_id != boot_id_;
  if (!rebooted) kmsg_sequence_ = record.kmsg_sequence;
  if (rebooted) std::erase_if(troubles_, [](const NodeTrouble& each) { return each.until_reboot; });
  for (const Gpu& gpu : gpus) {
    Patient patient;
    patient.name = format("GPU {}", gpu.index);
    patient.file.health.uuid = gpu.uuid;
    const auto known = std::find_if(record.gpus.begin(), record.gpus.end(),
                                    [&](const GpuFile& f) { return f.health.uuid == gpu.uuid; });
    if (known != record.gpus.end()) {
      patient.file = std::move(*known);
      record.gpus.erase(known);
    }
    patients_.push_back(std::move(patient));
  }
  for (GpuFile& file : record.gpus) {
    Patient patient;
    patient.name = file.health.uuid;
    patient.is_here = false;
    patient.file = std::move(file);
    patients_.push_back(std::move(patient));
  }
  for (Patient& patient : patients_) resume(patient, rebooted, now);
}

void Health::resume(Patient& patient, bool rebooted, Now now) {
  GpuFile& file = patient.file;
  const GpuCondition condition = file.health.condition;
  if (rebooted) {
    file.links_baseline = 0;
    file.left.clear();
  }
  if (file.cause.empty()) file.cause = file.health.reason;  // of a record without one
  if (!patient.is_here) {
    patient.symptoms.insert(Symptom::lost);
    if (condition != GpuCondition::failed)
      act(patient, policy_.of(Symptom::lost), "the driver does not find it", 0, whole_gpu, now);
    return;
  }
  if (condition == GpuCondition::suspect) return update_suspicion(patient, now);
  if (takes_jobs(condition)) return;
  if (rebooted && !file.is_final) {
    file.ends_jobs = false;
    file.reset_failures = 0;
    return test(patient, format("tested after a reboot; before: {}", file.cause), now);
  }
  if (condition == GpuCondition::resetting) effects_.emplace_back(ResetGpu{file.health.uuid});
  if (condition == GpuCondition::testing) effects_.emplace_back(TestGpu{file.health.uuid});
}

Health::Patient* Health::find(const std::string& uuid) {
  const auto at = std::find_if(patients_.begin(), patients_.end(), [&uuid](const Patient& each) {
    return each.file.health.uuid == uuid;
  });
  return at == patients_.end() ? nullptr : &*at;
}

void Health::set_tenants(std::map<std::string, std::vector<GpuTenant>> tenants, Now now) {
  for (Patient& patient : patients_) {
    const GpuHealth& health = patient.file.health;
    const std::vector<GpuTenant> before = std::exchange(patient.tenants, tenants[health.uuid]);
    const bool is_closed = is_being_repaired(health.condition) ||
                           health.condition == GpuCondition::failed || patient.file.ends_jobs;
    // A launch that was on its way when the GPU was closed.
    for (const GpuTenant& tenant : patient.tenants)
      if (is_closed && std::find(before.begin(), before.end(), tenant) == before.end())
        effects_.emplace_back(EndTenant{tenant.run, EndCause::gpu_failed,
                                        format("{} failed: {}", patient.name, health.reason)});
    advance(patient, now);
  }
}

// ---- Xids ----

/// Whether the other source has told this already. `late_claim`: it could not say whose doing it
/// was, and this one can.
bool Health::is_repeat(Patient& patient, const XidSeen& xid, bool is_claimed, Now now,
                       bool& late_claim) {
  std::vector<Heard>& heard = patient.heard;
  std::erase_if(heard, [now](const Heard& each) { return now.mono - each.at > echo_within; });
  const auto same = std::find_if(heard.begin(), heard.end(), [&xid](const Heard& each) {
    return each.xid == xid.xid && each.source != xid.source;
  });
  if (same == heard.end()) {
    if (heard.size() >= heard_max) heard.erase(heard.begin());
    heard.push_back({xid.xid, xid.source, now.mono, !is_claimed});
    return false;
  }
  late_claim = same->is_unclaimed && is_claimed;
  heard.erase(same);
  return true;
}

/// Those that have something of that instance, or of all of the GPU.
std::set<RunId> Health::runs_on(const Patient& patient, std::uint32_t instance) {
  std::set<RunId> runs;
  for (const GpuTenant& tenant : patient.tenants)
    if (instance == whole_gpu || tenant.instance == whole_gpu || tenant.instance == instance)
      runs.insert(tenant.run);
  return runs;
}

void Health::seen(const XidSeen& xid, Now now) {
  Patient* patient = find(xid.uuid);
  if (patient == nullptr) return;
  const HealthAction action = policy_.of_xid(xid.xid);
  std::string text = format("Xid {}", xid.xid);
  if (const auto words = xid_text(xid.xid); !words.empty()) text += format(": {}", words);
  if (!policy_.knows(xid.xid)) text += ", which is not known here";
  std::optional<RunId> run = xid.run;
  if (!run && !xid.is_foreign)
    if (const auto runs = runs_on(*patient, xid.instance); runs.size() == 1) run = *runs.begin();
  bool late_claim = false;
  const bool repeat =
      is_repeat(*patient, xid, run.has_value() || action != HealthAction::job, now, late_claim);
  if (repeat && !late_claim) return;
  if (action == HealthAction::recovery) {
    note(*patient, text, xid.xid, {}, now);
    return look_at(xid.uuid);
  }
  if (action != HealthAction::job) return act(*patient, action, text, xid.xid, xid.instance, now);
  if (run) return blame(*patient, *run, text, xid.xid, now);
  note(*patient, text + (xid.is_foreign ? "; of no job" : "; nobody can say of which job"), xid.xid,
       {}, now);
}

void Health::look_at(const std::string& uuid) { effects_.emplace_back(PollGpu{uuid}); }

/// The job's own doing, as far as one can tell; many different jobs make it the GPU's.
void Health::blame(Patient& patient, RunId run, const std::string& text, std::uint32_t xid,
                   Now now) {
  effects_.emplace_back(
      EndTenant{run, EndCause::gpu_error, format("{} on {}", text, patient.name)});
  std::vector<JobFault>& faults = patient.file.job_faults;
  std::erase_if(faults,
                [now](const JobFault& each) { return !is_within(each.at, now.wall, day_us); });
  std::erase_if(faults, [run](const JobFault& each) { return each.job == run.job; });
  faults.push_back({run.job, now.wall});
  note(patient, text, xid, {run.job}, now);
  if (faults.size() < blamed_jobs_max) return;
  const std::string why =
      format("errors of {} jobs within a day, the last {}", faults.size(), text);
  faults.clear();
  act(patient, HealthAction::idle, why, xid, whole_gpu, now);
}

// ---- what follows ----

void Health::act(Patient& patient, HealthAction action, const std::string& text, std::uint32_t xid,
                 std::uint32_t instance, Now now) {
  GpuFile& file = patient.file;
  const GpuCondition condition = file.health.condition;
  std::vector<JobId> jobs;
  const bool ends_jobs = action == HealthAction::gpu || action == HealthAction::node;
  if (ends_jobs) {
    jobs = end_tenants(patient, instance, text);
    if (!file.ends_jobs && condition != GpuCondition::failed) note_incident(patient, now);
    if (instance == whole_gpu) file.ends_jobs = true;
    if (is_being_repaired(condition)) patient.fault_again = true;
  }
  if (action == HealthAction::replace) file.is_final = true;
  if (action == HealthAction::node)
    set_trouble(file.health.uuid, format("{}: {}", patient.name, text), true, now);
  const bool drains = ends_jobs || action == HealthAction::idle || action == HealthAction::replace;
  if (drains && takes_jobs(condition)) {
    file.cause = text;
    move(patient, GpuCondition::draining, text, xid, std::move(jobs), now);
  } else {
    note(patient, text, xid, std::move(jobs), now);
  }
  advance(patient, now);
}

std::vector<JobId> Health::end_tenants(Patient& patient, std::uint32_t instance,
                                       const std::string& text) {
  const std::set<RunId> ended = runs_on(patient, instance);
  std::string detail = format("{} failed: {}", patient.name, text);
  if (ended.size() > 1) detail += format("; it ended all {} jobs that share it", ended.size());
  std::vector<JobId> jobs;
  for (const RunId run : ended) {
    effects_.emplace_back(EndTenant{run, EndCause::gpu_failed, detail});
    jobs.push_back(run.job);
  }
  return jobs;
}

void Health::note_incident(Patient& patient, Now now) {
  std::vector<WallTime>& incidents = patient.file.incidents;
  std::erase_if(incidents, [now](WallTime at) { return !is_within(at, now.wall, 7 * day_us); });
  incidents.push_back(now.wall);
  if (incidents.size() < incidents_max) return;
  set_trouble(repeated_source(patient.file.health.uuid),
              format("{} failed {} times within 7 days", patient.name, incidents.size()), false,
              now);
}

/// A GPU that takes no more jobs and has none left.
void Health::advance(Patient& patient, Now now) {
  GpuFile& file = patient.file;
  if (file.health.condition != GpuCondition::draining || !patient.tenants.empty()) return;
  if (file.is_final) return fail(patient, file.cause + "; it has to be replaced", true, now);
  const auto needs_reboot = [&file](const NodeTrouble& each) {
    return each.source == file.health.uuid && each.until_reboot;
  };
  if (!patient.is_here || std::any_of(troubles_.begin(), troubles_.end(), needs_reboot))
    return fail(patient, file.cause + "; the node has to be rebooted", false, now);
  if (!file.left.empty()) return;  // a reset under them would fail, or hang
  move(patient, GpuCondition::resetting, file.cause, 0, {}, now);
  effects_.emplace_back(ResetGpu{file.health.uuid});
}

void Health::reset_done(const std::string& uuid, const Result<void>& result, Now now) {
  Patient* patient = find(uuid);
  if (patient == nullptr || patient->file.health.condition != GpuCondition::resetting) return;
  GpuFile& file = patient->file;
  if (result) {
    file.reset_failures = 0;
    return test(*patient, file.cause, now);
  }
  ++file.reset_failures;
  const std::string text = format("reset failed {} of {} times: {}", file.reset_failures,
                                  reset_failures_max, result.error().detail);
  if (file.reset_failures < reset_failures_max) {
    patient->reset_again_at = now.mono + reset_pause * file.reset_failures;
    return note(*patient, text, 0, {}, now);
  }
  set_trouble(uuid, format("{}: {}", patient->name, text), true, now);
  fail(*patient, format("{}; {}", file.cause, text), false, now);
}

void Health::tick(Now now) {
  for (Patient& patient : patients_) {
    if (!patient.reset_again_at || now.mono < *patient.reset_again_at) continue;
    patient.reset_again_at.reset();
    if (patient.file.health.condition == GpuCondition::resetting)
      effects_.emplace_back(ResetGpu{patient.file.health.uuid});
  }
}

void Health::test(Patient& patient, std::string reason, Now now) {
  patient.fault_again = false;
  patient.symptoms.clear();
  patient.suspicions.clear();
  patient.throttling.clear();
  patient.recovery_action = 0;
  patient.missed = 0;
  move(patient, GpuCondition::testing, std::move(reason), 0, {}, now);
  effects_.emplace_back(TestGpu{patient.file.health.uuid});
}

void Health::test_done(const std::string& uuid, const Result<GpuVitals>& result, Now now) {
  Patient* patient = find(uuid);
  if (patient == nullptr || patient->file.health.condition != GpuCondition::testing) return;
  GpuFile& file = patient->file;
  if (std::exchange(patient->fault_again, false)) {
    if (++file.reset_failures >= reset_failures_max)
      return fail(*patient, file.cause + "; it does not last", false, now);
    move(*patient, GpuCondition::draining, file.cause + "; again during its test", 0, {}, now);
    return advance(*patient, now);
  }
  if (!result)
    return fail(*patient, format("{}; test failed: {}", file.cause, result.error().detail), false,
                now);
  if (file.links_baseline == 0) file.links_baseline = result->links_up;
  for (const auto& [symptom, text] : symptoms_of(*patient, *result, now)) {
    const HealthAction action = policy_.of(symptom);
    if (action < HealthAction::idle) continue;
    return fail(*patient, format("{}; test failed: {}", file.cause, text),
                action == HealthAction::replace, now);
  }
  if (policy_.of_recovery(result->recovery_action) != HealthAction::log)
    return fail(*patient,
                format("{}; test failed: {}", file.cause, recovery_text(result->recovery_action)),
                false, now);
  file.ends_jobs = file.is_final = false;
  file.reset_failures = 0;
  file.cause.clear();
  move(*patient, GpuCondition::ok, "", 0, {}, now);
}

void Health::fail(Patient& patient, const std::string& text, bool is_final, Now now) {
  patient.file.is_final = patient.file.is_final || is_final;
  move(patient, GpuCondition::failed, text, 0, {}, now);
}

// ---- what a look at it tells ----

std::vector<std::pair<Symptom, std::string>> Health::symptoms_of(Patient& patient,
                                                                 const GpuVitals& vitals, Now now) {
  std::vector<std::pair<Symptom, std::string>> found;
  const auto add = [&found](bool is, Symptom symptom, std::string text) {
    if (is) found.emplace_back(symptom, std::move(text));
  };
  add(vitals.lost, Symptom::lost, "it is lost: it does not answer on the bus");
  add(vitals.reset_required, Symptom::reset_required, "NVML says that it needs a reset");
  if (!found.empty()) return found;
  add(vitals.remap_failed, Symptom::remap_failed, "a row of memory could not be remapped");
  add(vitals.sram_exceeded, Symptom::sram_exceeded, "SRAM errors are over the threshold");
  add(vitals.ecc_uncorrected > 0, Symptom::ecc_uncorrected,
      format("{} uncorrected ECC errors", vitals.ecc_uncorrected));
  add(vitals.remap_pending, Symptom::remap_pending, "a row of memory is to be remapped");
  add(vitals.retire_pending, Symptom::retire_pending, "a page of memory is to be retired");
  const std::uint64_t down = patient.file.links_baseline & ~vitals.links_up;
  add(down != 0, Symptom::link_down,
      format("{} of {} NVLinks are down", std::popcount(down),
             std::popcount(patient.file.links_baseline)));
  add(vitals.temperature_slowdown > 0 && vitals.temperature >= vitals.temperature_slowdown,
      Symptom::hot,
      format("{} C, it slows down at {} C", vitals.temperature, vitals.temperature_slowdown));
  auto& throttling = patient.throttling;
  throttling.emplace_back(now.mono, is_throttled(vitals));
  while (now.mono - throttling.front().first > throttle_window) throttling.pop_front();
  const auto slow = std::count_if(throttling.begin(), throttling.end(),
                                  [](const auto& each) { return each.second; });
  // Enough of the window has to be known, or one bad moment at the start would be all of it.
  const bool is_long = now.mono - throttling.front().first >= throttle_window * 6 / 10;
  add(is_long && slow * 100 > static_cast<std::int64_t>(throttling.size()) * throttle_percent,
      Symptom::throttled, "hardware has slowed it down for most of the last 10 minutes");
  return found;
}

void Health::polled(const std::string& uuid, const GpuVitals& vitals, Now now) {
  Patient* patient = find(uuid);
  if (patient == nullptr || !patient->is_here) return;
  patient->missed = 0;
  unsuspect(*patient, Symptom::hanging, now);
  if (is_being_repaired(patient->file.health.condition)) return;
  if (patient->file.links_baseline == 0) patient->file.links_baseline = vitals.links_up;
  std::set<Symptom> current;
  for (const auto& [symptom, text] : symptoms_of(*patient, vitals, now)) {
    current.insert(symptom);
    if (patient->symptoms.contains(symptom)) continue;
    const HealthAction action = policy_.of(symptom);
    if (action == HealthAction::suspect)
      suspect(*patient, symptom, text, now);
    else
      act(*patient, action, text, 0, whole_gpu, now);
  }
  for (const Symptom symptom : patient->symptoms)
    if (!current.contains(symptom)) unsuspect(*patient, symptom, now);
  patient->symptoms = std::move(current);
  const std::uint32_t before = std::exchange(patient->recovery_action, vitals.recovery_action);
  if (vitals.recovery_action != 0 && vitals.recovery_action != before)
    act(*patient, policy_.of_recovery(vitals.recovery_action),
        recovery_text(vitals.recovery_action), 0, whole_gpu, now);
}

void Health::missed(const std::string& uuid, Now now) {
  Patient* patient = find(uuid);
  if (patient == nullptr || ++patient->missed != missed_max) return;
  const std::string text = format("NVML did not answer {} times in a row", missed_max);
  if (patient->file.health.condition == GpuCondition::testing)
    return test_done(uuid, Error{Errc::timed_out, text}, now);
  const HealthAction action = policy_.of(Symptom::hanging);
  if (action == HealthAction::suspect)
    suspect(*patient, Symptom::hanging, text, now);
  else
    act(*patient, action, text, 0, whole_gpu, now);
}

void Health::suspect(Patient& patient, Symptom symptom, std::string text, Now now) {
  patient.suspicions[symptom] = std::move(text);
  update_suspicion(patient, now);
}

void Health::unsuspect(Patient& patient, Symptom symptom, Now now) {
  if (patient.suspicions.erase(symptom) > 0) update_suspicion(patient, now);
}

void Health::update_suspicion(Patient& patient, Now now) {
  if (!takes_jobs(patient.file.health.condition)) return;
  std::string reason;
  for (const auto& [symptom, text] : patient.suspicions)
    reason += (reason.empty() ? "" : "; ") + text;
  const GpuCondition to = reason.empty() ? GpuCondition::ok : GpuCondition::suspect;
  if (to != patient.file.health.condition || reason != patient.file.health.reason)
    move(patient, to, reason, 0, {}, now);
}

// ---- processes that do not die ----

void Health::left_behind(const std::string& uuid, const std::vector<ProcessName>& processes,
                         Now now) {
  Patient* patient = find(uuid);
  if (patient == nullptr) return;
  std::vector<ProcessName>& left = patient->file.left;
  std::string text;
  for (const ProcessName& process : processes) {
    if (std::find(left.begin(), left.end(), process) != left.end()) continue;
    left.push_back(process);
    text += format("{}{}", text.empty() ? "" : ", ", process.pid);
  }
  if (text.empty()) return;
  text = format("SIGKILL did not end process {} of a job on it", text);
  const HealthAction action = policy_.of(Symptom::unkillable);
  if (action == HealthAction::suspect)
    suspect(*patient, Symptom::unkillable, text, now);
  else
    act(*patient, action, text, 0, whole_gpu, now);
}

std::vector<ProcessName> Health::left() const {
  std::vector<ProcessName> all;
  for (const Patient& patient : patients_)
    all.insert(all.end(), patient.file.left.begin(), patient.file.left.end());
  return all;
}

void Health::gone(const std::vector<ProcessName>& processes, Now now) {
  for (Patient& patient : patients_) {
    const std::size_t erased = std::erase_if(patient.file.left, [&](const ProcessName& each) {
      return std::find(processes.begin(), processes.end(), each) != processes.end();
    });
    if (erased == 0) continue;
    has_news_ = true;  // the record has them
    if (!patient.file.left.empty()) continue;
    unsuspect(patient, Symptom::unkillable, now);
    advance(patient, now);
  }
}

// ---- the node ----

void Health::checked(const std::string& path, const Result<void>& result, Now now) {
  if (result)
    clear_trouble(check_source(path), now);
  else
    set_trouble(check_source(path), result.error().detail, false, now);
}

void Health::keep_checks(const std::set<std::string>& paths, Now now) {
  std::vector<std::string> gone;
  for (const NodeTrouble& each : troubles_)
    if (each.source.starts_with("check:") && !paths.contains(each.source.substr(6)))
      gone.push_back(each.source);
  for (const std::string& source : gone) clear_trouble(source, now);
}

void Health::set_trouble(const std::string& source, std::string text, bool until_reboot, Now now) {
  const auto known =
      std::find_if(troubles_.begin(), troubles_.end(),
                   [&source](const NodeTrouble& each) { return each.source == source; });
  if (known != troubles_.end() && known->text == text) return;
  HealthEvent event;
  event.before = node_reason().empty() ? GpuCondition::ok : GpuCondition::failed;
  event.after = GpuCondition::failed;
  event.text = text;
  if (known != troubles_.end())
    *known = {source, std::move(text), until_reboot};
  else
    troubles_.push_back({source, std::move(text), until_reboot});
  add_event(std::move(event), now);
}

void Health::clear_trouble(const std::string& source, Now now) {
  const auto known =
      std::find_if(troubles_.begin(), troubles_.end(),
                   [&source](const NodeTrouble& each) { return each.source == source; });
  if (known == troubles_.end()) return;
  HealthEvent event;
  event.before = GpuCondition::failed;
  event.text = format("over: {}", known->text);
  troubles_.erase(known);
  event.after = troubles_.empty() ? GpuCondition::ok : GpuCondition::failed;
  add_event(std::move(event), now);
}

void Health::retry(const std::string& uuid, Now now) {
  if (uuid.empty()) {
    std::vector<std::string> sources;
    for (const NodeTrouble& each : troubles_) sources.push_back(each.source);
    for (const std::string& source : sources) clear_trouble(source, now);
    for (Patient& patient : patients_) patient.file.incidents.clear();
    return;
  }
  clear_trouble(uuid, now);
  clear_trouble(repeated_source(uuid), now);
  Patient* patient = find(uuid);
  if (patient == nullptr) return;
  if (!patient->is_here) {  // taken out for good
    note(*patient, "forgotten: an administrator says that it is gone", 0, {}, now);
    patients_.erase(patients_.begin() + (patient - patients_.data()));
    return;
  }
  GpuFile& file = patient->file;
  file.is_final = false;
  file.reset_failures = 0;
  file.incidents.clear();
  file.job_faults.clear();
  if (file.health.condition == GpuCondition::failed)
    test(*patient, format("tried again by an administrator; before: {}", file.cause), now);
}

// ---- what is told ----

void Health::move(Patient& patient, GpuCondition to, std::string reason, std::uint32_t xid,
                  std::vector<JobId> jobs, Now now) {
  GpuHealth& health = patient.file.health;
  HealthEvent event;
  event.uuid = health.uuid;
  event.before = health.condition;
  event.after = to;
  event.xid = xid;
  event.text = reason.empty() ? "well again" : reason;
  event.jobs = std::move(jobs);
  if (health.reason != reason) {
    health.first = now.wall;
    health.count = 0;
  }
  ++health.count;
  health.last = now.wall;
  if (health.condition != to || !health.since) health.since = now.wall;
  health.condition = to;
  health.reason = std::move(reason);
  if (to == GpuCondition::ok) {
    health.first = health.last = {};
    health.count = 0;
  }
  patient.last_text.clear();
  add_event(std::move(event), now);
}

/// Nothing changes by it; but it is on record.
void Health::note(Patient& patient, const std::string& text, std::uint32_t xid,
                  std::vector<JobId> jobs, Now now) {
  GpuHealth& health = patient.file.health;
  if (health.condition != GpuCondition::ok) {
    ++health.count;
    health.last = now.wall;
  }
  if (text == patient.last_text && now.mono - patient.last_at < repeat_within) return;
  patient.last_text = text;
  patient.last_at = now.mono;
  HealthEvent event;
  event.uuid = health.uuid;
  event.before = event.after = health.condition;
  event.xid = xid;
  event.text = text;
  event.jobs = std::move(jobs);
  add_event(std::move(event), now);
}

void Health::add_event(HealthEvent event, Now now) {
  event.sequence = ++sequence_;
  event.at = now.wall;
  events_.push_back(std::move(event));
  if (events_.size() > events_max) events_.erase(events_.begin());
  has_news_ = true;
}

void Health::taken(std::uint64_t sequence) {
  std::erase_if(events_,
                [sequence](const HealthEvent& event) { return event.sequence <= sequence; });
}

std::vector<HealthEffect> Health::take_effects() { return std::exchange(effects_, {}); }

bool Health::take_news() { return std::exchange(has_news_, false); }

std::vector<GpuHealth> Health::conditions() const {
  std::vector<GpuHealth> all;
  for (const Patient& patient : patients_) all.push_back(patient.file.health);
  return all;
}

std::string Health::node_reason() const {
  std::string reason;
  for (const NodeTrouble& each : troubles_) reason += (reason.empty() ? "" : "; ") + each.text;
  return reason;
}

proto::GpuHealthReport Health::report() const { return {conditions(), events_, node_reason()}; }

HealthRecord Health::record() const {
  HealthRecord record;
  record.boot_id = boot_id_;
  record.sequence = sequence_;
  record.kmsg_sequence = kmsg_sequence_;
  for (const Patient& patient : patients_) record.gpus.push_back(patient.file);
  record.events = events_;
  record.troubles = troubles_;
  return record;
}

}  // namespace rota::gpud
