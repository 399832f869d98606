// gpud/mig/keeper.cpp - what should be on each GPU, told again until it is so.
#include "gpud/mig/keeper.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "common/assert.h"
#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/record.h"

namespace rota::gpud {
namespace {

/// Between two tries: with what was in use a moment ago, and with what has been for long.
constexpr Duration retry_soon = std::chrono::milliseconds(500);
constexpr Duration retry_slowly = std::chrono::seconds(10);

bool has(const std::vector<MigKeeper::Living>& living, RunId run) {
  return std::ranges::find(living, run, &MigKeeper::Living::run) != living.end();
}

std::string text_of(const MigOwned& owned) {
  return format("MIG instance {} at {} of {}", owned.profile, owned.start, owned.gpu);
}

}  // namespace

MigKeeper::MigKeeper(boost::asio::any_io_executor executor, NvmlWorker& nvml, Options options)
    : executor_(executor), nvml_(nvml), options_(std::move(options)) {
  for (std::size_t i = 0; i < options_.gpus.size(); ++i) {
    const Gpu& gpu = options_.gpus[i];
    if (!gpu.mig.can_be_cut()) continue;
    Work work;
    work.position = static_cast<std::uint16_t>(i);
    work.geometry = gpu.mig;
    work_.emplace(gpu.uuid, std::move(work));
  }
}

// ---- at the start ----

void MigKeeper::add_entry(const std::string& uuid, MigOwned owned, std::size_t order) {
  Entry entry;
  entry.key = ++keys_;
  entry.owned = std::move(owned);
  entry.order = order;
  work_.at(uuid).entries.push_back(std::move(entry));
}

/// What is on the GPU is a living run's, or ours without a run, or somebody else's.
/// `seen` null: the driver did not answer. Then what living runs have is believed to be there.
void MigKeeper::take_over(const std::string& uuid, Work& work, const MigSeen* seen,
                          const std::vector<Living>& living, MonoTime now) {
  const auto owner = [&](const MigInstance& instance) {
    return std::ranges::find_if(work.entries, [&](const Entry& entry) {
      return entry.owned.profile_id == instance.profile_id && entry.owned.start == instance.start &&
             entry.owned.size == instance.size;
    });
  };
  for (const MigInstance& instance :
       seen != nullptr ? seen->instances : std::vector<MigInstance>{}) {
    const auto entry = owner(instance);
    if (entry != work.entries.end()) {
      entry->is_made = has(living, entry->owned.run) && !instance.computes.empty();
      if (entry->is_made)
        entry->device = {instance.computes.front().uuid, work.position, instance.id,
                         instance.computes.front().id};
      continue;
    }
    if (options_.ends_strangers) {
      log::warning("MIG instance {} at {}:{} of {} is not ours, and is ended", instance.id,
                   instance.start, instance.size, uuid);
      add_entry(
          uuid,
          {uuid, format("{}", instance.id), instance.profile_id, instance.start, instance.size, {}},
          0);
      continue;
    }
    log::info("MIG instance {} at {}:{} of {} is not ours: its slices are left alone", instance.id,
              instance.start, instance.size, uuid);
    work.geometry.blocked |= slice_mask(instance.start, instance.size);
  }
  for (Entry& entry : work.entries) {
    if (entry.is_made || (seen == nullptr && has(living, entry.owned.run))) continue;
    entry.is_leaving = true;
    entry.since = now;
  }
}

std::vector<MigGeometry> MigKeeper::settle(const std::vector<Living>& living,
                                           const std::map<std::string, MigSeen>& seen,
                                           MonoTime now) {
  auto ledger = mig_ledger_load(options_.ledger_path);
  if (!ledger) {
    log::warning("which MIG instances are ours is lost: {}", ledger.error().message());
    ledger = MigLedger{};
  }
  // A living run's own order knows what it has, should the ledger be lost.
  for (const Living& run : living) {
    const auto all = owned_of(run.run, run.slots, run.gpu_uuids);
    if (!all) continue;
    for (const MigOwned& owned : *all)
      if (std::ranges::find(ledger->instances, owned) == ledger->instances.end())
        ledger->instances.push_back(owned);
  }
  for (MigOwned& owned : ledger->instances)
    if (const std::string uuid = owned.gpu; work_.contains(uuid))
      add_entry(uuid, std::move(owned), 0);
  for (auto& [uuid, work] : work_) {
    const auto found = seen.find(uuid);
    work.is_on = found != seen.end() && found->second.is_on;
    work.is_switched =
        work.is_on && std::ranges::find(ledger->switched, uuid) != ledger->switched.end();
    work.idle_since = now;
    const MigSeen* there = found != seen.end() ? &found->second : nullptr;
    take_over(uuid, work, there, living, now);
  }
  save();
  std::vector<MigGeometry> geometries;
  for (const Gpu& gpu : options_.gpus) {
    const auto work = work_.find(gpu.uuid);
    geometries.push_back(work != work_.end() ? work->second.geometry : gpu.mig);
    // Whoever turned it on turns it off again: for others it can be had as a whole.
    if (work != work_.end() && work->second.is_switched) geometries.back().is_on = false;
  }
  for (const auto& [uuid, work] : work_) pump(uuid, now);
  return geometries;
}

// ---- what runs want ----

Result<MigOwned> MigKeeper::owned_of(RunId run, const MigSlot& slot,
                                     const std::string& uuid) const {
  const auto refuse = [&](std::string_view why) {
    return Error{Errc::unsupported,
                 format("MIG instance {} at {} of {}: {}", slot.profile, slot.start, uuid, why)};
  };
  const auto work = work_.find(uuid);
  if (work == work_.end()) return refuse("this node has no such GPU that can be cut");
  const MigProfile* profile = work->second.geometry.find(slot.profile);
  if (profile == nullptr) return refuse("this GPU has no such profile");
  if (std::ranges::find(profile->starts, slot.start) == profile->starts.end() ||
      profile->size != slot.size)
    return refuse("it cannot lie there");
  return MigOwned{uuid, slot.profile, profile->id, slot.start, slot.size, run};
}

/// A UUID is a GPU's identity; a position counts where no UUIDs came along.
Result<std::vector<MigOwned>> MigKeeper::owned_of(RunId run, const std::vector<MigSlot>& slots,
                                                  const std::vector<std::string>& gpu_uuids) const {
  std::vector<MigOwned> all;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::string uuid = format("GPU {}", slots[i].gpu);
    if (gpu_uuids.size() == slots.size())
      uuid = gpu_uuids[i];
    else if (slots[i].gpu < options_.gpus.size())
      uuid = options_.gpus[slots[i].gpu].uuid;
    ROTA_TRY(MigOwned owned, owned_of(run, slots[i], uuid));
    all.push_back(std::move(owned));
  }
  return all;
}

bool MigKeeper::is_whole_again(const Work& work) const {
  return !work.is_on && !work.is_busy && work.entries.empty();
}

void MigKeeper::prepare(RunId run, const std::vector<MigSlot>& slots,
                        const std::vector<std::string>& gpu_uuids, MonoTime now, Ready ready) {
  ROTA_ASSERT(!is_waiting(run));
  std::set<std::string> touched;
  if (!slots.empty()) {
    auto all = owned_of(run, slots, gpu_uuids);
    if (!all) return ready(std::move(all).error());
    for (std::size_t i = 0; i < all->size(); ++i) {
      const std::string uuid = (*all)[i].gpu;
      add_entry(uuid, std::move((*all)[i]), i);
      touched.insert(uuid);
    }
    save();
  } else {
    for (const std::string& uuid : gpu_uuids) {
      const auto work = work_.find(uuid);
      if (work == work_.end() || !work->second.geometry.switches || is_whole_again(work->second))
        continue;
      work->second.whole.insert(run);
      touched.insert(uuid);
    }
  }
  if (touched.empty()) return ready(std::vector<MigDevice>{});
  waiting_[run] = {std::move(ready), now + options_.patience, ""};
  for (const std::string& uuid : touched) pump(uuid, now);
}

void MigKeeper::release(RunId run, MonoTime now) {
  waiting_.erase(run);
  for (auto& [uuid, work] : work_) {
    bool touched = work.whole.erase(run) > 0;
    for (Entry& entry : work.entries) {
      if (entry.owned.run != run || entry.is_leaving) continue;
      entry.is_leaving = true;
      entry.since = now;
      touched = true;
    }
    if (touched) pump(uuid, now);
  }
}

std::vector<MigDevice> MigKeeper::devices_of(RunId run) const {
  std::vector<MigDevice> devices;
  for (const auto& [uuid, work] : work_)
    for (const Entry& entry : work.entries)
      if (entry.owned.run == run && entry.is_made && !entry.is_leaving)
        devices.push_back(entry.device);
  return devices;
}

void MigKeeper::fail(RunId run, std::string why, MonoTime now) {
  const auto waiting = waiting_.find(run);
  if (waiting == waiting_.end()) return;
  Ready ready = std::move(waiting->second.ready);
  release(run, now);
  ready(Error{Errc::unsupported, std::move(why)});
}

/// Tells a run that waits, if all it waits for is there.
void MigKeeper::answer(RunId run) {
  const auto waiting = waiting_.find(run);
  if (waiting == waiting_.end()) return;
  std::vector<const Entry*> own;
  for (const auto& [uuid, work] : work_) {
    if (work.whole.contains(run) && !is_whole_again(work)) return;
    for (const Entry& entry : work.entries) {
      if (entry.owned.run != run || entry.is_leaving) continue;
      if (!entry.is_made) return;
      own.push_back(&entry);
    }
  }
  std::ranges::sort(own, {}, &Entry::order);
  std::vector<MigDevice> devices;
  for (const Entry* entry : own) devices.push_back(entry->device);
  for (auto& [uuid, work] : work_) work.whole.erase(run);
  Ready ready = std::move(waiting->second.ready);
  waiting_.erase(waiting);
  ready(std::move(devices));
}

// ---- what is done about it ----

void MigKeeper::pump(const std::string& uuid, MonoTime now) {
  Work& work = work_.at(uuid);
  if (work.is_busy) {
    work.is_due = true;
    return;
  }
  work.is_due = false;
  MigWish wish;
  std::vector<std::uint64_t> keys;
  wish.switches = work.geometry.switches;
  bool is_needed = false;
  for (const Entry& entry : work.entries) {
    keys.push_back(entry.key);
    wish.entries.push_back({entry.owned.profile_id, entry.owned.start, entry.owned.size,
                            entry.is_leaving, entry.is_made});
    is_needed = is_needed || entry.is_leaving || !entry.is_made;
  }
  if (!work.entries.empty()) work.idle_since = now;
  const bool is_idle = work.entries.empty() && now - work.idle_since >= options_.hold;
  wish.off_wanted = work.is_on && (!work.whole.empty() || (work.is_switched && is_idle));
  if (!is_needed && !(wish.off_wanted && work.entries.empty())) return;
  work.is_busy = true;
  const std::weak_ptr<int> alive = alive_;
  const auto back = [this, alive, uuid, keys, wish](Result<MigOutcome> outcome) {
    boost::asio::post(executor_, [=, this, outcome = std::move(outcome)]() mutable {
      if (!alive.expired()) done(uuid, keys, wish, std::move(outcome));
    });
  };
  nvml_.ask(
      uuid, options_.call_limit,
      [uuid, wish, back](const Nvml& nvml) -> std::function<void()> {
        return [back, outcome = carry_out_mig(nvml, uuid, wish)] { back(outcome); };
      },
      [back](const Error& error) { back(error); });
}

void MigKeeper::note(Work& work, Entry& entry, bool was_leaving, const MigOutcome::Entry& result,
                     MonoTime now) {
  if (was_leaving) {
    if (entry.is_reported || result.is_settled || now - entry.since < options_.patience) return;
    entry.is_reported = true;
    return log::warning("{} cannot be ended yet: {}", text_of(entry.owned), result.trouble);
  }
  if (!result.is_settled) return;
  if (!entry.is_made)
    log::info("{} is there for job {}: {}", text_of(entry.owned), run_name(entry.owned.run),
              result.compute.uuid);
  entry.is_made = true;
  entry.device = {result.compute.uuid, work.position, result.instance, result.compute.id};
}

void MigKeeper::done(const std::string& uuid, const std::vector<std::uint64_t>& keys,
                     const MigWish& wish, Result<MigOutcome> outcome) {
  const MonoTime now = mono_now();
  Work& work = work_.at(uuid);
  work.is_busy = false;
  std::map<RunId, std::string> failed;
  std::set<RunId> touched = work.whole;
  if (!outcome && !work.is_troubled) log::warning("MIG of {}: {}", uuid, outcome.error().message());
  work.is_troubled = !outcome;
  if (outcome) {
    work.is_switched = outcome->is_on && (work.is_switched || outcome->was_switched);
    work.is_on = outcome->is_on;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto entry = std::ranges::find(work.entries, keys[i], &Entry::key);
    if (entry == work.entries.end()) continue;
    const RunId run = entry->owned.run;
    const bool was_leaving = wish.entries[i].is_leaving;
    const MigOutcome::Entry result = outcome ? outcome->entries[i] : MigOutcome::Entry{};
    note(work, *entry, was_leaving, result, now);
    touched.insert(run);
    if (was_leaving && result.is_settled) {
      work.entries.erase(entry);
    } else if (const auto waiting = waiting_.find(run);
               !was_leaving && !result.is_settled && waiting != waiting_.end()) {
      waiting->second.trouble = format("{} could not be made: {}", text_of(entry->owned),
                                       outcome ? result.trouble : outcome.error().message());
      if (!result.is_busy || now >= waiting->second.give_up) failed[run] = waiting->second.trouble;
    }
  }
  if (outcome && !outcome->mode_trouble.empty())
    log::debug("{} stays in MIG mode: {}", uuid, outcome->mode_trouble);
  const bool is_stuck = std::ranges::any_of(work.entries, &Entry::is_reported);
  work.retry_at = now + (is_stuck ? retry_slowly : retry_soon);
  save();
  if (outcome && outcome->was_switched) {
    nvml_.refresh();
    if (on_switched) on_switched();
  }
  for (auto& [run, why] : failed) fail(run, std::move(why), now);
  for (const RunId run : touched) answer(run);
  if (work.is_due) pump(uuid, now);
}

/// Of runs that wait for whole GPUs, and for work that was never begun.
void MigKeeper::give_up_waiting(MonoTime now) {
  std::map<RunId, std::string> late;
  for (const auto& [run, waiting] : waiting_)
    if (now >= waiting.give_up) late[run] = waiting.trouble;
  for (const auto& [uuid, work] : work_) {
    for (auto& [run, why] : late)
      if (work.whole.contains(run)) why = format("{} is still in MIG mode", uuid);
    if (!work.is_busy) continue;
    std::erase_if(late, [&work = work](const auto& each) {
      return work.whole.contains(each.first) ||
             std::ranges::any_of(work.entries,
                                 [&](const Entry& entry) { return entry.owned.run == each.first; });
    });
  }
  for (auto& [run, why] : late)
    fail(run, why.empty() ? "its MIG instances were not made in time" : why, now);
}

void MigKeeper::tick(MonoTime now) {
  nvml_.look_after();
  for (const auto& [uuid, work] : work_)
    if (now >= work.retry_at) pump(uuid, now);
  give_up_waiting(now);
}

void MigKeeper::save() {
  MigLedger ledger;
  for (const auto& [uuid, work] : work_) {
    bool is_wanted = false;
    for (const Entry& entry : work.entries) {
      ledger.instances.push_back(entry.owned);
      is_wanted = is_wanted || !entry.is_leaving;
    }
    // Written down before it is done, as the instances are.
    const bool is_switching = is_wanted && !work.is_on && work.geometry.switches;
    if (work.is_switched || is_switching) ledger.switched.push_back(uuid);
  }
  if (const auto saved = mig_ledger_save(options_.ledger_path, ledger); !saved)
    log::error("MIG instances cannot be written down: {}", saved.error().message());
}

}  // namespace rota::gpud
