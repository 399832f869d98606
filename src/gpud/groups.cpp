// gpud/groups.cpp - getpwuid and getgrouplist, where they may take their time.
#include "gpud/groups.h"

#include <grp.h>
#include <pwd.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "common/clock.h"

namespace rota::gpud {
namespace {

constexpr Duration good_for = std::chrono::minutes(5);
constexpr std::size_t entries_max = 10'000;

GroupCache::Groups look_up(std::uint32_t uid, std::uint32_t gid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(64 << 10);
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return {gid};
  std::vector<gid_t> groups(64);
  for (;;) {
    int count = static_cast<int>(groups.size());
    const bool all = ::getgrouplist(found->pw_name, gid, groups.data(), &count) >= 0;
    groups.resize(static_cast<std::size_t>(std::max(count, 1)));
    if (all) return groups;
    if (groups.size() > 65'536) return {gid};  // more than any kernel takes
  }
}

}  // namespace

/// Left behind when it hangs: it shares nothing with the cache but this, and tells nobody once
/// `owner` is gone.
struct GroupCache::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Key> questions;
  GroupCache* owner = nullptr;
  boost::asio::any_io_executor executor;

  static void run(std::shared_ptr<Worker> self) {
    std::unique_lock lock(self->mutex);
    for (;;) {
      self->changed.wait(lock, [&] { return self->owner == nullptr || !self->questions.empty(); });
      if (self->owner == nullptr) return;
      const Key key = self->questions.front();
      self->questions.pop_front();
      lock.unlock();
      Groups groups = look_up(key.first, key.second);
      lock.lock();
      if (self->owner == nullptr) return;
      boost::asio::post(self->executor, [self, key, groups = std::move(groups)]() mutable {
        GroupCache* owner = nullptr;
        {
          const std::lock_guard guard(self->mutex);
          owner = self->owner;
        }
        if (owner != nullptr) owner->answered(key, std::move(groups));
      });
    }
  }
};

GroupCache::GroupCache(boost::asio::any_io_executor executor)
    : executor_(executor), worker_(std::make_shared<Worker>()) {
  worker_->owner = this;
  worker_->executor = executor;
  std::thread(&Worker::run, worker_).detach();
}

GroupCache::~GroupCache() {
  const std::lock_guard guard(worker_->mutex);
  worker_->owner = nullptr;
  worker_->executor = {};
  worker_->changed.notify_all();
}

void GroupCache::find(std::uint32_t uid, std::uint32_t gid, MonoTime now, Done done) {
  const Key key{uid, gid};
  if (const auto entry = known_.find(key); entry != known_.end()) {
    if (now - entry->second.at < good_for) return done(entry->second.groups);
    known_.erase(entry);
  }
  auto& waiting = waiting_[key];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  const std::lock_guard guard(worker_->mutex);
  worker_->questions.push_back(key);
  worker_->changed.notify_one();
}

void GroupCache::answered(Key key, Groups groups) {
  if (known_.size() >= entries_max) known_.clear();
  known_[key] = {groups, mono_now()};
  auto waiting = waiting_.extract(key);
  if (waiting.empty()) return;
  for (const Done& done : waiting.mapped()) done(groups);
}

}  // namespace rota::gpud
