// gpud/share/burst.cpp - ceilings: lowered at once, raised from what is nobody's.
#include "gpud/share/burst.h"

#include <algorithm>
#include <utility>

#include "common/format.h"
#include "gpud/launch/record.h"

namespace rota::gpud {

std::uint64_t BurstRoom::Claim::needed() const { return std::max(request, held); }

/// The look at the driver may be older than the last two words about the ceiling.
std::uint64_t BurstRoom::Claim::bound() const {
  return bursts() ? std::max({request, held, ceiling, before}) : request;
}

bool BurstRoom::SharedGpu::bursts() const {
  return std::ranges::any_of(claims, [](const auto& each) { return each.second.bursts(); });
}

std::uint64_t BurstRoom::SharedGpu::needed() const {
  std::uint64_t sum = 0;
  for (const auto& [run, claim] : claims) sum += claim.needed();
  return sum;
}

std::uint64_t BurstRoom::SharedGpu::bound() const {
  std::uint64_t sum = 0;
  for (const auto& [run, claim] : claims) sum += claim.bound();
  return sum;
}

void BurstRoom::put(RunId run, const std::vector<GpuShare>& shares, bool adopted) {
  for (const GpuShare& share : shares) {
    Claim& claim = gpus_[share.uuid].claims[run];
    claim = Claim{};
    claim.limit = share.limit_bytes;
    claim.request = share.request_bytes == 0 ? share.limit_bytes : share.request_bytes;
    claim.ceiling = claim.before = adopted ? claim.limit : claim.request;
    claim.is_started = adopted;
  }
}

void BurstRoom::add(RunId run, const std::vector<GpuShare>& shares) { put(run, shares, false); }
void BurstRoom::adopt(RunId run, const std::vector<GpuShare>& shares) { put(run, shares, true); }

bool BurstRoom::may_start(RunId run) const {
  return std::ranges::none_of(gpus_, [run](const auto& each) {
    const SharedGpu& gpu = each.second;
    return gpu.claims.contains(run) && gpu.bursts() && gpu.bytes > 0 && gpu.bound() > gpu.bytes;
  });
}

void BurstRoom::started(RunId run) {
  for (auto& [uuid, gpu] : gpus_)
    if (const auto claim = gpu.claims.find(run); claim != gpu.claims.end())
      claim->second.is_started = true;
}

void BurstRoom::remove(RunId run) {
  for (auto& [uuid, gpu] : gpus_) gpu.claims.erase(run);
}

bool BurstRoom::is_needed() const {
  return std::ranges::any_of(gpus_, [](const auto& each) { return each.second.bursts(); });
}

void BurstRoom::settle(const Held& held, MonoTime now, const std::set<RunId>& deaf) {
  for (auto& [uuid, gpu] : gpus_) {
    if (!gpu.bursts() || gpu.bytes == 0) continue;
    const auto looked = held.find(uuid);
    if (looked == held.end()) continue;  // it did not answer: all stays as it is
    for (auto& [run, claim] : gpu.claims) {
      const auto own = looked->second.find(run);
      claim.held = own == looked->second.end() ? 0 : own->second;
    }
    settle_one(gpu, deaf);
    judge(uuid, gpu, now);
  }
}

/// What is not needed is divided among those who may have more; each of them gets its part at once
/// as far as it is nobody's, and the rest when those who have to give it back no longer can use it.
void BurstRoom::settle_one(SharedGpu& gpu, const std::set<RunId>& deaf) {
  std::uint64_t takers = 0;
  for (const auto& [run, claim] : gpu.claims)
    takers += claim.is_started && claim.limit > claim.needed() ? 1 : 0;
  const std::uint64_t needed = gpu.needed();
  const std::uint64_t spare = needed < gpu.bytes ? gpu.bytes - needed : 0;
  const std::uint64_t bound = gpu.bound();
  const std::uint64_t pool = bound < gpu.bytes ? gpu.bytes - bound : 0;
  const auto wanted_by = [&](const Claim& claim) {
    const std::uint64_t own = needed > gpu.bytes ? claim.request : claim.needed();
    return std::min(claim.limit, own + (takers > 0 ? spare / takers : 0));
  };
  std::uint64_t risers = 0;
  for (const auto& [run, claim] : gpu.claims)
    risers += claim.is_started && wanted_by(claim) > claim.bound() ? 1 : 0;
  for (auto& [run, claim] : gpu.claims) {
    if (!claim.bursts() || !claim.is_started) continue;
    const std::uint64_t most = claim.bound() + (risers > 0 ? pool / risers : 0);
    const std::uint64_t next = std::max(claim.request, std::min(wanted_by(claim), most));
    // A word that was not heard changes nothing; the first that is counts from now on.
    const bool is_deaf = deaf.contains(run);
    const bool was_deaf = std::exchange(claim.was_deaf, is_deaf);
    const std::uint64_t last = std::exchange(claim.ceiling, next);
    claim.before = is_deaf || was_deaf ? std::max(claim.before, last) : last;
  }
}

/// The one that is furthest above its request goes first; if that is enough, it is the only one.
void BurstRoom::judge(const std::string& uuid, SharedGpu& gpu, MonoTime now) {
  if (gpu.needed() <= gpu.bytes) {
    gpu.owed_since = {};
    return;
  }
  if (gpu.owed_since == MonoTime{}) gpu.owed_since = now;
  if (now - gpu.owed_since < grace_) return;
  // Somebody is on his way out already: his memory comes back when he is gone.
  if (std::ranges::any_of(gpu.claims, [](const auto& each) { return each.second.is_evicted; }))
    return;
  const auto over = [](const auto& each) {
    return each.second.held > each.second.request ? each.second.held - each.second.request : 0;
  };
  const auto most = std::ranges::max_element(gpu.claims, {}, over);
  if (most == gpu.claims.end() || over(*most) == 0) return;
  most->second.is_evicted = true;
  std::string owed;
  for (const auto& [run, claim] : gpu.claims)
    if (run != most->first && claim.held < claim.request)
      owed += (owed.empty() ? "" : ", ") + format("job {}", run.job.value);
  evictions_.push_back(
      {most->first,
       format("it held {} MiB of {}, its request is {} MiB, and the rest is owed to {}",
              most->second.held >> 20, uuid, most->second.request >> 20, owed)});
}

std::vector<GpuCeiling> BurstRoom::ceilings(RunId run) const {
  std::vector<GpuCeiling> all;
  for (const auto& [uuid, gpu] : gpus_)
    if (const auto claim = gpu.claims.find(run);
        claim != gpu.claims.end() && claim->second.bursts())
      all.push_back({uuid, claim->second.ceiling});
  return all;
}

std::vector<BurstEviction> BurstRoom::take_evictions() { return std::exchange(evictions_, {}); }

}  // namespace rota::gpud
