// net/seal_text.h - one text sealed by itself, to be kept or carried: AES-256-GCM.
#pragma once
#include <string>
#include <string_view>

#include "common/result.h"

namespace rota::net {

inline constexpr std::size_t text_key_size = 32;

/// `text` under `key`, which has 32 bytes. `bound` is not part of it, but has to be the same when
/// it is opened: what belongs to one owner or name cannot pass for another's. Two sealings of one
/// text look different.
std::string seal_text(std::string_view key, std::string_view text, std::string_view bound);

/// Fails with invalid_argument when it was sealed with another key, for something else, or was
/// changed since. The error says nothing of the text.
Result<std::string> open_text(std::string_view key, std::string_view sealed,
                              std::string_view bound);

}  // namespace rota::net
