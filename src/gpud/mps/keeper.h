// gpud/mps/keeper.h - one MPS control daemon for each user on each GPU: there before the first run
// that asks for it, gone after the last.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/launch/order.h"
#include "gpud/mps/access.h"
#include "gpud/mps/place.h"
#include "model/ids.h"
#include "model/job.h"

namespace rota::gpud {

/// Knows who needs which daemon. A daemon is a process of its user outside of all jobs, so that no
/// job's end ends it; it outlives us, and the next rgpud takes it over. Lives on the daemon's loop.
class MpsKeeper {
 public:
  struct Options {
    std::string directory;                              // SPOOL/mps
    std::string program = "nvidia-cuda-mps-control";    // for the PATH, or a path
    std::vector<std::string> gpus;                      // UUIDs of the node's
    Duration call_limit = std::chrono::seconds(10);     // of one call of the program
    Duration start_patience = std::chrono::seconds(5);  // until a new daemon answers
    Duration end_patience = std::chrono::seconds(5);    // from quit to SIGTERM, then to SIGKILL
  };
  /// Runs a program as a user (Steps::run_as).
  using Call = std::function<boost::asio::awaitable<Result<std::string>>(UserOrder)>;
  MpsKeeper(boost::asio::any_io_executor executor, Options options, Call call);

  /// A run with a daemon that goes on from an earlier rgpud.
  struct Living {
    RunId run;
    Owner owner;
    std::vector<std::string> gpu_uuids;
  };
  /// Once, before the first run: takes over the daemons of living runs, ends the others and removes
  /// what is left of any.
  void settle(const std::vector<Living>& living);

  /// The way to the daemon of each of these GPUs, once they all answer; or why one does not. Never
  /// calls `ready` from within, nor after the release.
  using Ready = std::function<void(Result<std::vector<MpsAccess>>)>;
  void prepare(RunId run, const Owner& owner, std::vector<std::uint32_t> groups,
               const std::vector<std::string>& gpu_uuids, Ready ready);
  /// The run is over, or not wanted any more.
  void release(RunId run);

  /// Whether some user has, or gets, a daemon on this GPU.
  bool serves(const std::string& gpu_uuid) const;
  /// Daemons that live, or are being started or ended.
  std::size_t size() const { return entries_.size(); }

 private:
  using Key = std::pair<std::string, std::uint32_t>;  // the GPU's UUID, the user
  struct Entry {
    MpsPlace place;
    Owner owner;
    std::vector<std::uint32_t> groups;
    std::set<RunId> runs;     // that have it, or want it
    std::set<RunId> waiting;  // of them: to be told that it answers
    std::optional<MpsProcess> process;
    bool is_tended = false;  // tend() is at work on it
  };
  struct Waiting {
    Ready ready;
    std::set<Key> missing;
    std::vector<MpsAccess> found;
  };

  Entry& entry_for(const Key& key, const Owner& owner);
  void settle_one(const std::string& name, const std::vector<Living>& living);
  void tend(const Key& key);
  boost::asio::awaitable<void> tend_to(Key key);
  boost::asio::awaitable<Result<void>> have(Key key);
  boost::asio::awaitable<Result<void>> start(Key key);
  boost::asio::awaitable<Result<void>> wait_for_answer(Key key);
  boost::asio::awaitable<Result<std::string>> ask(Key key, const char* command);
  boost::asio::awaitable<Result<void>> prove(Key key);
  boost::asio::awaitable<void> end(Key key);
  boost::asio::awaitable<bool> is_gone(int pidfd, Duration patience);
  boost::asio::awaitable<void> watch(Key key, int pidfd);
  Result<void> take(const Key& key, MpsProcess process);
  UserOrder order_for(const Key& key, const Entry& entry) const;
  void answer(RunId run, const Key& key, const Result<void>& there);

  boost::asio::any_io_executor executor_;
  Options options_;
  Call call_;
  std::map<Key, Entry> entries_;
  std::map<RunId, Waiting> waiting_;
};

}  // namespace rota::gpud
