// gpud/health/record.cpp - one file: a word that says what it is, a checksum, and the record.
#include "gpud/health/record.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/format.h"
#include "gpud/launch/file.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr std::string_view magic = "rota-health-1\n";
constexpr std::size_t record_bytes_max = 64u << 20;

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::string head_of(std::string_view body) { return format("{}{:016x}\n", magic, checksum(body)); }

Error failed(const char* what, const std::string& path) {
  return Error{Errc::io_failed, format("cannot {} {}: {}", what, path, strerrordesc_np(errno))};
}

}  // namespace

Result<void> health_record_write(const std::string& path, const HealthRecord& record) {
  const std::string body = proto::encode(record);
  if (const int error = file_replace(path, head_of(body) + body, 0600, true); error != 0)
    return Error{Errc::io_failed, format("cannot write {}: {}", path, strerrordesc_np(error))};
  return {};
}

Result<HealthRecord> health_record_read(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return Error{Errc::not_found, path};
  if (!file) return failed("open", path);
  std::string bytes;
  char part[16 << 10];
  for (;;) {
    const ssize_t count = ::read(file.get(), part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path);
    if (count == 0) break;
    bytes.append(part, static_cast<std::size_t>(count));
    if (bytes.size() > record_bytes_max)
      return Error{Errc::too_large, format("{} is no record of health: it is too long", path)};
  }
  const std::size_t head = head_of("").size();
  if (bytes.size() < head || bytes.substr(0, head) != head_of(std::string_view(bytes).substr(head)))
    return Error{Errc::malformed, format("{} is damaged", path)};
  return proto::decode<HealthRecord>(std::string_view(bytes).substr(head));
}

}  // namespace rota::gpud
