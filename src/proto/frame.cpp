// proto/frame.cpp - the header's bytes, and what may be refused before a body is read.
#include "proto/frame.h"

#include <cstring>

#include "common/format.h"
#include "proto/messages.h"

namespace rota::proto {
namespace {

template <class Number>
unsigned char* put(unsigned char* at, Number number) {
  std::memcpy(at, &number, sizeof number);
  return at + sizeof number;
}
template <class Number>
const unsigned char* get(const unsigned char* at, Number& number) {
  std::memcpy(&number, at, sizeof number);
  return at + sizeof number;
}

template <class... Messages>
constexpr std::uint32_t size_max_of(std::uint16_t type, std::tuple<Messages...>*) {
  std::uint32_t size = 0;
  ((type == Messages::number ? size = Messages::size_max : 0), ...);
  return size;
}

}  // namespace

std::uint32_t body_size_max(std::uint16_t type) {
  return size_max_of(type, static_cast<AllMessages*>(nullptr));
}

FrameHeaderBytes encode_header(const FrameHeader& header) {
  FrameHeaderBytes bytes;
  unsigned char* at = bytes.data();
  at = put(at, header.length);
  at = put(at, header.type);
  at = put(at, header.flags);
  at = put(at, header.sequence);
  put(at, header.call);
  return bytes;
}

Result<FrameHeader> decode_header(const FrameHeaderBytes& bytes, std::uint64_t sequence_expected) {
  FrameHeader header;
  const unsigned char* at = bytes.data();
  at = get(at, header.length);
  at = get(at, header.type);
  at = get(at, header.flags);
  at = get(at, header.sequence);
  get(at, header.call);
  const std::uint32_t body_max = body_size_max(header.type);
  if (body_max == 0) return Error{Errc::malformed, format("unknown message type {}", header.type)};
  if ((header.flags & ~frame_flags_known) != 0)
    return Error{Errc::malformed, format("unknown flags {:#x}", header.flags)};
  if (header.length < frame_tag_size)
    return Error{Errc::malformed,
                 format("frame of {} bytes is shorter than its seal", header.length)};
  if (header.length - frame_tag_size > body_max)
    return Error{Errc::frame_too_long,
                 format("{} bytes of type {}, at most {} are allowed",
                        header.length - frame_tag_size, header.type, body_max)};
  if (header.sequence != sequence_expected)
    return Error{Errc::frame_forged, format("frame {} came where {} was due: repeated or lost",
                                            header.sequence, sequence_expected)};
  return header;
}

}  // namespace rota::proto
