// gpud/health/watch.cpp - threads that may be left behind, and share nothing but what they share.
#include "gpud/health/watch.h"

#include <signal.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "common/clock.h"
#include "common/log.h"

namespace rota::gpud {
namespace {

using Lock = std::unique_lock<std::mutex>;

/// How long the driver is waited for before the thread looks whether it shall end.
constexpr auto event_wait = std::chrono::milliseconds(500);
constexpr auto event_pause = std::chrono::seconds(1);
constexpr auto farewell = std::chrono::seconds(1);

}  // namespace

struct HealthWatch::Shared : std::enable_shared_from_this<HealthWatch::Shared> {
  struct Question {
    std::optional<MonoTime> since;  // open
    bool is_taken = false;          // a thread is at it
    bool after_reset = false;
  };

  boost::asio::any_io_executor executor;
  std::string library;
  std::vector<std::string> uuids;
  Events events;  // of the executor's thread alone

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  bool stopping = false;
  unsigned int threads = 0;
  std::shared_ptr<NvmlHealth> nvml;
  std::map<std::string, Question> questions;
  bool must_register = false;

  template <class Run>
  void start_thread(Run run) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the daemon's own thread
    try {
      std::thread([self = shared_from_this(), run] {
        run(*self);
        const Lock lock(self->mutex);
        --self->threads;
        self->changed.notify_all();
      }).detach();
      ++threads;
    } catch (const std::system_error& error) {
      log::error("no thread for the health of GPUs: {}", error.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  /// Locked. The executor is there for as long as nobody has said that we stop.
  template <class Tell>
  void tell(Tell tell) {
    if (stopping) return;
    boost::asio::post(executor, [self = shared_from_this(), tell = std::move(tell)] {
      {
        const Lock lock(self->mutex);
        if (self->stopping) return;
      }
      tell(self->events);
    });
  }

  void answer_questions(const std::string& uuid);
  std::shared_ptr<NvmlHealth> open();
  void wait_for_events();
};

/// The thread of one GPU.
void HealthWatch::Shared::answer_questions(const std::string& uuid) {
  Lock lock(mutex);
  for (;;) {
    Question& question = questions[uuid];
    changed.wait(lock, [&] { return stopping || (nvml != nullptr && question.since.has_value()); });
    if (stopping) return;
    question.is_taken = true;
    const bool after_reset = std::exchange(question.after_reset, false);
    const std::shared_ptr<NvmlHealth> known = nvml;
    lock.unlock();
    const Result<void> found = after_reset ? known->find_again(uuid) : Result<void>();
    Result<GpuVitals> vitals = found ? known->vitals(uuid) : Result<GpuVitals>(found.error());
    lock.lock();
    question.is_taken = false;
    question.since.reset();
    if (after_reset && found) must_register = true;
    tell([uuid, vitals, after_reset](const Events& to) { to.answered(uuid, vitals, after_reset); });
  }
}

std::shared_ptr<NvmlHealth> HealthWatch::Shared::open() {
  auto opened = Nvml::open(library);
  if (!opened) {
    log::error("the health of GPUs cannot be watched: {}", opened.error().message());
    return nullptr;
  }
  const std::shared_ptr<Nvml> library_open = *std::move(opened);
  if (const auto listed = library_open->gpus(); !listed)
    log::error("the health of GPUs cannot be watched: {}", listed.error().message());
  return std::make_shared<NvmlHealth>(library_open);
}

/// The thread that opens the library and then hears what the driver tells.
void HealthWatch::Shared::wait_for_events() {
  const std::shared_ptr<NvmlHealth> health = open();
  Lock lock(mutex);
  if (health == nullptr) return;
  nvml = health;
  must_register = true;
  changed.notify_all();
  while (!stopping) {
    const bool registers = std::exchange(must_register, false);
    lock.unlock();
    Result<void> registered;
    if (registers) registered = health->register_events(uuids);
    Result<std::optional<GpuEvent>> event = std::optional<GpuEvent>();
    if (registered) event = health->next_event(event_wait);
    lock.lock();
    if (!registered) {
      log::warning("NVML tells no Xids here: {}", registered.error().message());
      return;
    }
    if (event && *event) {
      tell([told = **event](const Events& to) { to.told(told); });
    } else if (!event) {
      // A GPU of the set is lost, or all of NVML is in trouble.
      log::warning("waiting for what GPUs tell: {}", event.error().message());
      tell([](const Events& to) { to.alarmed(); });
      must_register = true;
      changed.wait_for(lock, event_pause, [this] { return stopping; });
    }
  }
}

HealthWatch::HealthWatch(boost::asio::any_io_executor executor, std::string library,
                         std::vector<std::string> uuids, Events events)
    : shared_(std::make_shared<Shared>()) {
  shared_->executor = executor;
  shared_->library = std::move(library);
  shared_->uuids = std::move(uuids);
  shared_->events = std::move(events);
  const Lock lock(shared_->mutex);
  if (shared_->uuids.empty()) return;
  shared_->start_thread([](Shared& shared) { shared.wait_for_events(); });
  for (const std::string& uuid : shared_->uuids)
    shared_->start_thread([uuid](Shared& shared) { shared.answer_questions(uuid); });
}

HealthWatch::~HealthWatch() {
  std::shared_ptr<NvmlHealth> last;
  Shared& s = *shared_;
  Lock lock(s.mutex);
  s.stopping = true;
  s.changed.notify_all();
  s.changed.wait_for(lock, farewell, [&s] { return s.threads == 0; });
  if (s.threads == 0) last = std::move(s.nvml);
  lock.unlock();
}

void HealthWatch::ask(const std::string& uuid, bool after_reset) {
  const Lock lock(shared_->mutex);
  Shared::Question& question = shared_->questions[uuid];
  if (question.is_taken) return;
  if (!question.since) question.since = mono_now();
  question.after_reset = question.after_reset || after_reset;
  shared_->changed.notify_all();
}

std::optional<MonoTime> HealthWatch::asked_at(const std::string& uuid) const {
  const Lock lock(shared_->mutex);
  const auto at = shared_->questions.find(uuid);
  return at == shared_->questions.end() ? std::nullopt : at->second.since;
}

}  // namespace rota::gpud
