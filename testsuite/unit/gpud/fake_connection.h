// testsuite/unit/gpud/fake_connection.h - a session without a wire: frames in, frames out, as a
// test wishes.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/connection.h"
#include "net/wakeup.h"
#include "proto/messages.h"

namespace rota::net {

class FakeConnection final : public Connection {
 public:
  FakeConnection(const boost::asio::any_io_executor& executor, std::uint32_t uid)
      : arrived_(executor), room_(executor) {
    peer_.uid = uid;
    peer_.address = "fake:1";
  }

  const Peer& peer() const override { return peer_; }
  bool is_open() const override { return open_; }

  awaitable<Result<proto::Frame>> read(Duration limit) override {
    const Deadline deadline = deadline_after(limit);
    while (open_ && inbox_.empty())
      if (!co_await arrived_.wait(deadline)) co_return Error{Errc::timed_out, "no frame"};
    if (!open_) co_return Error{Errc::peer_lost, "fake: closed"};
    proto::Frame frame = std::move(inbox_.front());
    inbox_.pop_front();
    co_return frame;
  }

  void send_frame(std::uint16_t type, std::uint32_t call, std::uint16_t flags,
                  std::string body) override {
    if (!open_) return;
    if (is_slow) backlog_ += body.size();
    sent.push_back({type, flags, call, std::move(body)});
  }
  std::size_t backlog_bytes() const override { return backlog_; }
  awaitable<void> backlog_below(std::size_t bytes) override {
    const Deadline never = deadline_after(Duration::max());
    while (open_ && backlog_ >= bytes) co_await room_.wait(never);
  }
  void close(std::string_view) override {
    open_ = false;
    arrived_.notify();
    room_.notify();
  }
  awaitable<void> close_gently(Duration) override {
    close("");
    co_return;
  }

  /// The peer sends this.
  template <class Message>
  void arrive(const Message& message, std::uint32_t call = 0) {
    inbox_.push_back({Message::number, 0, call, proto::encode(message)});
    arrived_.notify();
  }
  /// A slow peer takes what has piled up.
  void take_backlog() {
    backlog_ = 0;
    room_.notify();
  }
  template <class Message>
  std::vector<Message> sent_of() const {
    std::vector<Message> messages;
    for (const proto::Frame& frame : sent)
      if (frame.type == Message::number) messages.push_back(*proto::decode<Message>(frame.body));
    return messages;
  }

  std::vector<proto::Frame> sent;
  bool is_slow = false;

 private:
  Peer peer_;
  bool open_ = true;
  std::size_t backlog_ = 0;
  std::deque<proto::Frame> inbox_;
  Wakeup arrived_;
  Wakeup room_;
};

}  // namespace rota::net
