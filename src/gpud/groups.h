// gpud/groups.h - supplementary groups of users, asked of the host's user database on a thread.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/time.h"

namespace rota::gpud {

/// The user database may be LDAP and may hang; whoever asks here never waits for it, and an answer
/// is good for a few minutes. One thread of the executor uses it.
class GroupCache {
 public:
  using Groups = std::vector<std::uint32_t>;
  using Done = std::function<void(const Groups&)>;

  explicit GroupCache(boost::asio::any_io_executor executor);
  ~GroupCache();
  GroupCache(const GroupCache&) = delete;
  GroupCache& operator=(const GroupCache&) = delete;

  /// Calls `done` with all groups of the user, `gid` among them: at once when they are known, later
  /// otherwise. A uid without an entry has only `gid`.
  void find(std::uint32_t uid, std::uint32_t gid, MonoTime now, Done done);

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  struct Entry {
    Groups groups;
    MonoTime at;
  };
  struct Worker;
  void answered(Key key, Groups groups);

  boost::asio::any_io_executor executor_;
  std::map<Key, Entry> known_;
  std::map<Key, std::vector<Done>> waiting_;
  std::shared_ptr<Worker> worker_;
};

}  // namespace rota::gpud
