// net/session.h - the Connection that both handshakes end in: frames sealed over a Stream.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "net/connection.h"
#include "net/handshake.h"
#include "net/refusal_log.h"
#include "net/seal.h"
#include "net/stream.h"

namespace rota::net {

enum class Role { client, server };

class Session final : public Connection {
 public:
  Session(std::shared_ptr<Stream> stream, Peer peer, const SessionKeys& keys, Role role);
  /// Dropped by its owner: what is queued still leaves, then the socket is closed.
  ~Session() override;

  const Peer& peer() const override { return peer_; }
  bool is_open() const override { return stream_->is_open(); }
  awaitable<Result<proto::Frame>> read(Duration limit) override;
  void send_frame(std::uint16_t type, std::uint32_t call, std::uint16_t flags,
                  std::string body) override;
  std::size_t backlog_bytes() const override { return stream_->backlog_bytes(); }
  awaitable<void> backlog_below(std::size_t bytes) override;
  void close(std::string_view reason) override;
  awaitable<void> close_gently(Duration limit) override;

  awaitable<Result<proto::Frame>> read_until(Deadline deadline);
  /// The next read() gives this again: the listener looked at the first frame.
  void unread(proto::Frame frame) { unread_ = std::move(frame); }
  /// From now on `log` is told when the peer breaks the protocol. Without it, only the reader is.
  void report_to(std::shared_ptr<RefusalLog> log) { log_ = std::move(log); }

 private:
  Result<std::optional<proto::Frame>> next_frame();
  Error fail(Error why);
  Error cut_short() const;

  std::shared_ptr<Stream> stream_;
  Peer peer_;
  Sealer sealer_;
  Opener opener_;
  std::uint64_t sequence_out_ = 0;
  std::uint64_t sequence_in_ = 0;
  std::optional<proto::Frame> unread_;
  std::shared_ptr<RefusalLog> log_;
};

}  // namespace rota::net
