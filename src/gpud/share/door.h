// gpud/share/door.h - where a job's processes come for their slot, and where their end is noticed.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/result.h"
#include "gpud/launch/file.h"
#include "gpud/share/books.h"
#include "gpud/share/region.h"

namespace rota::gpud {

/// The share of one job on this node: its region, its books, and the socket that hands them out.
/// One thread; it never blocks. The owner waits until fd() is readable, in whatever loop it has,
/// and then calls serve().
class ShareDoor {
 public:
  /// Listens at `socket_path` (removed again at the end) for processes of `owner` and of root.
  static Result<std::unique_ptr<ShareDoor>> open(const std::string& socket_path, uid_t owner,
                                                 std::vector<GpuShare> shares);
  ~ShareDoor();
  ShareDoor(const ShareDoor&) = delete;
  ShareDoor& operator=(const ShareDoor&) = delete;

  int fd() const { return events_.get(); }
  /// All that has happened: greetings, hang-ups, deaths.
  void serve();
  /// What somebody should know, for the log; "" when there is nothing. Told once.
  std::string take_note() { return std::exchange(note_, {}); }
  ShareBooks& books() { return books_; }

 private:
  // A connection and, once greeted, the process behind it. `slot` only of one that holds memory.
  struct Guest {
    Fd connection;
    Fd process;  // a pidfd
    std::uint32_t pid = 0;
    bool holds = false;
    ShareSlot slot;
  };
  // In epoll's data: which guest, and which of its two files.
  enum class Source : std::uint64_t { listener = 0, connection = 1, process = 2 };

  ShareDoor(Fd events, Fd listener, std::string path, uid_t owner, ShareRegion region,
            std::vector<GpuShare> shares);
  bool watch(int fd, Source source, std::uint64_t guest);
  void accept_all();
  void rest();
  void forget(std::uint64_t id);
  void hear(std::uint64_t id);
  void greet(std::uint64_t id, Guest& guest);
  bool send_welcome(const Guest& guest, std::uint32_t status);
  void hang_up(std::uint64_t id);
  void bury(std::uint64_t id);

  Fd events_;
  Fd listener_;
  std::string path_;
  uid_t owner_;
  ShareRegion region_;
  ShareBooks books_;
  std::map<std::uint64_t, Guest> guests_;
  std::uint64_t next_guest_ = 1;
  std::string note_;
  bool resting_ = false;  // no room for more guests: the listener is not looked at
};

}  // namespace rota::gpud
