// net/stream.h - a connected socket with buffers: few large reads, few large writes.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/result.h"
#include "net/connection.h"
#include "net/wakeup.h"

namespace rota::net {

/// Bytes both ways, nothing known of frames. Reads wait on the one timer; a read that times out
/// leaves its receive standing, so nothing is lost and the next read goes on with it. Writes are
/// gathered: all that is queued in one turn of the executor leaves in one system call.
///
/// It keeps itself alive while an operation is under way. Whoever uses it ends it: end(),
/// end_gently().
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  explicit Stream(boost::asio::ip::tcp::socket socket);

  /// What has come and was not consumed. Stays valid until the next receive().
  std::span<unsigned char> received();
  void consume(std::size_t bytes);
  /// At least one more byte; or timed_out, or the reason why the stream has ended. One at a time.
  awaitable<Result<void>> receive(Deadline deadline);

  /// Where the next `bytes` are to be appended; queued() then says that they are there.
  std::string& tail(std::size_t bytes);
  void queued(std::size_t bytes);
  void send(std::string_view bytes);
  std::size_t backlog_bytes() const { return ended_ ? 0 : backlog_bytes_; }
  /// Back when fewer than `bytes` are queued, or the stream has ended.
  awaitable<void> backlog_below(std::size_t bytes);

  /// Can still be used: not ended, not ending.
  bool is_open() const { return !ended_ && !ending_; }
  /// Why it is not open. Only to be asked then.
  const Error& reason() const { return *reason_; }
  /// Closes at once, what is queued and what was received is dropped. The first reason stays.
  void end(Error reason);
  /// Sends what is queued, then says goodbye and swallows what still comes until the peer has
  /// closed too: a socket that is closed on unread bytes would take back what was just sent. At
  /// most `limit`.
  void end_gently(Error reason, Duration limit);
  /// Back when all that was queued has been handed to the kernel, or the stream has ended.
  awaitable<void> written();
  /// Back when the socket is closed.
  awaitable<void> ended();

  /// Kept until the socket is closed: whoever counts sockets counts these.
  void hold(std::shared_ptr<void> token) { token_ = std::move(token); }
  void keep_alive();

 private:
  void start_receive();
  void make_room();
  void on_received(boost::system::error_code error, std::size_t bytes);
  void start_write();
  void on_written(boost::system::error_code error);
  void say_goodbye();
  void close();

  static constexpr std::size_t room_min = 4 << 10;
  static constexpr std::size_t room_max = 256 << 10;
  static constexpr std::size_t chunk_size = 1 << 20;

  boost::asio::ip::tcp::socket socket_;
  std::shared_ptr<void> token_;

  std::unique_ptr<unsigned char[]> in_;
  std::size_t in_size_ = 0;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  std::size_t room_wanted_ = room_min;  // grows with a peer that fills it, and shrinks again
  bool receiving_ = false;
  Wakeup wakeup_;

  std::deque<std::string> chunks_;
  std::string writing_;
  bool write_scheduled_ = false;  // posted or under way
  std::size_t backlog_bytes_ = 0;
  boost::asio::steady_timer changed_;  // never expires: cancelled to wake those who watch

  bool ending_ = false;
  bool ended_ = false;
  std::optional<Error> reason_;
  std::unique_ptr<boost::asio::steady_timer> goodbye_;
};

}  // namespace rota::net
