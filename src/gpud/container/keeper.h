// gpud/container/keeper.h - has images there before the runs that need them: each is pulled once,
// however many runs wait for it; and removes what has not been used for longest when they take too
// much room.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/container/cache.h"
#include "gpud/container/engine.h"
#include "gpud/container/logins.h"
#include "model/ids.h"
#include "net/wakeup.h"

namespace rota::gpud {

/// Lives on the daemon's loop.
class ImageKeeper {
 public:
  struct Options {
    EngineOptions engines;
    unsigned pull_tries = 4;                        // before a pull has failed
    Duration pull_pause = std::chrono::seconds(2);  // after the first; doubled each time
    std::string logins_path = {};                   // of ImageLogins
    std::string cache_path;                         // of ImageCache
    /// For images that jobs brought; 0: no bound; none: half of the disk that they are on.
    std::optional<std::uint64_t> cache_bytes = 0;
    unsigned prefetch_max = 0;  // images that come at one time before a run waits for them
  };
  using Engines = std::map<ContainerKind, std::unique_ptr<ImageEngine>>;
  /// How far the image of a run has come: "image 62 %".
  using Progress = std::function<void(RunId run, std::string text)>;
  ImageKeeper(boost::asio::any_io_executor executor, Options options, Progress progress);
  ImageKeeper(boost::asio::any_io_executor executor, Options options, Progress progress,
              Engines engines);
  ~ImageKeeper();

  struct Wish {
    ContainerKind kind = ContainerKind::none;
    std::string image;
    std::string digest;  // of an earlier run; "": whatever the image is now
    PullPolicy pull = PullPolicy::missing;
    std::uint32_t uid = 0;            // of its owner
    proto::RegistryLogin login = {};  // the owner's at the image's registry
  };
  using Ready = std::function<void(Result<ImageFacts>)>;
  /// Calls `ready` once the image is there, or why it cannot be; never from within, nor after the
  /// release.
  void prepare(RunId run, const Wish& wish, Ready ready);
  /// The run was there before us, and has its image; nobody knows of which engine.
  void adopt(RunId run, const std::string& image, const std::string& digest);
  /// The run is over, or not wanted any more. A pull goes on: the next run finds it.
  void release(RunId run);

  /// A run will come with this image. It is brought when no run waits for another; nobody hears how
  /// that ended.
  void prefetch(const Wish& wish);

  /// The names of images that jobs used here and that are there, the latest used first.
  std::vector<std::string> names() const;
  /// Which ones those are has changed.
  std::function<void()> names_changed;

  /// Looks whether all are there still, and removes what is too much: once in a while, as removing
  /// may have failed.
  void tidy();
  bool has_engines() const { return !engines_.empty(); }

  /// Removes containers that no run has. `is_wanted` is asked for each by its name when it is
  /// found, so that one which has come meanwhile is kept.
  using IsWanted = std::function<bool(const std::string& container)>;
  /// `done` hears whether all of that could be done; not after the keeper is gone.
  void sweep(IsWanted is_wanted, std::function<void(bool is_done)> done = nullptr);

 private:
  using Key = ImageCache::Key;
  /// An image as somebody may have it: with a login it is one user's, without one everybody's.
  struct Ask {
    Key image;
    std::optional<std::uint32_t> who;  // whose login; none: nobody's
    auto operator<=>(const Ask&) const = default;
  };
  struct Entry {
    std::string image;  // without a digest
    std::set<RunId> waiting;
    std::set<RunId> followers;  // that need a digest of the same name, which may come with it
    bool is_tended = false;
    bool must_pull = false;
    bool may_pull = false;
    bool is_prefetch = false;         // it began as one
    std::optional<unsigned> percent;  // of the pull, if there is one
    proto::RegistryLogin login;
  };

  ImageEngine* engine(ContainerKind kind);
  static Key key_of(const Wish& wish);
  static Ask ask_of(const Wish& wish);
  bool is_tended(const Key& image) const;
  void attend(RunId run);
  void tend(const Ask& ask);
  boost::asio::awaitable<void> tend_to(Ask ask);
  boost::asio::awaitable<Result<ImageFacts>> have(Ask ask, bool must_pull);
  boost::asio::awaitable<Result<ImageFacts>> find_or_pull(Ask ask, bool must_pull);
  boost::asio::awaitable<Result<std::optional<ImageFacts>>> find_settled(Ask ask);
  bool is_settled(const Ask& ask, const std::string& id) const;
  boost::asio::awaitable<Result<void>> begin_private(Ask ask);
  boost::asio::awaitable<Result<void>> pull(Ask ask);
  boost::asio::awaitable<Result<void>> pull_noted(Ask ask);
  boost::asio::awaitable<void> settle_pulls(ContainerKind kind);
  void answer(const Entry& entry, const Result<ImageFacts>& facts);
  boost::asio::awaitable<void> sweep_all(IsWanted is_wanted,
                                         std::function<void(bool is_done)> done);
  void heard(const Ask& ask, unsigned percent);
  void next_prefetch();

  void trim();
  boost::asio::awaitable<void> trim_all();
  boost::asio::awaitable<void> remove_oldest();
  boost::asio::awaitable<void> remove(std::vector<Key> keys, std::set<Key>& failed);
  boost::asio::awaitable<void> until_removed(Ask ask);
  boost::asio::awaitable<std::uint64_t> bound();
  boost::asio::awaitable<void> confirm_all();
  void save();
  void save_soon();
  void tell_names();

  boost::asio::any_io_executor executor_;
  Options options_;
  Progress progress_;
  Engines engines_;
  ImageCache cache_;
  std::map<Ask, Entry> entries_;  // of images that are being looked after
  ImageLogins logins_;
  /// Pulls with a login that are under way, with the ids of what was everybody's before. An engine
  /// has the image before we know its id.
  std::map<Ask, std::set<std::string>> private_pulls_;
  struct Waiting {
    Ready ready;
    Wish wish;
  };
  std::map<RunId, Waiting> waiting_;
  std::deque<Wish> prefetches_;  // whose turn has not come
  unsigned prefetching_ = 0;
  std::set<Key> removing_;          // images that are about to go, by all their names
  std::list<net::Wakeup> blocked_;  // who waits until they are gone, or known to be somebody's
  std::set<Key> missed_;            // pulls of an earlier rgpud of which nothing was found yet
  bool is_trimming_ = false;
  bool is_checked_ = false;  // what is known of the images is to be looked at
  bool trims_again_ = false;
  std::optional<std::uint64_t> bound_;           // once it is known
  std::map<Key, std::string> removal_troubles_;  // as they were logged
  std::set<std::string> told_;                   // names, as of the last names_changed
  boost::asio::steady_timer save_timer_;
  bool is_saving_ = false;
  std::string save_trouble_;  // as it was logged
};

}  // namespace rota::gpud
