// gpud/launch/pmix_link.cpp - nonces, proofs, codes, lengths.
#include "gpud/launch/pmix_link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/format.h"
#include "net/seal.h"

namespace rota::gpud {
namespace {

constexpr std::size_t nonce_bytes = 16;
constexpr std::size_t code_bytes = 32;
constexpr std::size_t length_bytes = 4;

std::string number_text(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::uint64_t number_from(std::string_view text) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return number;
}

}  // namespace

PmixLink::PmixLink(Fd socket, std::string secret, bool is_caller)
    : socket_(std::move(socket)),
      secret_(std::move(secret)),
      is_caller_(is_caller),
      own_nonce_(net::random_bytes(nonce_bytes)) {}

PmixLink PmixLink::answering(Fd socket, std::string secret, std::uint32_t place_count) {
  PmixLink link(std::move(socket), std::move(secret), false);
  link.place_count_ = place_count;
  link.out_ = link.own_nonce_;
  return link;
}

PmixLink PmixLink::calling(Fd socket, std::string secret, std::uint32_t place) {
  PmixLink link(std::move(socket), std::move(secret), true);
  link.place_ = place;
  return link;
}

/// Of who calls and of who is called: neither can be shown back to its maker.
std::string PmixLink::proof_of(bool by_caller) const {
  const std::string& caller = is_caller_ ? own_nonce_ : other_nonce_;
  const std::string& called = is_caller_ ? other_nonce_ : own_nonce_;
  return net::hmac_sha256(secret_, (by_caller ? "rota pmix caller" : "rota pmix called") + caller +
                                       called + number_text(place_, 4));
}

std::string PmixLink::code_of(bool by_caller, std::uint64_t number, std::string_view body) const {
  std::string text = (by_caller ? "c" : "s") + number_text(number, 8);
  text += body;
  return net::hmac_sha256(key_, text);
}

Result<void> PmixLink::send(std::string_view message) {
  if (message.size() > message_bytes_max)
    return Error{Errc::too_large, format("{} bytes for one message", message.size())};
  if (out_.size() + message.size() > backlog_bytes_max)
    return Error{Errc::too_large, "it does not read what it is sent"};
  out_ += number_text(message.size(), length_bytes);
  out_ += code_of(is_caller_, sent_++, message);
  out_ += message;
  return {};
}

Result<void> PmixLink::write() {
  while (out_begin_ < out_.size()) {
    const ssize_t size = ::send(fd(), out_.data() + out_begin_, out_.size() - out_begin_,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (size < 0) return Error{Errc::peer_lost, std::strerror(errno)};
    out_begin_ += static_cast<std::size_t>(size);
  }
  out_.clear();
  out_begin_ = 0;
  return {};
}

Result<void> PmixLink::read() {
  // A stranger sends no more than the proof; who is known one message at a time.
  const std::size_t room =
      is_proved() ? length_bytes + code_bytes + message_bytes_max : nonce_bytes + 4 + code_bytes;
  char block[64 << 10];
  const ssize_t size =
      ::recv(fd(), block, std::min(sizeof block, room - std::min(room, in_.size())), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (size <= 0) return Error{Errc::peer_lost, size == 0 ? "it has gone" : std::strerror(errno)};
  in_.append(block, static_cast<std::size_t>(size));
  return advance();
}

Result<void> PmixLink::advance() {
  const Error stranger{Errc::denied, "it does not know the step's secret"};
  if (state_ == State::hello && is_caller_) {
    if (in_.size() < nonce_bytes) return {};
    other_nonce_ = in_.substr(0, nonce_bytes);
    in_.erase(0, nonce_bytes);
    out_ += own_nonce_ + number_text(place_, 4) + proof_of(true);
    state_ = State::proof;
  }
  if (state_ == State::hello) {
    if (in_.size() < nonce_bytes + 4 + code_bytes) return {};
    other_nonce_ = in_.substr(0, nonce_bytes);
    place_ = static_cast<std::uint32_t>(number_from(in_.substr(nonce_bytes, 4)));
    const std::string proof = in_.substr(nonce_bytes + 4, code_bytes);
    if (!net::same_secret(proof, proof_of(true)) || place_ == 0 || place_ >= place_count_)
      return stranger;
    in_.erase(0, nonce_bytes + 4 + code_bytes);
    out_ += proof_of(false);
    state_ = State::proved;
  }
  if (state_ == State::proof) {
    if (in_.size() < code_bytes) return {};
    if (!net::same_secret(in_.substr(0, code_bytes), proof_of(false))) return stranger;
    in_.erase(0, code_bytes);
    state_ = State::proved;
  }
  if (key_.empty())
    key_ = net::hmac_sha256(secret_, "rota pmix key" + proof_of(true) + proof_of(false));
  return take_messages();
}

Result<void> PmixLink::take_messages() {
  while (in_.size() >= length_bytes) {
    const std::size_t size = number_from(in_.substr(0, length_bytes));
    if (size > message_bytes_max) return Error{Errc::malformed, "a message is too long"};
    const std::size_t whole = length_bytes + code_bytes + size;
    if (in_.size() < whole) return {};
    std::string body = in_.substr(length_bytes + code_bytes, size);
    if (!net::same_secret(in_.substr(length_bytes, code_bytes),
                          code_of(!is_caller_, received_++, body)))
      return Error{Errc::frame_forged, "a message was changed on its way"};
    in_.erase(0, whole);
    messages_.push_back(std::move(body));
  }
  return {};
}

std::optional<std::string> PmixLink::next() {
  if (messages_.empty()) return std::nullopt;
  std::string message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace rota::gpud
