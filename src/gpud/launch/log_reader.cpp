// gpud/launch/log_reader.cpp - read, send, wait for more. Linked into rstepd, so without libfmt.
#include "gpud/launch/log_reader.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "gpud/launch/file.h"
#include "gpud/launch/identity.h"
#include "gpud/launch/masker.h"
#include "gpud/launch/secrets.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

/// Another node may write to the same shared file, of which inotify tells nothing. The longer
/// nothing comes, the more seldom we look.
constexpr int look_again_ms = 1000;
constexpr int look_again_max_ms = 3000;
constexpr int look_often_ms = 200;
/// Several packets are on their way while rgpud seals one.
constexpr int buffer_bytes = 1 << 20;

/// Only this host writes to it, so that inotify tells of every change.
bool is_of_this_host(int file) {
  struct statfs status {};
  if (::fstatfs(file, &status) != 0) return false;
  switch (static_cast<std::uint32_t>(status.f_type)) {
    case BTRFS_SUPER_MAGIC:
    case EXT4_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case RAMFS_MAGIC:
    case TMPFS_MAGIC:
    case XFS_SUPER_MAGIC:
    case 0x2fc12fc1:  // ZFS
      return true;
    default:
      return false;
  }
}

class Reader {
 public:
  Reader(const LogOrder& order, int socket, int masks) : order_(order), socket_(socket) {
    if (masks < 0) return;
    // What cannot be hidden must not be shown.
    const auto list = proto::decode<MaskList>(memory_read(masks));
    if (list) masker_ = std::make_unique<Masker>(*list);
    is_blind_ = !list;
  }

  void run() {
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof buffer_bytes);
    if (const int error = become(order_.owner.uid, order_.owner.gid, order_.groups))
      return fail(std::string("cannot read as its owner: ") + strerrordesc_np(error));
    if (is_blind_) return fail("it: what is to be hidden in it is not known");
    if (!open_file()) return;
    position_ =
        order_.tail_lines >= 0 ? tail_offset(file_.get(), order_.tail_lines) : order_.offset;
    if (masker_ != nullptr && order_.tail_lines < 0) skip_ = std::exchange(position_, 0);
    if (order_.follow) watch();
    for (;;) {
      const bool ended_before = run_ended_;
      const std::uint64_t before = position_;
      if (!send_rest()) return;
      if (position_ != before) pause_ms_ = look_again_ms;
      // Only what is read after the news of the end is sure to be all.
      if (!order_.follow || ended_before) break;
      if (!wait(is_told_ ? -1 : pause_ms_)) return;
      pause_ms_ = std::min(2 * pause_ms_, look_again_max_ms);
    }
    if (masker_ != nullptr) {
      std::string rest;
      masker_->finish(rest);
      if (!send_shown(rest)) return;
    }
    send(LogPacket::end, {});
  }

 private:
  bool open_file() {
    for (;;) {
      file_.reset(::open(order_.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
      if (file_) break;
      const int error = errno;
      const bool may_come = error == ENOENT && order_.follow && !run_ended_;
      if (!may_come) return fail("'" + order_.path + "': " + strerrordesc_np(error)), false;
      if (!wait(look_often_ms)) return false;
    }
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return fail("'" + order_.path + "' is not a regular file"), false;
    return true;
  }

  void watch() {
    notify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    const std::string path = "/proc/self/fd/" + std::to_string(file_.get());
    if (notify_ && ::inotify_add_watch(notify_.get(), path.c_str(), IN_MODIFY) < 0) notify_.reset();
    is_told_ = notify_ && is_of_this_host(file_.get());
  }

  /// False when rgpud does not listen any more.
  bool send_rest() {
    struct stat status {};
    // A file that shrank was begun anew.
    if (::fstat(file_.get(), &status) == 0 &&
        static_cast<std::uint64_t>(status.st_size) < position_)
      position_ = order_.follow ? 0 : static_cast<std::uint64_t>(status.st_size);
    for (;;) {
      const ssize_t got =
          ::pread(file_.get(), block_ + 1, log_packet_bytes_max - 1, static_cast<off_t>(position_));
      if (got < 0) return fail("'" + order_.path + "': " + strerrordesc_np(errno)), false;
      if (got == 0) return true;
      position_ += static_cast<std::uint64_t>(got);
      if (masker_ != nullptr) {
        std::string shown;
        masker_->take({block_ + 1, static_cast<std::size_t>(got)}, shown);
        if (!send_shown(shown)) return false;
        continue;
      }
      block_[0] = static_cast<char>(LogPacket::data);
      if (::send(socket_, block_, static_cast<std::size_t>(got) + 1, MSG_NOSIGNAL) < 0)
        return false;
    }
  }

  /// What is left of it when secrets are hidden, less what the command has already; in packets, as
  /// it may have become longer.
  bool send_shown(std::string_view text) {
    const std::size_t known = std::min<std::uint64_t>(skip_, text.size());
    skip_ -= known;
    text.remove_prefix(known);
    for (std::size_t size = 0; !text.empty(); text.remove_prefix(size)) {
      size = std::min(text.size(), log_packet_bytes_max - 1);
      block_[0] = static_cast<char>(LogPacket::data);
      std::memcpy(block_ + 1, text.data(), size);
      if (::send(socket_, block_, size + 1, MSG_NOSIGNAL) < 0) return false;
    }
    return true;
  }

  /// Until the file changes, the run ends or the time is over; false when rgpud has gone.
  bool wait(int timeout_ms) {
    pollfd waits[2] = {{.fd = socket_, .events = POLLIN, .revents = 0},
                       {.fd = notify_.get(), .events = POLLIN, .revents = 0}};
    ::poll(waits, 2, timeout_ms);
    if (waits[1].revents != 0)
      while (::read(notify_.get(), block_, sizeof block_) > 0) continue;
    if (waits[0].revents == 0) return true;
    char word = 0;
    const ssize_t got = ::recv(socket_, &word, 1, MSG_DONTWAIT);
    if (got == 1 && word == log_run_ended) run_ended_ = true;
    return got > 0 || (got < 0 && errno == EAGAIN);
  }

  void fail(const std::string& why) { send(LogPacket::error, why); }
  void send(LogPacket kind, const std::string& text) {
    const std::string packet = static_cast<char>(kind) + text;
    static_cast<void>(::send(socket_, packet.data(), packet.size(), MSG_NOSIGNAL));
  }

  const LogOrder& order_;
  int socket_;
  Fd file_;
  Fd notify_;
  std::uint64_t position_ = 0;
  bool run_ended_ = false;
  bool is_told_ = false;  // of every change: no need to look
  int pause_ms_ = look_again_ms;
  std::unique_ptr<Masker> masker_;
  bool is_blind_ = false;
  std::uint64_t skip_ = 0;  // of what is shown
  alignas(inotify_event) char block_[log_packet_bytes_max];
};

}  // namespace

std::uint64_t tail_offset(int file, std::int64_t lines) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return 0;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (lines <= 0) return size;
  char block[64 << 10];
  std::uint64_t end = size;
  while (end > 0) {
    const std::uint64_t start = end - std::min<std::uint64_t>(end, sizeof block);
    const ssize_t got = ::pread(file, block, end - start, static_cast<off_t>(start));
    if (got != static_cast<ssize_t>(end - start)) return start;
    for (std::uint64_t at = end; at > start; --at) {
      // The newline at the very end closes the last line; every other one stands before a line.
      if (block[at - 1 - start] != '\n' || at == size) continue;
      if (--lines == 0) return at;
    }
    end = start;
  }
  return 0;
}

void read_log(const LogOrder& order, int socket, int masks) {
  const auto reader = std::make_unique<Reader>(order, socket, masks);
  reader->run();
}

}  // namespace rota::gpud
