// gpud/container/keeper.cpp - one coroutine for each image that somebody waits for.
#include "gpud/container/keeper.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "common/escape.h"
#include "common/format.h"
#include "common/log.h"
#include "net/connection.h"  // for what it tells g++ of coroutines' frames
#include "net/log_end.h"
#include "net/wakeup.h"

namespace rota::gpud {

using boost::asio::awaitable;

namespace {

constexpr std::size_t prefetches_max = 64;

/// Where the engine tells nothing that could be counted, only what is waited for.
std::string progress_text(unsigned percent) {
  return percent == 0 ? "image" : format("image {} %", percent);
}

ImageKeeper::Engines engines_of(boost::asio::any_io_executor executor,
                                const EngineOptions& options) {
  ImageKeeper::Engines engines;
  if (!options.docker_socket.empty())
    engines[ContainerKind::docker] = docker_images(executor, options);
  if (!options.podman.empty()) engines[ContainerKind::podman] = podman_images(executor, options);
  if (!options.enroot.empty()) engines[ContainerKind::enroot] = enroot_images(executor, options);
  return engines;
}

std::set<ContainerKind> kinds_of(const ImageKeeper::Engines& engines) {
  std::set<ContainerKind> kinds;
  for (const auto& [kind, images] : engines) kinds.insert(kind);
  return kinds;
}

}  // namespace

ImageKeeper::ImageKeeper(boost::asio::any_io_executor executor, Options options, Progress progress)
    : ImageKeeper(executor, options, std::move(progress), engines_of(executor, options.engines)) {}

ImageKeeper::ImageKeeper(boost::asio::any_io_executor executor, Options options, Progress progress,
                         Engines engines)
    : executor_(executor),
      options_(std::move(options)),
      progress_(std::move(progress)),
      engines_(std::move(engines)),
      cache_(options_.cache_path, kinds_of(engines_)),
      logins_(options_.logins_path),
      bound_(options_.cache_bytes),
      save_timer_(executor) {}

ImageKeeper::~ImageKeeper() = default;

ImageEngine* ImageKeeper::engine(ContainerKind kind) {
  const auto found = engines_.find(kind);
  return found == engines_.end() ? nullptr : found->second.get();
}

ImageKeeper::Ask ImageKeeper::ask_of(const Wish& wish) {
  Ask ask{key_of(wish), std::nullopt};
  if (!wish.login.empty()) ask.who = wish.uid;
  return ask;
}

ImageKeeper::Key ImageKeeper::key_of(const Wish& wish) {
  return {wish.kind, wish.digest.empty() ? wish.image : pinned_image(wish.image, wish.digest)};
}

void ImageKeeper::prepare(RunId run, const Wish& wish, Ready ready) {
  waiting_[run] = {std::move(ready), wish};
  cache_.hold(run, key_of(wish), wish.image);
  attend(run);
}

void ImageKeeper::attend(RunId run) {
  const Wish& wish = waiting_.at(run).wish;
  const Ask ask = ask_of(wish);
  const std::string& name = ask.image.second;
  // What comes by its name is nearly always what the digest means: it is not brought twice.
  const auto by_name = entries_.find(Ask{Key(wish.kind, wish.image), ask.who});
  if (name != wish.image && by_name != entries_.end()) {
    by_name->second.followers.insert(run);
    if (by_name->second.percent) progress_(run, progress_text(*by_name->second.percent));
    return;
  }
  Entry& entry = entries_[ask];
  entry.login = wish.login;
  const bool is_tended = std::exchange(entry.is_tended, true);
  entry.image = wish.image;
  entry.waiting.insert(run);
  entry.may_pull = entry.may_pull || wish.pull != PullPolicy::never;
  // What is named by its digest is what it was, however often one looks.
  entry.must_pull =
      entry.must_pull || (wish.pull == PullPolicy::always && name.find("sha256:") == name.npos);
  if (entry.percent) progress_(run, progress_text(*entry.percent));
  if (!is_tended) tend(ask);
}

void ImageKeeper::adopt(RunId run, const std::string& image, const std::string& digest) {
  cache_.hold(run, key_of({ContainerKind::none, image, digest}), image);
}

void ImageKeeper::release(RunId run) {
  waiting_.erase(run);
  for (auto& [key, entry] : entries_) {
    entry.waiting.erase(run);
    entry.followers.erase(run);
  }
  if (cache_.release(run)) trim();
}

void ImageKeeper::prefetch(const Wish& wish) {
  if (options_.prefetch_max == 0 || engine(wish.kind) == nullptr) return;
  const auto is_same = [ask = ask_of(wish)](const Wish& other) { return ask_of(other) == ask; };
  if (std::ranges::any_of(prefetches_, is_same)) return;
  if (prefetches_.size() >= prefetches_max)
    return log::info("image {} is not fetched ahead: {} others are to be", quoted(wish.image),
                     prefetches_.size());
  prefetches_.push_back(wish);
  next_prefetch();
}

void ImageKeeper::next_prefetch() {
  const auto is_urgent = [](const auto& each) {
    return !each.second.waiting.empty() || !each.second.followers.empty();
  };
  while (!prefetches_.empty() && prefetching_ < options_.prefetch_max &&
         std::ranges::none_of(entries_, is_urgent)) {
    const Wish wish = std::move(prefetches_.front());
    prefetches_.pop_front();
    const Ask ask = ask_of(wish);
    if (entries_.contains(ask)) continue;
    ++prefetching_;
    Entry& entry = entries_[ask];
    entry.image = wish.image;
    entry.login = wish.login;
    entry.is_tended = true;
    entry.may_pull = true;
    entry.is_prefetch = true;
    tend(ask);
  }
}

void ImageKeeper::tend(const Ask& ask) {
  boost::asio::co_spawn(executor_, tend_to(ask), net::log_end("image " + ask.image.second));
}

awaitable<void> ImageKeeper::tend_to(Ask ask) {
  boost::asio::steady_timer now(executor_, Duration::zero());
  co_await now.async_wait(net::no_throw);  // nobody is called from within prepare()
  bool must_pull = entries_[ask].must_pull;
  Result<ImageFacts> facts = co_await have(ask, must_pull);
  // Somebody may have come meanwhile who is not content with what is there.
  if (facts && !must_pull && entries_[ask].must_pull) {
    must_pull = true;
    facts = co_await have(ask, must_pull);
  }
  const auto found = entries_.find(ask);
  const Entry entry = std::move(found->second);
  entries_.erase(found);
  if (entry.is_prefetch) {
    --prefetching_;
    if (!facts) log::warning("{}; a job that waits needs it", facts.error().detail);
  }
  if (facts) {
    cache_.use(ask.image, entry.image, *facts);
    for (const RunId run : entry.waiting) cache_.hold_id(run, facts->id);
  }
  answer(entry, facts);
  save_soon();
  tell_names();
  trim();
  next_prefetch();
}

void ImageKeeper::answer(const Entry& entry, const Result<ImageFacts>& facts) {
  for (const RunId run : entry.waiting) {
    const auto waiting = waiting_.extract(run);
    if (waiting.empty()) continue;
    if (facts)
      waiting.mapped().ready(*facts);
    else
      waiting.mapped().ready(facts.error());
  }
  for (const RunId run : entry.followers)
    if (waiting_.contains(run)) attend(run);
}

awaitable<Result<ImageFacts>> ImageKeeper::have(Ask ask, bool must_pull) {
  Result<ImageFacts> facts = co_await find_or_pull(ask, must_pull);
  if (private_pulls_.erase(ask) > 0)
    for (net::Wakeup& each : blocked_) each.notify();
  co_return facts;
}

/// While somebody pulls with a login, what was not there before may be theirs.
bool ImageKeeper::is_settled(const Ask& ask, const std::string& id) const {
  return logins_.is_private(ask.image.first, id) ||
         std::ranges::all_of(private_pulls_, [&](const auto& pull) {
           return pull.first.image.first != ask.image.first || pull.first == ask ||
                  pull.second.contains(id);
         });
}

/// The image, once it is known whose it is.
awaitable<Result<std::optional<ImageFacts>>> ImageKeeper::find_settled(Ask ask) {
  const auto& [kind, name] = ask.image;
  for (;;) {
    auto found = co_await engine(kind)->find(name);
    if (!found || !*found || is_settled(ask, (*found)->id)) co_return found;
    const auto place = blocked_.emplace(blocked_.end(), executor_);
    co_await place->wait(net::deadline_after(options_.engines.pull_limit));
    blocked_.erase(place);
  }
}

awaitable<Result<ImageFacts>> ImageKeeper::find_or_pull(Ask ask, bool must_pull) {
  const auto& [kind, name] = ask.image;
  const auto who = ask.who;
  ImageEngine* const images = engine(kind);
  if (images == nullptr)
    co_return Error{Errc::unsupported, "this node has nothing that could run its image"};
  co_await settle_pulls(kind);
  co_await until_removed(ask);
  auto found = co_await find_settled(ask);
  if (!found) co_return std::move(found).error();
  // An engine knows images by their ids, too, and those that users keep are no secret.
  if (*found && (*found)->is_own && name.find(ContainerBounds::own_images) == name.npos)
    co_return Error{Errc::launch_failed,
                    format("image {} is what a job has kept: its owner alone can use it, by the "
                           "name that was given to it (--container-name)",
                           quoted(name))};
  if (*found && !must_pull && logins_.may_use(kind, (*found)->id, who))
    co_return **std::move(found);
  if (!entries_[ask].may_pull && *found)
    co_return Error{Errc::launch_failed,
                    format("the node has image {} from another user's login, and its registry must "
                           "not be asked whether you may use it",
                           quoted(name))};
  if (!entries_[ask].may_pull)
    co_return Error{
        Errc::launch_failed,
        format("the node does not have image {}, and it must not be pulled", quoted(name))};
  if (!*found) {
    cache_.pull_begins(ask.image, entries_[ask].image);
    save();
  }
  trim();
  auto pulled = co_await pull_noted(ask);
  if (!pulled) cache_.pull_failed(ask.image);
  if (!pulled) co_return std::move(pulled).error();
  found = co_await images->find(name);
  if (!found) co_return std::move(found).error();
  if (!*found)
    co_return Error{Errc::io_failed, format("image {} was pulled, but is not there", quoted(name))};
  const std::string& id = (*found)->id;
  // What was there for all is not one user's because that user has asked for it too.
  const auto own = private_pulls_.find(ask);
  const bool is_open = !who || own == private_pulls_.end() || own->second.contains(id);
  if (auto noted = logins_.pulled(kind, name, id, is_open ? std::nullopt : who); !noted)
    co_return std::move(noted).error();
  if (!who)
    for (auto& [other, open] : private_pulls_)
      if (other.image.first == kind) open.insert(id);
  co_return **std::move(found);
}

/// With a login, it is on the disk beforehand what is about to come: should we be killed before we
/// know its id, the next rgpud does not take it for everybody's.
awaitable<Result<void>> ImageKeeper::pull_noted(Ask ask) {
  const auto& [kind, name] = ask.image;
  if (ask.who) {
    if (auto begun = co_await begin_private(ask); !begun) co_return begun;
    if (auto noted = logins_.begin_pull(kind, name); !noted) co_return noted;
  }
  auto pulled = co_await pull(ask);
  if (!pulled && ask.who) logins_.end_pull(kind, name);
  co_return pulled;
}

/// Looks what is everybody's now: neither what came with a login, nor what may just be coming so.
awaitable<Result<void>> ImageKeeper::begin_private(Ask ask) {
  const ContainerKind kind = ask.image.first;
  auto ids = co_await engine(kind)->ids();
  if (!ids && ids.error().code == Errc::unsupported) co_return Result<void>();
  if (!ids) co_return std::move(ids).error();
  std::erase_if(*ids, [&](const std::string& id) {
    return logins_.is_private(kind, id) || !is_settled(ask, id);
  });
  private_pulls_[ask] = *std::move(ids);
  co_return Result<void>();
}

/// What an rgpud that was killed had begun to pull with a login is nobody's.
awaitable<void> ImageKeeper::settle_pulls(ContainerKind kind) {
  for (const std::string& name : logins_.left_over(kind)) {
    auto found = co_await engine(kind)->find(name);
    if (found) logins_.settle(kind, name, *found ? (*found)->id : "");
  }
}

/// Tries again where that may help; the last words are the registry's.
awaitable<Result<void>> ImageKeeper::pull(Ask ask) {
  const std::string name = ask.image.second;
  log::info("image {} is being pulled", quoted(name));
  heard(ask, 0);
  Duration pause = options_.pull_pause;
  boost::asio::steady_timer timer(executor_);
  for (unsigned left = options_.pull_tries;;) {
    std::function<void(unsigned)> percent = [this, ask](unsigned value) { heard(ask, value); };
    proto::RegistryLogin login = entries_[ask].login;
    auto pulled =
        co_await engine(ask.image.first)->pull(name, std::move(login), std::move(percent));
    if (pulled) co_return pulled;
    Error error = std::move(pulled).error();
    const bool is_final = error.code == Errc::not_found || error.code == Errc::denied;
    std::string text = format("image {} cannot be pulled: {}", quoted(name), error.detail);
    if (is_final) co_return Error{Errc::launch_failed, std::move(text)};
    if (--left == 0 || (entries_[ask].waiting.empty() && entries_[ask].followers.empty()))
      co_return Error{Errc::io_failed, std::move(text)};
    log::warning("{}; again in {} s", text,
                 std::chrono::duration_cast<std::chrono::seconds>(pause).count());
    timer.expires_after(pause);
    pause *= 2;
    co_await timer.async_wait(net::no_throw);
  }
}

void ImageKeeper::heard(const Ask& ask, unsigned percent) {
  const auto found = entries_.find(ask);
  if (found == entries_.end() || found->second.percent == percent) return;
  found->second.percent = percent;
  for (const RunId run : found->second.waiting) progress_(run, progress_text(percent));
  for (const RunId run : found->second.followers) progress_(run, progress_text(percent));
}

void ImageKeeper::sweep(IsWanted is_wanted, std::function<void(bool is_done)> done) {
  boost::asio::co_spawn(executor_, sweep_all(std::move(is_wanted), std::move(done)),
                        net::log_end("container sweep"));
}

awaitable<void> ImageKeeper::sweep_all(IsWanted is_wanted, std::function<void(bool is_done)> done) {
  bool is_done = true;
  for (const auto& [kind, images] : engines_) {
    IsWanted ask = [&is_wanted](const std::string& name) {
      const bool keep = is_wanted(name);
      if (!keep) log::warning("container {} has no job: it is removed", name);
      return keep;
    };
    const auto swept = co_await images->sweep(std::move(ask));
    if (swept) continue;
    is_done = false;
    log::debug("containers cannot be listed or removed: {}", swept.error().detail);
  }
  if (done) done(is_done);
}

}  // namespace rota::gpud
