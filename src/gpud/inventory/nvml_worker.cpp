// gpud/inventory/nvml_worker.cpp - threads for NVML that are left behind when a call hangs.
#include "gpud/inventory/nvml_worker.h"

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "gpud/inventory/nvml.h"

namespace rota::gpud {
namespace {

using Lock = std::unique_lock<std::mutex>;

/// Every hanging call keeps a thread. With this many it is not one GPU that hangs: no more are
/// tried.
constexpr unsigned int threads_lost_max = 16;
/// How long the destructor waits for a call that is under way and may well be healthy.
constexpr auto farewell = std::chrono::seconds(1);

/// What the working thread is at, for whoever wonders why it does not answer.
struct Task {
  MonoTime since;
  Duration limit;
  std::string uuid;             // "": opening the library and listing the GPUs
  std::uint64_t answering = 0;  // a listing: for all that asked up to here
  bool reported = false;
};

/// What a sample of one GPU finds. Holders that cannot be read are none: nothing follows from them.
struct Sampled {
  Result<GpuUsage> usage;
  Result<std::vector<GpuProcess>> holders;
};

struct Opened {
  std::shared_ptr<Nvml> nvml;
  Result<std::vector<Gpu>> gpus;
};

Opened open_and_list(const std::string& library, std::shared_ptr<Nvml> nvml) {
  if (nvml == nullptr) {
    auto opened = Nvml::open(library);
    if (!opened) return {nullptr, std::move(opened).error()};
    nvml = *std::move(opened);
    log::info("NVML: {}, driver {}", library, nvml->driver_version());
  }
  auto gpus = nvml->gpus();
  return {std::move(nvml), std::move(gpus)};
}

}  // namespace

/// Owned by the worker and by each of its threads, so that a thread that comes back after the
/// worker is gone still finds it. `mutex` guards everything that is not const.
struct NvmlWorker::Shared : std::enable_shared_from_this<NvmlWorker::Shared> {
  Shared(std::string library_name, Duration limit)
      : library(std::move(library_name)), call_limit(limit) {}

  const std::string library;
  const Duration call_limit;

  std::mutex mutex;
  std::condition_variable changed;  // one for all: work, answers and the end of threads
  std::shared_ptr<Nvml> nvml;       // null: not opened yet, or there is none
  bool stopping = false;

  /// Names the one thread that may work; a thread with another number was left behind.
  std::uint64_t generation = 0;
  bool working_thread = false;
  unsigned int threads_live = 0;
  unsigned int threads_lost = 0;
  std::optional<Task> task;

  std::uint64_t listings_asked = 0;
  std::uint64_t listings_done = 0;
  Duration listing_limit{};
  Result<std::vector<Gpu>> listing = std::vector<Gpu>{};
  bool absence_logged = false;

  bool sample_asked = false;
  std::vector<std::string> order;
  std::map<std::string, GpuUsage> usage;
  std::map<std::string, std::vector<GpuProcess>> holders;
  std::set<std::string> hanging;  // GPUs with a call that has not come back
  std::set<std::string> failing;  // GPUs whose last sample failed: logged once

  void start_thread();
  void run(std::uint64_t mine);
  template <class Ask>
  auto without_lock(Lock& lock, std::uint64_t mine, Task next, Ask ask)
      -> std::optional<decltype(ask())>;
  void list(Lock& lock, std::uint64_t mine);
  void sample(Lock& lock, std::uint64_t mine);
  void note_listing(Opened opened);
  void note_usage(const std::string& uuid, Sampled sampled);
  void replace_hanging_thread();
};

// ---- one thread ----

void NvmlWorker::Shared::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the daemon's own thread
  const std::uint64_t mine = ++generation;
  try {
    std::thread([self = shared_from_this(), mine] { self->run(mine); }).detach();
    working_thread = true;
    ++threads_live;
  } catch (const std::system_error& error) {
    working_thread = false;
    log::error("no thread for NVML: {}", error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void NvmlWorker::Shared::run(std::uint64_t mine) {
  Lock lock(mutex);
  while (generation == mine && !stopping) {
    // A sample first: who gets an answer to gpus() knows that earlier samples are done.
    if (sample_asked) {
      sample_asked = false;
      sample(lock, mine);
    } else if (listings_done < listings_asked) {
      list(lock, mine);
    } else {
      changed.wait(lock);
    }
  }
  --threads_live;
  changed.notify_all();
}

/// Calls `ask` unlocked. No value: the thread was left behind meanwhile, and has to end.
template <class Ask>
auto NvmlWorker::Shared::without_lock(Lock& lock, std::uint64_t mine, Task next, Ask ask)
    -> std::optional<decltype(ask())> {
  const std::string uuid = next.uuid;
  task = std::move(next);
  changed.notify_all();  // who waits in gpus() may have to wait for less long
  lock.unlock();
  auto answer = ask();
  lock.lock();
  if (generation == mine) {
    task.reset();
    return answer;
  }
  --threads_lost;
  hanging.erase(uuid);
  log::info("NVML has come back{}{}", uuid.empty() ? "" : " from a call of ", uuid);
  return std::nullopt;
}

void NvmlWorker::Shared::list(Lock& lock, std::uint64_t mine) {
  const std::uint64_t answering = listings_asked;
  Task next{.since = mono_now(),
            .limit = std::max(call_limit, listing_limit),
            .uuid = "",
            .answering = answering};
  auto opened = without_lock(lock, mine, std::move(next), [&library = library, known = nvml] {
    return open_and_list(library, known);
  });
  if (!opened) return;
  note_listing(*std::move(opened));
  listings_done = answering;
  changed.notify_all();
}

void NvmlWorker::Shared::note_listing(Opened opened) {
  nvml = std::move(opened.nvml);
  listing = std::move(opened.gpus);
  if (!listing && listing.error().code == Errc::not_found) {
    if (!absence_logged) log::info("no GPUs here: {}", listing.error().detail);
    absence_logged = true;
    listing = std::vector<Gpu>{};
  }
  if (!listing) return;
  order.clear();
  for (const Gpu& gpu : *listing) order.push_back(gpu.uuid);
}

void NvmlWorker::Shared::sample(Lock& lock, std::uint64_t mine) {
  const std::vector<std::string> uuids = order;
  for (const std::string& uuid : uuids) {
    if (stopping) return;
    if (nvml == nullptr || hanging.contains(uuid)) continue;
    Task next{.since = mono_now(), .limit = call_limit, .uuid = uuid};
    auto result = without_lock(lock, mine, std::move(next), [known = nvml, &uuid] {
      return Sampled{known->usage(uuid), known->processes(uuid)};
    });
    if (!result) return;
    note_usage(uuid, *std::move(result));
  }
}

void NvmlWorker::Shared::note_usage(const std::string& uuid, Sampled sampled) {
  holders.erase(uuid);
  if (sampled.holders) holders[uuid] = *std::move(sampled.holders);
  Result<GpuUsage>& result = sampled.usage;
  if (result) {
    if (failing.erase(uuid) > 0) log::info("{} answers again", uuid);
    usage[uuid] = *std::move(result);
    return;
  }
  usage.erase(uuid);
  if (failing.insert(uuid).second) {
    log::warning("{} does not say what it does: {}", uuid, result.error().message());
  }
}

// ---- when a call hangs ----

/// Leaves the working thread behind if its call is over its limit, and starts another.
void NvmlWorker::Shared::replace_hanging_thread() {
  if (!working_thread) return start_thread();
  if (!task || mono_now() - task->since < task->limit) return;
  const std::string call = nvml != nullptr ? nvml->current_call() : "";
  const std::string what = format("{} {}", call.empty() ? "NVML" : call,
                                  task->uuid.empty() ? "listing the GPUs" : "of " + task->uuid);
  const std::string text =
      format("{} has not come back within {}", what, duration_format(task->limit));
  if (threads_lost >= threads_lost_max) {
    if (!task->reported) log::error("{}; {} calls hang, no more are made", text, threads_lost + 1);
    task->reported = true;
    return;
  }
  log::warning("{}; going on without it", text);
  if (task->uuid.empty()) {
    // Whoever waits for this list hears of it; the new thread makes one for who asked later.
    listing = Error{Errc::timed_out, text};
    listings_done = task->answering;
    changed.notify_all();
  } else {
    hanging.insert(task->uuid);
    usage.erase(task->uuid);
    holders.erase(task->uuid);
    sample_asked = true;  // for the GPUs that come after it
  }
  ++threads_lost;
  task.reset();
  start_thread();
}

// ---- for the daemon ----

NvmlWorker::NvmlWorker(std::string library, Duration call_limit)
    : shared_(std::make_shared<Shared>(std::move(library), call_limit)) {
  const Lock lock(shared_->mutex);
  shared_->start_thread();
}

NvmlWorker::~NvmlWorker() {
  std::shared_ptr<Nvml> last;
  Lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  Shared& s = *shared_;
  s.changed.wait_for(lock, farewell, [&s] { return s.threads_live == s.threads_lost; });
  // Closed here when nobody is inside any more, so that NVML is shut down when we return.
  if (s.threads_live == 0) last = std::move(s.nvml);
  lock.unlock();
}

Result<std::vector<Gpu>> NvmlWorker::gpus(Duration limit) {
  Shared& s = *shared_;
  Lock lock(s.mutex);
  s.replace_hanging_thread();
  s.listing_limit = limit;
  const std::uint64_t ticket = ++s.listings_asked;
  s.changed.notify_all();
  const MonoTime deadline = mono_now() + limit;
  while (s.listings_done < ticket) {
    // Awake when our time is up, and before that when the call under way has had its own.
    const MonoTime now = mono_now();
    MonoTime next = deadline;
    if (s.task && !s.task->reported) next = std::min(next, s.task->since + s.task->limit);
    if (next > now) {
      s.changed.wait_for(lock, next - now);
      continue;
    }
    s.replace_hanging_thread();
    if (s.listings_done < ticket && now >= deadline) {
      return Error{Errc::timed_out,
                   format("NVML gave no list of GPUs within {}", duration_format(limit))};
    }
  }
  return s.listing;
}

void NvmlWorker::relist() {
  const Lock lock(shared_->mutex);
  ++shared_->listings_asked;
  shared_->changed.notify_all();
}

void NvmlWorker::sample() {
  const Lock lock(shared_->mutex);
  shared_->replace_hanging_thread();
  shared_->sample_asked = true;
  shared_->changed.notify_all();
}

std::vector<GpuHolders> NvmlWorker::last_holders() const {
  const Lock lock(shared_->mutex);
  std::vector<GpuHolders> all;
  for (const auto& [uuid, processes] : shared_->holders) all.push_back({uuid, processes});
  return all;
}

std::vector<GpuUsage> NvmlWorker::last_usage() const {
  const Lock lock(shared_->mutex);
  std::vector<GpuUsage> all;
  for (const std::string& uuid : shared_->order) {
    if (const auto found = shared_->usage.find(uuid); found != shared_->usage.end()) {
      all.push_back(found->second);
    }
  }
  return all;
}

}  // namespace rota::gpud
