// net/errand.cpp - the threads behind errands.
#include "net/errand.h"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

namespace rota::net {

struct ErrandPool::Shared {
  struct Work {
    std::function<void()> call;
    std::weak_ptr<Wakeup> waiter;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> waiting;
  std::list<std::weak_ptr<Wakeup>> running;
  std::optional<boost::asio::any_io_executor> executor;  // none: abandoned
  unsigned threads = 0;
  unsigned threads_idle = 0;
  unsigned threads_max = 0;

  static void serve(std::shared_ptr<Shared> shared);
  bool add_thread(const std::shared_ptr<Shared>& self);
};

void ErrandPool::Shared::serve(std::shared_ptr<Shared> shared) {
  std::unique_lock lock(shared->mutex);
  while (shared->executor) {
    if (shared->waiting.empty()) {
      ++shared->threads_idle;
      shared->changed.wait(lock);
      --shared->threads_idle;
      continue;
    }
    Work work = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    const auto mark = shared->running.insert(shared->running.end(), work.waiter);
    lock.unlock();
    // Nobody waits any more for an errand that was given up in the queue.
    if (!work.waiter.expired()) work.call();
    work.call = nullptr;
    lock.lock();
    shared->running.erase(mark);
    // Under the lock, so that abandon() returns only when no thread can reach the executor. The
    // waiter itself is touched on the executor alone: its timer must not be destroyed here.
    if (shared->executor)
      boost::asio::post(*shared->executor, [waiter = std::move(work.waiter)] {
        if (const auto wakeup = waiter.lock()) wakeup->notify();
      });
  }
}

bool ErrandPool::Shared::add_thread(const std::shared_ptr<Shared>& self) {
  // The process's signals belong to its main thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool added = true;
  try {
    std::thread(serve, self).detach();
    ++threads;
  } catch (const std::system_error&) {
    added = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return added;
}

ErrandPool::ErrandPool(boost::asio::any_io_executor executor, unsigned threads_max)
    : executor_(executor), shared_(std::make_shared<Shared>()) {
  shared_->executor = std::move(executor);
  shared_->threads_max = threads_max;
}

ErrandPool::~ErrandPool() { abandon(); }

void ErrandPool::abandon() {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->executor) return;
  shared_->executor.reset();
  for (const auto& work : shared_->waiting)
    if (const auto wakeup = work.waiter.lock()) wakeup->notify();
  for (const auto& waiter : shared_->running)
    if (const auto wakeup = waiter.lock()) wakeup->notify();
  shared_->waiting.clear();
  shared_->changed.notify_all();
}

bool ErrandPool::start(std::function<void()> call, std::weak_ptr<Wakeup> waiter) {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->executor) return false;
  const bool busy = shared_->threads_idle <= shared_->waiting.size();
  if (busy && shared_->threads < shared_->threads_max && !shared_->add_thread(shared_) &&
      shared_->threads == 0)
    return false;
  shared_->waiting.push_back({std::move(call), std::move(waiter)});
  shared_->changed.notify_one();
  return true;
}

}  // namespace rota::net
