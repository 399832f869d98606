// testsuite/unit/proto/frame_test.cpp - the header's bytes, and what it may not say.
#include "proto/frame.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "proto/messages.h"
#include "walk.h"

namespace rota::proto {
namespace {

FrameHeader ping_header() {
  FrameHeader header;
  header.length = 28;
  header.type = PingRequest::number;
  header.flags = frame_more;
  header.sequence = 0x0102030405060708;
  header.call = 0x0a0b0c0d;
  return header;
}

std::string bytes_of(const FrameHeader& header) {
  const FrameHeaderBytes bytes = encode_header(header);
  return to_hex(std::string(bytes.begin(), bytes.end()));
}

std::string verdict(const FrameHeader& header, std::uint64_t expected) {
  const auto read = decode_header(encode_header(header), expected);
  if (!read) return read.error().message();
  return *read == header ? "good" : "altered";
}

TEST(FrameHeader, IsTwentyBytes) {
  EXPECT_EQ(bytes_of(ping_header()),
            "1c000000"          // length
            "0200"              // type
            "0100"              // flags
            "0807060504030201"  // sequence
            "0d0c0b0a");        // call
  EXPECT_EQ(verdict(ping_header(), 0x0102030405060708), "good");
}

TEST(FrameHeader, RefusesAnotherSequence) {
  FrameHeader header = ping_header();
  header.sequence = 5;
  EXPECT_EQ(verdict(header, 5), "good");
  EXPECT_EQ(verdict(header, 4),
            "frame failed authentication: frame 5 came where 4 was due: repeated or lost");
  EXPECT_EQ(verdict(header, 6),
            "frame failed authentication: frame 5 came where 6 was due: repeated or lost");
}

TEST(FrameHeader, RefusesTypesAndFlagsThatNobodyKnows) {
  FrameHeader header = ping_header();
  header.sequence = 0;
  for (const std::uint16_t type : {0, 99, 400, 65535}) {
    header.type = type;
    EXPECT_EQ(verdict(header, 0), format("malformed message: unknown message type {}", type));
  }
  header = ping_header();
  header.sequence = 0;
  header.flags = 2;
  EXPECT_EQ(verdict(header, 0), "malformed message: unknown flags 0x2");
  header.flags = 0x8001;
  EXPECT_EQ(verdict(header, 0), "malformed message: unknown flags 0x8001");
}

TEST(FrameHeader, RefusesEveryTypeBeyondItsOwnLimit) {
  for_every_message([](const auto& message) {
    using Message = std::remove_cvref_t<decltype(message)>;
    FrameHeader header;
    header.type = Message::number;
    header.length = Message::size_max + frame_tag_size;
    EXPECT_EQ(verdict(header, 0), "good") << name_of_type<Message>();
    ++header.length;
    EXPECT_EQ(verdict(header, 0),
              format("frame too long: {} bytes of type {}, at most {} are allowed",
                     Message::size_max + 1, Message::number, Message::size_max))
        << name_of_type<Message>();
    header.length = UINT32_MAX;
    EXPECT_NE(verdict(header, 0), "good") << name_of_type<Message>();
  });
}

TEST(FrameHeader, RefusesABodyWithoutRoomForItsSeal) {
  FrameHeader header;
  header.type = PingRequest::number;
  for (header.length = 0; header.length < frame_tag_size; ++header.length)
    EXPECT_EQ(
        verdict(header, 0),
        format("malformed message: frame of {} bytes is shorter than its seal", header.length));
  EXPECT_EQ(verdict(header, 0), "good");  // an empty body is for its decoder to refuse
}

}  // namespace
}  // namespace rota::proto
