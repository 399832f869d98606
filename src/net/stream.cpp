// net/stream.cpp - the receive and write loops, and the three ways in which a stream ends.
#include "net/stream.h"

#include <fcntl.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <bit>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

#include "common/assert.h"
#include "common/format.h"

namespace rota::net {
namespace asio = boost::asio;
using asio::ip::tcp;

Stream::Stream(tcp::socket socket)
    : socket_(std::move(socket)),
      wakeup_(socket_.get_executor()),
      changed_(socket_.get_executor(), asio::steady_timer::time_point::max()) {
  // A failure here means that the peer is gone already, which the first read will tell.
  boost::system::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  // Jobs must not inherit it: the peer would see the session live on after us.
  fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
}

void Stream::keep_alive() {
  const int fd = socket_.native_handle();
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

// ---- in ----

std::span<unsigned char> Stream::received() { return {in_.get() + in_begin_, in_end_ - in_begin_}; }

void Stream::consume(std::size_t bytes) {
  ROTA_ASSERT(bytes <= in_end_ - in_begin_);
  in_begin_ += bytes;
}

awaitable<Result<void>> Stream::receive(Deadline deadline) {
  const auto self = shared_from_this();
  if (!is_open()) co_return reason();
  const std::size_t before = in_end_ - in_begin_;
  if (!receiving_) start_receive();
  for (;;) {
    const bool woken = co_await wakeup_.wait(deadline);
    if (in_end_ - in_begin_ > before) co_return Result<void>();
    if (!is_open()) co_return reason();
    // A wake-up without news is one that an earlier reader left behind.
    if (!woken) co_return Error{Errc::timed_out, "nothing came in time"};
  }
}

/// Free space at the end for the next receive. Not while one is under way: it writes there. The
/// space grows with what has really come, never with what a header promises.
void Stream::make_room() {
  const std::size_t kept = in_end_ - in_begin_;
  const std::size_t wanted = std::max(room_wanted_, std::bit_ceil(kept * 2));
  if (in_size_ < wanted || in_size_ > wanted * 4 || (kept == 0 && in_size_ != wanted)) {
    auto fresh = std::make_unique_for_overwrite<unsigned char[]>(wanted);
    if (kept != 0) std::memcpy(fresh.get(), in_.get() + in_begin_, kept);
    in_ = std::move(fresh);
    in_size_ = wanted;
  } else if (in_begin_ != 0 && kept != 0) {
    std::memmove(in_.get(), in_.get() + in_begin_, kept);
  }
  in_begin_ = 0;
  in_end_ = kept;
}

void Stream::start_receive() {
  make_room();
  receiving_ = true;
  socket_.async_read_some(
      asio::buffer(in_.get() + in_end_, in_size_ - in_end_),
      [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
        self->on_received(error, bytes);
      });
}

void Stream::on_received(boost::system::error_code error, std::size_t bytes) {
  receiving_ = false;
  if (ended_) return;
  if (ending_) {
    if (error) return close();
    in_begin_ = in_end_ = 0;
    return start_receive();
  }
  if (error) {
    // What came before is still to be read: the buffer stays.
    if (error == asio::error::eof)
      reason_ = Error{Errc::peer_lost, "the peer closed the connection"};
    else
      reason_ = Error{Errc::peer_lost, error.message()};
    return close();
  }
  const std::size_t room = in_size_ - in_end_;
  if (bytes == room)
    room_wanted_ = std::min(room_wanted_ * 4, room_max);
  else if (bytes < room / 8)
    room_wanted_ = std::max(room_wanted_ / 2, room_min);
  in_end_ += bytes;
  wakeup_.notify();
}

// ---- out ----

std::string& Stream::tail(std::size_t bytes) {
  const bool full =
      !chunks_.empty() && !chunks_.back().empty() && chunks_.back().size() + bytes > chunk_size;
  if (chunks_.empty() || full) chunks_.emplace_back();
  if (bytes > chunk_size) chunks_.back().reserve(bytes);
  return chunks_.back();
}

void Stream::queued(std::size_t bytes) {
  backlog_bytes_ += bytes;
  if (write_scheduled_) return;
  write_scheduled_ = true;
  // Not at once: what the caller sends in the same turn goes into the same write.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->start_write(); });
}

void Stream::send(std::string_view bytes) {
  if (!is_open()) return;
  tail(bytes.size()).append(bytes);
  queued(bytes.size());
}

void Stream::start_write() {
  if (ended_ || chunks_.empty()) {
    write_scheduled_ = false;
    return;
  }
  writing_ = std::move(chunks_.front());
  chunks_.pop_front();
  asio::async_write(socket_, asio::buffer(writing_),
                    [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                      self->on_written(error);
                    });
}

void Stream::on_written(boost::system::error_code error) {
  write_scheduled_ = false;
  if (ended_) return;
  if (error) {
    if (!reason_) reason_ = Error{Errc::peer_lost, error.message()};
    return close();
  }
  backlog_bytes_ -= writing_.size();
  writing_.clear();
  // A small buffer serves again; a large one is not worth keeping for an idle session.
  if (writing_.capacity() > room_min)
    writing_ = std::string();
  else if (chunks_.empty())
    chunks_.push_back(std::move(writing_));
  changed_.cancel();
  if (backlog_bytes_ > 0) {
    write_scheduled_ = true;
    start_write();
  } else if (ending_) {
    say_goodbye();
  }
}

awaitable<void> Stream::backlog_below(std::size_t bytes) {
  const auto self = shared_from_this();
  while (!ended_ && backlog_bytes_ >= bytes && backlog_bytes_ != 0)
    co_await changed_.async_wait(no_throw);
}

awaitable<void> Stream::written() {
  const auto self = shared_from_this();
  while (!ended_ && backlog_bytes_ != 0) co_await changed_.async_wait(no_throw);
}

// ---- the end ----

void Stream::end(Error reason) {
  if (ended_) return;
  if (!reason_) reason_ = std::move(reason);
  in_begin_ = in_end_ = 0;
  close();
}

void Stream::end_gently(Error reason, Duration limit) {
  if (!is_open()) return;
  reason_ = std::move(reason);
  ending_ = true;
  in_begin_ = in_end_;
  goodbye_ = std::make_unique<asio::steady_timer>(socket_.get_executor(), deadline_after(limit));
  goodbye_->async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled) self->close();
  });
  wakeup_.notify();
  if (backlog_bytes_ == 0) say_goodbye();
}

void Stream::say_goodbye() {
  boost::system::error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (error) return close();
  changed_.cancel();
  if (!receiving_) start_receive();
}

void Stream::close() {
  if (ended_) return;
  ROTA_ASSERT(reason_.has_value());
  ended_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  chunks_.clear();
  token_.reset();
  goodbye_.reset();
  changed_.cancel();
  wakeup_.notify();
}

awaitable<void> Stream::ended() {
  const auto self = shared_from_this();
  while (!ended_) co_await changed_.async_wait(no_throw);
}

}  // namespace rota::net
