// proto/pmix_words.h - what rrun and the PMIx server of one node of a step say to each other. It
// travels as input and output of that process, inside the sealed session with the node's rgpud;
// each record with its length (4 bytes, the lowest first) before it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "proto/codec.h"
#include "proto/messages_node.h"

namespace rota::proto {

/// The server itself, on a node of a step.
inline constexpr ExecKind exec_pmix = static_cast<ExecKind>(7);

/// rrun -> server: once, when all servers have said hello.
struct PmixOrder {
  std::string nspace;                // names the step
  std::vector<std::string> nodes;    // of the step
  std::vector<std::uint32_t> tasks;  // on each of them
  std::uint32_t place = 0;           // of this node among them
  std::string meeting;               // host:port of the first node's server: the others call there
  std::string secret;                // of this step, known to its servers only
  friend bool operator==(const PmixOrder&, const PmixOrder&) = default;
  static auto fields(auto& m) {
    return std::tie(m.nspace, m.nodes, m.tasks, m.place, m.meeting, m.secret);
  }
};
inline constexpr std::size_t pmix_secret_bytes = 32;

/// Of one task.
struct PmixTask {
  std::vector<std::string> variables;
  friend bool operator==(const PmixTask&, const PmixTask&) = default;
  static auto fields(auto& m) { return std::tie(m.variables); }
};

/// server -> rrun.
struct PmixNews {
  enum class Kind : std::uint8_t {
    hello = 1,    // port
    ready = 2,    // tasks: those of this node, in their order
    aborted = 3,  // status, text: a task wants the step to end
    failed = 4,   // text: it cannot serve, or not any more
  };
  Kind kind = Kind::hello;
  std::uint16_t port = 0;
  std::vector<PmixTask> tasks;
  std::int32_t status = 0;
  std::string text;
  friend bool operator==(const PmixNews&, const PmixNews&) = default;
  static auto fields(auto& m) { return std::tie(m.kind, m.port, m.tasks, m.status, m.text); }
};
inline constexpr std::size_t pmix_record_bytes_max = 16 << 20;

/// The record with its length before it.
template <class Record>
std::string pmix_pack(const Record& record) {
  const std::string body = encode(record);
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(body.size() >> shift);
  return text + body;
}

/// Takes the first whole record's bytes off the front of `buffer`; none when there is none yet. An
/// error when its length is nothing that anybody of ours sends.
inline Result<std::optional<std::string>> pmix_unpack(std::string& buffer) {
  if (buffer.size() < 4) return std::optional<std::string>();
  std::size_t size = 0;
  for (int i = 0; i < 4; ++i)
    size |=
        static_cast<std::size_t>(static_cast<unsigned char>(buffer[static_cast<std::size_t>(i)]))
        << (8 * i);
  if (size > pmix_record_bytes_max) return Error{Errc::malformed, "a PMIx record is too long"};
  if (buffer.size() < 4 + size) return std::optional<std::string>();
  std::optional<std::string> body = buffer.substr(4, size);
  buffer.erase(0, 4 + size);
  return body;
}

}  // namespace rota::proto
