// gpud/launch/pmix_link.h - between the PMIx servers of a step: a connection on which nothing is
// taken that was not made with the step's secret.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

/// Both sides prove that they know the secret, each over a number that the other has drawn. After
/// that every message carries a code over its place in the order, its direction and its bytes: none
/// can be changed, left out, repeated or sent back. What is said is not hidden: it is what tasks
/// tell each other of their addresses.
class PmixLink {
 public:
  /// Longer ones are refused: what ten thousand tasks bring to a fence.
  static constexpr std::size_t message_bytes_max = 64 << 20;
  /// What may wait to be written.
  static constexpr std::size_t backlog_bytes_max = 256 << 20;

  /// The side that was called. `place_count`: callers are places 1 to that.
  static PmixLink answering(Fd socket, std::string secret, std::uint32_t place_count);
  /// The side that calls, as this place.
  static PmixLink calling(Fd socket, std::string secret, std::uint32_t place);

  int fd() const { return socket_.get(); }
  bool is_proved() const { return state_ == State::proved; }
  /// Who is at the other end, once it is proved.
  std::uint32_t place() const { return place_; }
  bool wants_to_write() const { return !out_.empty(); }

  /// Queued; leaves with the next write().
  Result<void> send(std::string_view message);
  /// Reads what is there; whole messages are then taken by next(). An error: the other side has
  /// gone, or is not who it should be, or broke the rules.
  Result<void> read();
  Result<void> write();
  std::optional<std::string> next();

 private:
  enum class State : std::uint8_t { hello, proof, proved };
  PmixLink(Fd socket, std::string secret, bool is_caller);
  Result<void> advance();
  Result<void> take_messages();
  std::string code_of(bool by_caller, std::uint64_t number, std::string_view body) const;
  std::string proof_of(bool by_caller) const;

  Fd socket_;
  std::string secret_;
  bool is_caller_;
  State state_ = State::hello;
  std::uint32_t place_ = 0;
  std::uint32_t place_count_ = 0;
  std::string own_nonce_;
  std::string other_nonce_;
  std::string key_;
  std::string in_;
  std::string out_;
  std::size_t out_begin_ = 0;  // what is before was written
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::deque<std::string> messages_;
};

}  // namespace rota::gpud
