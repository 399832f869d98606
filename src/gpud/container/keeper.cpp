// gpud/container/keeper.cpp - one coroutine for each image that somebody waits for.
#include "gpud/container/keeper.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/escape.h"
#include "common/format.h"
#include "common/log.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace rota::gpud {

using boost::asio::awaitable;

namespace {

/// Where the engine tells nothing that could be counted, only what is waited for.
std::string progress_text(unsigned percent) {
  return percent == 0 ? "image" : format("image {} %", percent);
}

}  // namespace

ImageKeeper::ImageKeeper(boost::asio::any_io_executor executor, Options options, Progress progress)
    : executor_(executor), options_(std::move(options)), progress_(std::move(progress)) {
  if (!options_.engines.docker_socket.empty()) docker_ = docker_images(executor, options_.engines);
  if (!options_.engines.podman.empty()) podman_ = podman_images(executor, options_.engines);
  if (!options_.engines.enroot.empty()) enroot_ = enroot_images(executor, options_.engines);
}

ImageKeeper::~ImageKeeper() = default;

ImageEngine* ImageKeeper::engine(ContainerKind kind) {
  return kind == ContainerKind::docker   ? docker_.get()
         : kind == ContainerKind::podman ? podman_.get()
         : kind == ContainerKind::enroot ? enroot_.get()
                                         : nullptr;
}

void ImageKeeper::prepare(RunId run, const Wish& wish, Ready ready) {
  const std::string name = wish.digest.empty() ? wish.image : pinned_image(wish.image, wish.digest);
  waiting_[run] = {std::move(ready), wish.pull};
  const Key key(wish.kind, name);
  Entry& entry = entries_[key];
  const bool is_tended = std::exchange(entry.is_tended, true);
  entry.waiting.insert(run);
  entry.may_pull = entry.may_pull || wish.pull != PullPolicy::never;
  // What is named by its digest is what it was, however often one looks.
  entry.must_pull =
      entry.must_pull || (wish.pull == PullPolicy::always && name.find("sha256:") == name.npos);
  if (entry.percent) progress_(run, progress_text(*entry.percent));
  if (!is_tended) tend(key);
}

void ImageKeeper::release(RunId run) {
  waiting_.erase(run);
  for (auto& [key, entry] : entries_) entry.waiting.erase(run);
}

void ImageKeeper::tend(const Key& key) {
  boost::asio::co_spawn(executor_, tend_to(key), net::log_end("image " + key.second));
}

awaitable<void> ImageKeeper::tend_to(Key key) {
  boost::asio::steady_timer now(executor_, Duration::zero());
  co_await now.async_wait(net::no_throw);  // nobody is called from within prepare()
  const bool must_pull = entries_[key].must_pull;
  Result<ImageFacts> facts = co_await have(key, must_pull);
  const auto found = entries_.find(key);
  const std::set<RunId> runs = std::move(found->second.waiting);
  entries_.erase(found);
  for (const RunId run : runs) {
    const auto waiting = waiting_.extract(run);
    if (waiting.empty()) continue;
    if (facts)
      waiting.mapped().ready(*facts);
    else
      waiting.mapped().ready(facts.error());
  }
}

awaitable<Result<ImageFacts>> ImageKeeper::have(Key key, bool must_pull) {
  const auto& [kind, name] = key;
  ImageEngine* const images = engine(kind);
  if (images == nullptr)
    co_return Error{Errc::unsupported, "this node has nothing that could run its image"};
  auto found = co_await images->find(name);
  if (!found) co_return std::move(found).error();
  if (*found && !must_pull) co_return **std::move(found);
  if (!entries_[key].may_pull)
    co_return Error{
        Errc::launch_failed,
        format("the node does not have image {}, and it must not be pulled", quoted(name))};
  auto pulled = co_await pull(key);
  if (!pulled) co_return std::move(pulled).error();
  found = co_await images->find(name);
  if (!found) co_return std::move(found).error();
  if (!*found)
    co_return Error{Errc::io_failed, format("image {} was pulled, but is not there", quoted(name))};
  co_return **std::move(found);
}

/// Tries again where that may help; the last words are the registry's.
awaitable<Result<void>> ImageKeeper::pull(Key key) {
  const std::string name = key.second;
  log::info("image {} is being pulled", quoted(name));
  heard(key, 0);
  Duration pause = options_.pull_pause;
  boost::asio::steady_timer timer(executor_);
  for (unsigned left = options_.pull_tries;;) {
    std::function<void(unsigned)> percent = [this, key](unsigned value) { heard(key, value); };
    auto pulled = co_await engine(key.first)->pull(name, std::move(percent));
    if (pulled) co_return pulled;
    Error error = std::move(pulled).error();
    const bool is_final = error.code == Errc::not_found || error.code == Errc::denied;
    std::string text = format("image {} cannot be pulled: {}", quoted(name), error.detail);
    if (is_final) co_return Error{Errc::launch_failed, std::move(text)};
    if (--left == 0 || entries_[key].waiting.empty())
      co_return Error{Errc::io_failed, std::move(text)};
    log::warning("{}; again in {} s", text,
                 std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    timer.expires_after(pause);
    pause *= 2;
    co_await timer.async_wait(net::no_throw);
  }
}

void ImageKeeper::heard(const Key& key, unsigned percent) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.percent == percent) return;
  found->second.percent = percent;
  for (const RunId run : found->second.waiting) progress_(run, progress_text(percent));
}

void ImageKeeper::sweep(IsWanted is_wanted) {
  boost::asio::co_spawn(executor_, sweep_all(std::move(is_wanted)),
                        net::log_end("container sweep"));
}

awaitable<void> ImageKeeper::sweep_all(IsWanted is_wanted) {
  for (ImageEngine* const images : {docker_.get(), podman_.get(), enroot_.get()}) {
    if (images == nullptr) continue;
    IsWanted ask = [&is_wanted](const std::string& name) {
      const bool keep = is_wanted(name);
      if (!keep) log::warning("container {} has no job: it is removed", name);
      return keep;
    };
    const auto swept = co_await images->sweep(std::move(ask));
    if (!swept) log::debug("containers cannot be listed: {}", swept.error().detail);
  }
}

}  // namespace rota::gpud
