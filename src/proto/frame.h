// proto/frame.h - the unit of the wire: a fixed header, then the sealed body.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "common/result.h"

namespace rota::proto {

/// In clear on the wire, authenticated by the seal over the body.
struct FrameHeader {
  static constexpr std::size_t size = 20;

  std::uint32_t length = 0;  // of the sealed body that follows, tag included
  std::uint16_t type = 0;    // the message's number
  std::uint16_t flags = 0;
  std::uint64_t sequence = 0;  // counts up by one per direction; part of the seal's nonce
  std::uint32_t call = 0;  // chosen by the caller, repeated in every answer; 0: no answer wanted

  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

/// Set on every answer but the last when a call has several.
inline constexpr std::uint16_t frame_more = 1;
inline constexpr std::uint16_t frame_flags_known = frame_more;
/// Bytes that the seal adds to a body.
inline constexpr std::uint32_t frame_tag_size = 16;

using FrameHeaderBytes = std::array<unsigned char, FrameHeader::size>;
FrameHeaderBytes encode_header(const FrameHeader& header);

/// Checks all that can be checked before the body is read: a type we know, a length within that
/// type's limit, flags we know, the sequence that must come next.
Result<FrameHeader> decode_header(const FrameHeaderBytes& bytes, std::uint64_t sequence_expected);

/// A frame whose seal was good.
struct Frame {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t call = 0;
  std::string body;
};

/// The largest body of a message type, without the tag; 0 for a type we do not know.
std::uint32_t body_size_max(std::uint16_t type);

}  // namespace rota::proto
