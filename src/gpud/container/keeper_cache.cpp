// gpud/container/keeper_cache.cpp - the room that images take: what is too much of it goes.
#include <sys/statvfs.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "common/escape.h"
#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "gpud/container/keeper.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace rota::gpud {

using boost::asio::awaitable;

namespace {

/// What the controller takes of one node.
constexpr std::size_t names_max = 256;
/// A use that is forgotten with us changes little; a pull is written down before it begins.
constexpr Duration save_after = std::chrono::seconds(1);

}  // namespace

std::vector<std::string> ImageKeeper::names() const { return cache_.names(names_max); }

/// Their order changes with every job, and matters only where there are too many.
void ImageKeeper::tell_names() {
  const std::vector<std::string> now = names();
  std::set<std::string> set(now.begin(), now.end());
  if (set == told_) return;
  told_ = std::move(set);
  if (names_changed) names_changed();
}

void ImageKeeper::save() {
  const auto saved = cache_.save();
  const std::string trouble = saved ? "" : saved.error().detail;
  if (!trouble.empty() && trouble != save_trouble_)
    log::error("{}; images that come now are not removed after a restart", trouble);
  save_trouble_ = trouble;
}

void ImageKeeper::save_soon() {
  if (!cache_.is_dirty() || std::exchange(is_saving_, true)) return;
  save_timer_.expires_after(save_after);
  save_timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    is_saving_ = false;
    save();
  });
}

void ImageKeeper::tidy() {
  is_checked_ = true;
  trim();
}

void ImageKeeper::trim() {
  const bool is_little = bound_ && (*bound_ == 0 || cache_.size_bytes() <= *bound_);
  if (is_little && !is_checked_) return;
  trims_again_ = true;
  if (std::exchange(is_trimming_, true)) return;
  boost::asio::co_spawn(executor_, trim_all(), net::log_end("image cache"));
}

awaitable<void> ImageKeeper::trim_all() {
  while (std::exchange(trims_again_, false)) {
    if (std::exchange(is_checked_, false)) co_await confirm_all();
    co_await remove_oldest();
  }
  is_trimming_ = false;
  save_soon();
  tell_names();
}

/// For anybody.
bool ImageKeeper::is_tended(const Key& image) const {
  const auto first = entries_.lower_bound(Ask{image, std::nullopt});
  return first != entries_.end() && first->first.image == image;
}

/// Images may go without us, and come back otherwise.
awaitable<void> ImageKeeper::confirm_all() {
  for (const Key& key : cache_.all()) {
    ImageEngine* const images = engine(key.first);
    if (images == nullptr || is_tended(key)) continue;
    const auto found = co_await images->find(key.second);
    if (!found) {
      log::debug("image {} cannot be looked at: {}", quoted(key.second), found.error().detail);
    } else if (*found) {
      cache_.confirm(key, **found);
    } else if (!is_tended(key)) {  // else it is on its way by now
      // A pull may have outlived the rgpud that wanted it, for a while.
      const CachedImage* const image = cache_.find(key);
      const bool may_come = image != nullptr && image->id.empty() && missed_.insert(key).second;
      if (!may_come) cache_.drop(key);
    }
  }
}

/// Half of the disk with the images, the smallest if there are several; 0: there is no bound.
awaitable<std::uint64_t> ImageKeeper::bound() {
  if (bound_) co_return *bound_;
  std::uint64_t least = 0;
  for (const auto& [kind, images] : engines_) {
    const auto directory = co_await images->directory();
    struct statvfs disk {};
    if (!directory || ::statvfs(directory->c_str(), &disk) != 0) {
      log::debug("how large the disk with images is cannot be told");
      continue;
    }
    const std::uint64_t half = std::uint64_t{disk.f_blocks} * disk.f_frsize / 2;
    if (half > 0 && (least == 0 || half < least)) least = half;
  }
  if (least > 0) {
    bound_ = least;
    log::info("images of jobs may take {} (node.image_cache)", size_format(least));
  }
  co_return least;
}

awaitable<void> ImageKeeper::remove_oldest() {
  if (bound_ == 0 || cache_.size_bytes() == 0) co_return;
  const std::uint64_t most = co_await bound();
  std::set<Key> failed;
  while (most > 0 && cache_.size_bytes() > most) {
    std::vector<Key> keys = cache_.oldest(failed);
    if (keys.empty()) break;
    co_await remove(std::move(keys), failed);
  }
}

/// By its names: what other images have in common with it stays, as the engine knows.
awaitable<void> ImageKeeper::remove(std::vector<Key> keys, std::set<Key>& failed) {
  // Who comes for it from now on waits until it is gone, and brings it again.
  std::set<Key> blocked(keys.begin(), keys.end());
  for (const Key& key : keys) blocked.emplace(key.first, cache_.find(key)->image);
  const ContainerKind kind = keys.front().first;
  const std::string id = cache_.find(keys.front())->id;
  removing_.insert(blocked.begin(), blocked.end());
  for (const Key& key : keys) {
    auto removed = co_await engine(key.first)->remove(key.second);
    if (removed) {
      log::info("image {} is removed: it was not used for longest", quoted(key.second));
      removal_troubles_.erase(key);
      cache_.drop(key);
      continue;
    }
    failed.insert(key);
    std::string& told = removal_troubles_[key];
    if (told != removed.error().detail)
      log::warning("image {} cannot be removed, which is tried again: {}", quoted(key.second),
                   removed.error().detail);
    told = removed.error().detail;
  }
  // By a name that is not ours it may be there still, and is one user's as before.
  if (std::ranges::none_of(keys, [&failed](const Key& key) { return failed.contains(key); })) {
    const auto still = co_await engine(kind)->find(id);
    if (still && !*still) logins_.forget(kind, id);
  }
  for (const Key& key : blocked) removing_.erase(key);
  for (net::Wakeup& each : blocked_) each.notify();
  save_soon();
}

/// What is about to go must not be found.
awaitable<void> ImageKeeper::until_removed(Ask ask) {
  const Key by_name(ask.image.first, entries_[ask].image);
  while (removing_.contains(ask.image) || removing_.contains(by_name)) {
    const auto place = blocked_.emplace(blocked_.end(), executor_);
    co_await place->wait(net::deadline_after(options_.engines.call_limit));
    blocked_.erase(place);
  }
}

}  // namespace rota::gpud
