// sim/text_file.cpp - the only door to zlib.
#include "sim/text_file.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/format.h"

namespace rota::sim {

Result<std::string> read_text_file(const std::string& path, std::size_t size_max) {
  struct Close {
    void operator()(gzFile file) const { gzclose_r(file); }
  };
  errno = 0;
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (file == nullptr)
    return Error{Errc::not_found,
                 format("{}: {}", path, std::strerror(errno != 0 ? errno : ENOMEM))};
  std::string text;
  std::array<char, 64 << 10> block;
  for (;;) {
    const int size = gzread(file.get(), block.data(), block.size());
    if (size < 0) {
      int code = 0;
      return Error{Errc::io_failed, format("{}: {}", path, gzerror(file.get(), &code))};
    }
    if (size == 0) return text;
    if (text.size() + static_cast<std::size_t>(size) > size_max)
      return Error{Errc::too_large, format("{}: more than {} bytes of text", path, size_max)};
    text.append(block.data(), static_cast<std::size_t>(size));
  }
}

Result<void> write_text_file(const std::string& path, std::string_view text) {
  const auto failed = [&] {
    return Error{Errc::io_failed, format("cannot write {}: {}", path, std::strerror(errno))};
  };
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return failed();
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int reason = errno;
  if (std::fclose(file) == 0 && is_written) return {};
  if (!is_written) errno = reason;
  return failed();
}

}  // namespace rota::sim
