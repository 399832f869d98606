// net/connection.cpp - sealing, opening and the rules whose breach ends a session.
#include <cstring>

#include "common/assert.h"
#include "common/format.h"
#include "common/log.h"
#include "net/session.h"

namespace rota::net {
namespace {

static_assert(proto::frame_tag_size == seal_tag_size);

/// For a peer that reads slowly what its owner no longer waits for.
constexpr Duration farewell_limit = std::chrono::seconds(30);

unsigned char* bytes_of(std::string& text, std::size_t at) {
  return reinterpret_cast<unsigned char*>(text.data()) + at;
}

}  // namespace

Session::Session(std::shared_ptr<Stream> stream, Peer peer, const SessionKeys& keys, Role role)
    : stream_(std::move(stream)),
      peer_(std::move(peer)),
      sealer_(role == Role::client ? keys.client_to_server : keys.server_to_client),
      opener_(role == Role::client ? keys.server_to_client : keys.client_to_server) {
  stream_->keep_alive();
}

Session::~Session() {
  if (!stream_->is_open()) return;  // one that is ending gently does so without us
  const Error dropped{Errc::peer_lost, "the session was dropped here"};
  if (stream_->backlog_bytes() > 0)
    stream_->end_gently(dropped, farewell_limit);
  else
    stream_->end(dropped);
}

/// Ends the session for what the peer did; says so in the log.
Error Session::fail(Error why) {
  if (log_ != nullptr) log_->refused(format("{} (uid {})", peer_.address, peer_.uid), why);
  stream_->end(why);
  return why;
}

/// The frame at the head of what has come, if it is there as a whole.
Result<std::optional<proto::Frame>> Session::next_frame() {
  const std::span<unsigned char> bytes = stream_->received();
  if (bytes.size() < proto::FrameHeader::size) return std::optional<proto::Frame>();
  proto::FrameHeaderBytes head;
  std::memcpy(head.data(), bytes.data(), head.size());
  ROTA_TRY(const auto header, proto::decode_header(head, sequence_in_));
  const std::size_t size = head.size() + header.length;
  if (bytes.size() < size) return std::optional<proto::Frame>();

  const auto body = bytes.subspan(head.size(), header.length - seal_tag_size);
  const std::span<const unsigned char, seal_tag_size> tag(bytes.data() + size - seal_tag_size,
                                                          seal_tag_size);
  if (!opener_.open(header.sequence, head, body, tag))
    return Error{Errc::frame_forged,
                 format("frame {} of type {}: its seal is broken", header.sequence, header.type)};
  ++sequence_in_;
  proto::Frame frame;
  frame.type = header.type;
  frame.flags = header.flags;
  frame.call = header.call;
  frame.body.assign(reinterpret_cast<const char*>(body.data()), body.size());
  stream_->consume(size);
  return std::optional<proto::Frame>(std::move(frame));
}

Error Session::cut_short() const {
  return Error{Errc::malformed, format("the connection ended within frame {}: {} bytes of it came",
                                       sequence_in_, stream_->received().size())};
}

awaitable<Result<proto::Frame>> Session::read(Duration limit) {
  return read_until(deadline_after(limit));
}

awaitable<Result<proto::Frame>> Session::read_until(Deadline deadline) {
  const auto self = shared_from_this();
  if (unread_) {
    proto::Frame first = *std::move(unread_);
    unread_.reset();
    co_return first;
  }
  for (;;) {
    auto frame = next_frame();
    if (!frame) co_return fail(std::move(frame).error());
    if (*frame) co_return **std::move(frame);
    auto more = co_await stream_->receive(deadline);
    if (more) continue;
    if (!stream_->is_open() && !stream_->received().empty()) {
      const Error why = cut_short();
      stream_->consume(stream_->received().size());
      co_return fail(why);
    }
    co_return std::move(more).error();
  }
}

void Session::send_frame(std::uint16_t type, std::uint32_t call, std::uint16_t flags,
                         std::string body) {
  const std::uint32_t body_max = proto::body_size_max(type);
  ROTA_ASSERT(body_max != 0 && (flags & ~proto::frame_flags_known) == 0);
  if (!stream_->is_open()) return;
  if (body.size() > body_max) {
    // Our own doing, but one session's: the peer would refuse it, and the others must not suffer.
    const Error why{Errc::frame_too_long, format("{} bytes of type {} were to be sent, at most {} "
                                                 "are allowed",
                                                 body.size(), type, body_max)};
    log::error("session with {} (uid {}) ended: {}", peer_.address, peer_.uid, why.message());
    return stream_->end(why);
  }
  const std::size_t size = proto::FrameHeader::size + body.size() + seal_tag_size;
  if (stream_->backlog_bytes() + size > backlog_bytes_max) {
    fail(Error{Errc::too_large, format("{} bytes wait for this peer, which does not read them; at "
                                       "most {} may",
                                       stream_->backlog_bytes(), backlog_bytes_max)});
    return;
  }

  proto::FrameHeader header;
  header.length = static_cast<std::uint32_t>(body.size() + seal_tag_size);
  header.type = type;
  header.flags = flags;
  header.sequence = sequence_out_++;
  header.call = call;
  const proto::FrameHeaderBytes head = proto::encode_header(header);
  std::string& out = stream_->tail(size);
  const std::size_t start = out.size();
  out.append(reinterpret_cast<const char*>(head.data()), head.size());
  out.append(body);
  out.append(seal_tag_size, '\0');
  const std::span<unsigned char> sealed(bytes_of(out, start + head.size()), body.size());
  const std::span<unsigned char, seal_tag_size> tag(bytes_of(out, out.size() - seal_tag_size),
                                                    seal_tag_size);
  sealer_.seal(header.sequence, head, sealed, tag);
  stream_->queued(size);
}

awaitable<void> Session::backlog_below(std::size_t bytes) { return stream_->backlog_below(bytes); }

void Session::close(std::string_view reason) {
  if (!is_open()) return;
  log::debug("session with {} (uid {}) closed: {}", peer_.address, peer_.uid, reason);
  stream_->end(Error{Errc::peer_lost, format("closed here: {}", reason)});
}

awaitable<void> Session::close_gently(Duration limit) {
  const auto stream = stream_;
  stream->end_gently(Error{Errc::peer_lost, "closed here"}, limit);
  co_await stream->written();
}

}  // namespace rota::net
