// sim/text_file.h - the whole of a file: read, plain or gzipped, or written.
#pragma once
#include <string>
#include <string_view>

#include "common/result.h"

namespace rota::sim {

/// At most `size_max` bytes of text; more is refused, so that a small file cannot fill the memory.
Result<std::string> read_text_file(const std::string& path, std::size_t size_max = 1 << 30);

/// Puts `text` where the file was, if there was one.
Result<void> write_text_file(const std::string& path, std::string_view text);

}  // namespace rota::sim
