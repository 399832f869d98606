// gpud/mps/keeper.cpp - who needs a daemon, and what is done about it: one daemon at a time has one
// coroutine that tends to it.
#include "gpud/mps/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "common/assert.h"
#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "net/log_end.h"

namespace rota::gpud {
namespace {

using boost::asio::as_tuple;
using boost::asio::awaitable;
using boost::asio::use_awaitable;
using namespace boost::asio::experimental::awaitable_operators;

constexpr Duration ask_again = std::chrono::milliseconds(50);
constexpr Duration death_patience = std::chrono::milliseconds(500);
/// Changes nothing, and has an answer: that the program ends well may mean that nobody spoke.
constexpr char question[] = "get_default_active_thread_percentage\n";

std::string text_of(const std::pair<std::string, std::uint32_t>& key) {
  return format("the MPS daemon of uid {} on {}", key.second, key.first);
}

/// The process of a pidfd.
bool has_ended(int pidfd) {
  pollfd look{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) > 0;
}

/// `job_count`: those that had it.
void log_death(const std::pair<std::string, std::uint32_t>& key, std::size_t job_count) {
  if (job_count == 0) return log::info("{} has ended", text_of(key));
  log::warning("{} has died under {} job{}", text_of(key), job_count, job_count == 1 ? "" : "s");
}

/// A place that nobody can say anything of. Whose it was its name says.
void discard(const MpsPlace& place, const std::string& name) {
  const auto uid = number_parse(name.substr(name.rfind('.') + 1), UINT32_MAX);
  if (const auto process = uid ? place.find(static_cast<std::uint32_t>(*uid)) : std::nullopt)
    process->send(SIGTERM);
  place.remove();
}

}  // namespace

MpsKeeper::MpsKeeper(boost::asio::any_io_executor executor, Options options, Call call)
    : executor_(executor), options_(std::move(options)), call_(std::move(call)) {}

// ---- who needs which ----

MpsKeeper::Entry& MpsKeeper::entry_for(const Key& key, const Owner& owner) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  const std::string name = MpsPlace::name_for(key.first, key.second, options_.gpus);
  Entry entry{MpsPlace(options_.directory + '/' + name), owner, {owner.gid}, {}, {}, {}, false};
  return entries_.emplace(key, std::move(entry)).first->second;
}

void MpsKeeper::prepare(RunId run, const Owner& owner, std::vector<std::uint32_t> groups,
                        const std::vector<std::string>& gpu_uuids, Ready ready) {
  ROTA_ASSERT(!waiting_.contains(run) && !gpu_uuids.empty());
  Waiting waiting;
  waiting.ready = std::move(ready);
  for (const std::string& uuid : gpu_uuids) waiting.missing.emplace(uuid, owner.uid);
  const std::set<Key> keys = waiting.missing;
  waiting_.emplace(run, std::move(waiting));
  for (const Key& key : keys) {
    Entry& entry = entry_for(key, owner);
    if (!groups.empty()) entry.groups = groups;
    entry.runs.insert(run);
    entry.waiting.insert(run);
    tend(key);
  }
}

void MpsKeeper::release(RunId run) {
  waiting_.erase(run);
  for (auto& [key, entry] : entries_) {
    entry.waiting.erase(run);
    if (entry.runs.erase(run) > 0 && entry.runs.empty()) tend(key);
  }
}

bool MpsKeeper::serves(const std::string& gpu_uuid) const {
  const auto first = entries_.lower_bound({gpu_uuid, 0});
  return first != entries_.end() && first->first.first == gpu_uuid;
}

void MpsKeeper::answer(RunId run, const Key& key, const Result<void>& there) {
  const auto found = waiting_.find(run);
  if (found == waiting_.end()) return;
  Waiting& waiting = found->second;
  if (!there) {
    const Ready ready = std::move(waiting.ready);
    waiting_.erase(found);
    return ready(there.error());
  }
  waiting.missing.erase(key);
  const MpsPlace& place = entries_.at(key).place;
  waiting.found.push_back({key.first, place.pipe_directory(), place.log_directory()});
  if (!waiting.missing.empty()) return;
  const Ready ready = std::move(waiting.ready);
  std::vector<MpsAccess> all = std::move(waiting.found);
  std::ranges::sort(all, {}, &MpsAccess::gpu);
  waiting_.erase(found);
  ready(std::move(all));
}

// ---- at the start ----

void MpsKeeper::settle_one(const std::string& name, const std::vector<Living>& living) {
  const MpsPlace place(options_.directory + '/' + name);
  const auto record = place.load();
  if (!record) {
    log::warning("{}: {}; it is removed", place.directory(), record.error().detail);
    return discard(place, name);
  }
  const Key key{record->gpu, record->uid};
  if (entries_.contains(key)) return discard(place, name);  // another name for the same
  Entry entry{place, {record->uid, record->gid, ""}, {record->gid}, {}, {}, {}, false};
  for (const Living& run : living)
    if (run.owner.uid == record->uid &&
        std::ranges::find(run.gpu_uuids, record->gpu) != run.gpu_uuids.end())
      entry.runs.insert(run.run);
  auto process = place.find(record->uid);
  const bool is_ours = process && (record->pid == 0 || (record->pid == process->pid &&
                                                        record->start_time == process->start_time));
  entries_.insert_or_assign(key, std::move(entry));
  if (is_ours) {
    if (const auto taken = take(key, *std::move(process)); !taken)
      log::warning("{}: {}", text_of(key), taken.error().message());
    log::info("{} was there before us", text_of(key));
  } else if (!entries_.at(key).runs.empty()) {
    log_death(key, entries_.at(key).runs.size());
  }
  if (entries_.at(key).runs.empty()) tend(key);
}

void MpsKeeper::settle(const std::vector<Living>& living) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(options_.directory, error))
    names.push_back(item.path().filename());
  std::ranges::sort(names);
  for (const std::string& name : names) settle_one(name, living);
  for (const Living& run : living) {
    for (const std::string& uuid : run.gpu_uuids) {
      const Key key{uuid, run.owner.uid};
      if (!entries_.contains(key)) log_death(key, 1);
      entry_for(key, run.owner).runs.insert(run.run);
    }
  }
}

// ---- what is done about it ----

void MpsKeeper::tend(const Key& key) {
  Entry& entry = entries_.at(key);
  if (std::exchange(entry.is_tended, true)) return;
  boost::asio::co_spawn(executor_, tend_to(key), net::log_end(text_of(key)));
}

/// Until nothing is left to do: others may come and go meanwhile.
awaitable<void> MpsKeeper::tend_to(Key key) {
  // Not from within the call that asked for it: whoever is told may call us again.
  co_await boost::asio::post(executor_, use_awaitable);
  for (;;) {
    if (!entries_.at(key).waiting.empty()) {
      const std::set<RunId> waiting = std::exchange(entries_.at(key).waiting, {});
      const Result<void> there = co_await have(key);
      if (!there) log::warning("{}", there.error().detail);
      for (const RunId run : waiting) answer(run, key, there);
    } else if (entries_.at(key).runs.empty()) {
      co_await end(key);
      if (!entries_.at(key).runs.empty()) continue;
      entries_.erase(key);
      co_return;
    } else {
      entries_.at(key).is_tended = false;
      co_return;
    }
  }
}

UserOrder MpsKeeper::order_for(const Key& key, const Entry& entry) const {
  UserOrder order;
  order.owner = entry.owner;
  order.groups = entry.groups;
  order.words = {options_.program};
  // The site's own way to the driver, if rgpud was given one; of the rest nothing.
  const char* const path = std::getenv("PATH");
  order.environment.push_back(
      format("PATH={}", path != nullptr ? path : "/usr/sbin:/usr/bin:/sbin:/bin"));
  if (const char* const libraries = std::getenv("LD_LIBRARY_PATH"))
    order.environment.push_back(format("LD_LIBRARY_PATH={}", libraries));
  order.environment.push_back(format("CUDA_VISIBLE_DEVICES={}", key.first));
  order.environment.push_back(format("CUDA_MPS_PIPE_DIRECTORY={}", entry.place.pipe_directory()));
  order.environment.push_back(format("CUDA_MPS_LOG_DIRECTORY={}", entry.place.log_directory()));
  order.limit_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(options_.call_limit).count();
  return order;
}

awaitable<Result<std::string>> MpsKeeper::ask(Key key, const char* command) {
  UserOrder order = order_for(key, entries_.at(key));
  order.input = command;
  co_return co_await call_(std::move(order));
}

awaitable<Result<void>> MpsKeeper::prove(Key key) {
  const auto answered = co_await ask(key, question);
  if (!answered) co_return answered.error();
  if (answered->find_first_of("0123456789") == std::string::npos)
    co_return Error{Errc::unsupported, format("{}: it gives no answer", options_.program)};
  co_return Result<void>{};
}

/// There is one and it answers. A client of one that is dead would run without any bound and say
/// nothing, so it is asked before every run.
awaitable<Result<void>> MpsKeeper::have(Key key) {
  if (std::ranges::find(options_.gpus, key.first) == options_.gpus.end())
    co_return Error{Errc::unsupported, format("this node has no GPU '{}' for MPS", key.first)};
  if (entries_.at(key).process) {
    const auto answered = co_await prove(key);
    if (answered) co_return Result<void>{};
    // One that is dying closes its sockets first.
    const auto& process = entries_.at(key).process;
    const bool is_dead = !process || co_await is_gone(process->pidfd.get(), death_patience);
    if (!is_dead)
      co_return Error{Errc::unsupported,
                      format("{} does not answer: {}", text_of(key), answered.error().detail)};
  }
  const auto started = co_await start(key);
  if (started) co_return Result<void>{};
  co_return Error{Errc::unsupported,
                  format("{} cannot be had: {}", text_of(key), started.error().detail)};
}

awaitable<Result<void>> MpsKeeper::start(Key key) {
  const Entry& entry = entries_.at(key);
  ROTA_CO_CHECK(entry.place.make(entry.owner.uid, entry.owner.gid));
  // One may be there that was started just before we were killed.
  if (!entry.place.find(entry.owner.uid)) {
    entry.place.forget_pid();
    const MpsRecord record{key.first, entry.owner.uid, entry.owner.gid, 0, 0};
    ROTA_CO_CHECK(entry.place.save(record));
    UserOrder order = order_for(key, entry);
    order.words.emplace_back("-d");
    const auto started = co_await call_(std::move(order));
    if (!started) co_return started.error();
  }
  co_return co_await wait_for_answer(key);
}

/// It has begun, in its own time: it is there when it answers and says which process it is.
awaitable<Result<void>> MpsKeeper::wait_for_answer(Key key) {
  const MonoTime give_up = mono_now() + options_.start_patience;
  boost::asio::steady_timer timer(executor_);
  for (;;) {
    const auto answered = co_await prove(key);
    Entry& entry = entries_.at(key);
    auto process = entry.place.find(entry.owner.uid);
    if (answered && process) {
      log::info("{} has started, process {}", text_of(key), process->pid);
      co_return take(key, *std::move(process));
    }
    if (mono_now() >= give_up) {
      if (process) process->send(SIGKILL);
      if (!answered) co_return answered.error();
      co_return Error{Errc::unsupported,
                      format("{} does not tell which process it is", entry.place.pipe_directory())};
    }
    timer.expires_after(ask_again);
    co_await timer.async_wait(use_awaitable);
  }
}

/// From now on it is ours; what it is is written down, and its end is noticed.
Result<void> MpsKeeper::take(const Key& key, MpsProcess process) {
  Entry& entry = entries_.at(key);
  const MpsRecord record{key.first, entry.owner.uid, entry.owner.gid, process.pid,
                         process.start_time};
  const int pidfd = ::fcntl(process.pidfd.get(), F_DUPFD_CLOEXEC, 3);
  entry.process = std::move(process);
  if (pidfd >= 0)
    boost::asio::co_spawn(executor_, watch(key, pidfd), net::log_end("watch of " + text_of(key)));
  return entry.place.save(record);
}

awaitable<void> MpsKeeper::watch(Key key, int pidfd) {
  boost::asio::posix::stream_descriptor process(executor_, pidfd);
  do {
    const auto [error] = co_await process.async_wait(process.wait_read, as_tuple(use_awaitable));
    if (error) co_return;
  } while (!has_ended(pidfd));
  const auto entry = entries_.find(key);
  // Another may have come in its place meanwhile.
  if (entry == entries_.end() || !entry->second.process || entry->second.process->is_alive())
    co_return;
  entry->second.process.reset();
  log_death(key, entry->second.runs.size());
}

awaitable<bool> MpsKeeper::is_gone(int pidfd, Duration patience) {
  const int own = ::fcntl(pidfd, F_DUPFD_CLOEXEC, 3);
  if (own < 0) co_return true;
  boost::asio::posix::stream_descriptor process(executor_, own);
  boost::asio::steady_timer timer(executor_, patience);
  for (;;) {
    const auto done = co_await (process.async_wait(process.wait_read, as_tuple(use_awaitable)) ||
                                timer.async_wait(as_tuple(use_awaitable)));
    // An earlier descriptor of the same number can wake us for nothing.
    if (done.index() != 0 || has_ended(own)) co_return done.index() == 0;
  }
}

/// In order first, then without being asked. Its clients have all gone before.
awaitable<void> MpsKeeper::end(Key key) {
  bool has_quit = false;
  if (entries_.at(key).process) {
    const auto quit = co_await ask(key, "quit\n");
    has_quit = bool(quit);
    if (!quit) log::debug("{} does not quit: {}", text_of(key), quit.error().detail);
  }
  if (auto process = std::exchange(entries_.at(key).process, std::nullopt)) {
    bool gone = !process->is_alive();
    if (!gone && has_quit) gone = co_await is_gone(process->pidfd.get(), options_.end_patience);
    for (const int signal : {SIGTERM, SIGKILL}) {
      if (gone) break;
      log::warning("{} has not quit, and gets signal {}", text_of(key), signal);
      process->send(signal);
      gone = co_await is_gone(process->pidfd.get(), options_.end_patience);
    }
    if (gone)
      log::info("{} has ended", text_of(key));
    else
      log::error("{} cannot be killed: process {}", text_of(key), process->pid);
  }
  entries_.at(key).place.remove();
}

}  // namespace rota::gpud
