// net/connection.h - one sealed session: frames in, frames out, over a connected socket.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"
#include "proto/codec.h"
#include "proto/frame.h"

// g++ 12 sees that Asio allocates a coroutine's frame with aligned_alloc, and not that the matching
// operator delete frees it with free.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace rota::net {

template <class T>
using awaitable = boost::asio::awaitable<T>;

/// Who is at the other end, by MUNGE's word.
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string address;  // "127.0.0.1:40312", for the log
};

/// A session whose handshake is done. All calls from the executor's thread. It keeps itself alive
/// while frames are under way; close() (or an error) ends it, and read() then says why.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;

  virtual const Peer& peer() const = 0;
  virtual bool is_open() const = 0;

  /// The next frame whose seal is good. Errors: timed_out after `limit` (the session stays open);
  /// peer_lost, frame_forged, frame_too_long, malformed end the session. One reader at a time.
  virtual awaitable<Result<proto::Frame>> read(Duration limit) = 0;

  /// Queues a frame; frames leave in this order. Dropped in silence once the session has ended. A
  /// peer that lets more than `backlog_bytes_max` pile up is cut off.
  virtual void send_frame(std::uint16_t type, std::uint32_t call, std::uint16_t flags,
                          std::string body) = 0;

  virtual std::size_t backlog_bytes() const = 0;
  /// Comes back when fewer than `bytes` wait to be written, or the session has ended.
  virtual awaitable<void> backlog_below(std::size_t bytes) = 0;

  /// Ends the session at once; what is queued is dropped. `reason` is logged at debug level.
  virtual void close(std::string_view reason) = 0;
  /// Ends it after what is queued has been written, or after `limit`.
  virtual awaitable<void> close_gently(Duration limit) = 0;

  template <class Message>
  void send(const Message& message, std::uint32_t call = 0, std::uint16_t flags = 0) {
    send_frame(Message::number, call, flags, proto::encode(message));
  }

  static constexpr std::size_t backlog_bytes_max = 256u << 20;
};

}  // namespace rota::net
