// gpud/container/keeper.h - has images there before the runs that need them: each is pulled once,
// however many runs wait for it.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/container/engine.h"
#include "model/ids.h"

namespace rota::gpud {

/// Lives on the daemon's loop.
class ImageKeeper {
 public:
  struct Options {
    EngineOptions engines;
    unsigned pull_tries = 4;                        // before a pull has failed
    Duration pull_pause = std::chrono::seconds(2);  // after the first; doubled each time
  };
  /// How far the image of a run has come: "image 62 %".
  using Progress = std::function<void(RunId run, std::string text)>;
  ImageKeeper(boost::asio::any_io_executor executor, Options options, Progress progress);
  ~ImageKeeper();

  struct Wish {
    ContainerKind kind = ContainerKind::none;
    std::string image;
    std::string digest;  // of an earlier run; "": whatever the image is now
    PullPolicy pull = PullPolicy::missing;
  };
  using Ready = std::function<void(Result<ImageFacts>)>;
  /// Calls `ready` once the image is there, or why it cannot be; never from within, nor after the
  /// release.
  void prepare(RunId run, const Wish& wish, Ready ready);
  /// The run is over, or not wanted any more. A pull goes on: the next run finds it.
  void release(RunId run);

  /// Removes containers that no run has. `is_wanted` is asked for each by its name when it is
  /// found, so that one which has come meanwhile is kept.
  using IsWanted = std::function<bool(const std::string& container)>;
  void sweep(IsWanted is_wanted);

 private:
  using Key = std::pair<ContainerKind, std::string>;
  struct Entry {
    std::set<RunId> waiting;
    bool is_tended = false;
    bool must_pull = false;
    bool may_pull = false;
    std::optional<unsigned> percent;  // of the pull, if there is one
  };

  ImageEngine* engine(ContainerKind kind);
  void tend(const Key& key);
  boost::asio::awaitable<void> tend_to(Key key);
  boost::asio::awaitable<Result<ImageFacts>> have(Key key, bool must_pull);
  boost::asio::awaitable<Result<void>> pull(Key key);
  boost::asio::awaitable<void> sweep_all(IsWanted is_wanted);
  void heard(const Key& key, unsigned percent);

  boost::asio::any_io_executor executor_;
  Options options_;
  Progress progress_;
  std::unique_ptr<ImageEngine> docker_;
  std::unique_ptr<ImageEngine> podman_;
  std::unique_ptr<ImageEngine> enroot_;
  std::map<Key, Entry> entries_;  // of images that are being looked after
  struct Waiting {
    Ready ready;
    PullPolicy pull = PullPolicy::missing;
  };
  std::map<RunId, Waiting> waiting_;
};

}  // namespace rota::gpud
