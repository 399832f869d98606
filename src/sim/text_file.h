// sim/text_file.h - the whole of a file, plain or gzipped.
#pragma once
#include <string>

#include "common/result.h"

namespace rota::sim {

/// At most `size_max` bytes of text; more is refused, so that a small file cannot fill the memory.
Result<std::string> read_text_file(const std::string& path, std::size_t size_max = 1 << 30);

}  // namespace rota::sim
