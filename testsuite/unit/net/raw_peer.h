// testsuite/unit/net/raw_peer.h - a peer that can break every rule of the wire.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "munged.h"
#include "net/handshake.h"
#include "net/munge.h"
#include "proto/codec.h"
#include "proto/frame.h"
#include "proto/messages.h"

namespace rota::net {

class RawPeer {
 public:
  explicit RawPeer(std::uint16_t port) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("RawPeer: connect");
    sockaddr_in own{};
    socklen_t size = sizeof own;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size);
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  }
  ~RawPeer() { hang_up(); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  /// As the listener's log will call it.
  const std::string& address() const { return address_; }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // refused meanwhile, as is the purpose of most who use this
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// `size` bytes, or fewer if the other side closes first.
  std::string receive(std::size_t size) {
    std::string bytes;
    while (bytes.size() < size) {
      char piece[4096];
      pollfd wait{fd_, POLLIN, 0};
      if (poll(&wait, 1, 20'000) != 1) throw std::runtime_error("RawPeer: nothing came");
      const ssize_t got = recv(fd_, piece, std::min(sizeof piece, size - bytes.size()), 0);
      if (got <= 0) break;
      bytes.append(piece, static_cast<std::size_t>(got));
    }
    return bytes;
  }
  /// True once the other side has closed; what it still sent is thrown away.
  bool was_hung_up_on() {
    receive(SIZE_MAX);
    return true;
  }
  void hang_up() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  /// The client's first message, with a credential made here and now.
  std::string hello(const Munged& munged, std::chrono::seconds lifetime = credential_lifetime) {
    secret_ = make_client_secret();
    auto credential = munge_encode(munged.socket(), proto::encode(secret_), geteuid(), lifetime);
    if (!credential) throw std::runtime_error(credential.error().message());
    return encode_hello(*credential);
  }
  Answer answer() {
    std::string bytes;
    for (;;) {
      auto answer = decode_answer(bytes);
      if (!answer) throw std::runtime_error(answer.error().message());
      if (*answer) return **answer;
      const std::string next = receive(1);
      if (next.empty()) throw std::runtime_error("RawPeer: closed instead of an answer");
      bytes += next;
    }
  }
  /// "refused: TEXT", "welcome" or "closed".
  std::string answer_text() {
    try {
      const Answer said = answer();
      return said.status == AnswerStatus::welcome ? "welcome" : "refused: " + said.refusal.text;
    } catch (const std::runtime_error&) {
      return "closed";
    }
  }
  /// The whole handshake, as a good client does it.
  void shake_hands(const Munged& munged) {
    send(hello(munged));
    const Answer said = answer();
    auto read = munge_decode(munged.socket(), said.credential);
    if (!read) throw std::runtime_error(read.error().message());
    auto server = decode_server_secret(read->payload, secret_);
    if (!server) throw std::runtime_error(server.error().message());
    keys_ = derive_keys(secret_, *server);
    sealer_.emplace(keys_.client_to_server);
  }

  /// The bytes of our next frame.
  std::string sealed(std::uint16_t type, std::string body) {
    proto::FrameHeader header;
    header.length = static_cast<std::uint32_t>(body.size() + seal_tag_size);
    header.type = type;
    header.sequence = sequence_;
    header.call = 1;
    const auto head = proto::encode_header(header);
    std::array<unsigned char, seal_tag_size> tag;
    sealer_->seal(sequence_++, head, {reinterpret_cast<unsigned char*>(body.data()), body.size()},
                  tag);
    return std::string(head.begin(), head.end()) + body + std::string(tag.begin(), tag.end());
  }
  std::string sealed_ping(std::uint64_t token) {
    proto::PingRequest ping;
    ping.token = token;
    return sealed(proto::PingRequest::number, proto::encode(ping));
  }
  /// Throws the next frame away, so that one can wait for an answer.
  void skip_frame() {
    const std::string head = receive(proto::FrameHeader::size);
    if (head.size() < proto::FrameHeader::size) return;
    std::uint32_t length = 0;
    std::memcpy(&length, head.data(), sizeof length);
    receive(length);
  }

 private:
  int fd_ = -1;
  std::string address_;
  ClientSecret secret_;
  SessionKeys keys_;
  std::optional<Sealer> sealer_;
  std::uint64_t sequence_ = 0;
};

}  // namespace rota::net
