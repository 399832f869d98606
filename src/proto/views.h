// proto/views.h - messages of many bytes, read and written without a copy of their own.
#pragma once
#include <cstdint>
#include <string_view>
#include <tuple>

#include "proto/messages.h"

namespace rota::proto {

/// A LogChunk whose data are somebody else's.
struct LogChunkView {
  static constexpr std::uint16_t number = LogChunk::number;
  std::string_view data;
  static auto fields(auto& m) { return std::tie(m.data); }
};

}  // namespace rota::proto
