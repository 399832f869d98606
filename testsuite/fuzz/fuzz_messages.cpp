// testsuite/fuzz/fuzz_messages.cpp - every message from anybody: read or refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "common/assert.h"
#include "proto/codec.h"
#include "proto/messages.h"

namespace {

template <class Message>
void try_as(std::string_view bytes) {
  const auto message = rota::proto::decode<Message>(bytes);
  if (!message) return;
  const std::string again = rota::proto::encode(*message);
  const auto same = rota::proto::decode<Message>(again);
  ROTA_ASSERT(same && *same == *message);
  ROTA_ASSERT(rota::proto::encode(*same) == again);
}

template <class... Messages>
void try_one(std::size_t which, std::string_view bytes, std::tuple<Messages...>*) {
  std::size_t index = 0;
  ((index++ == which ? try_as<Messages>(bytes) : void()), ...);
}

}  // namespace

/// The first byte says as which message the others are read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rota::proto::AllMessages;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  try_one(data[0] % std::tuple_size_v<AllMessages>, bytes, static_cast<AllMessages*>(nullptr));
  return 0;
}
