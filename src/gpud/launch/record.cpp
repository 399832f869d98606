// gpud/launch/record.cpp - the journal's bytes. Linked into rstepd too, so it stays without libfmt.
#include "gpud/launch/record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/assert.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr std::string_view magic = "ROTARUN1";
enum class EntryType : std::uint32_t { order = 1, start = 2, end = 3 };

struct EntryHeader {
  std::uint32_t type = 0;
  std::uint32_t size = 0;
  std::uint64_t check = 0;
};
static_assert(sizeof(EntryHeader) == 16);

/// FNV-1a, eight bytes at a time: finds torn and overwritten entries, not forgers (the spool is
/// ours).
std::uint64_t check_of(std::uint32_t type, std::string_view body) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ type ^ (std::uint64_t{body.size()} << 32);
  while (!body.empty()) {
    std::uint64_t word = 0;
    const std::size_t size = std::min(body.size(), sizeof word);
    std::memcpy(&word, body.data(), size);
    body.remove_prefix(size);
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

template <class T>
std::string entry(EntryType type, const T& value) {
  const std::string body = proto::encode(value);
  EntryHeader header{static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(body.size()), 0};
  header.check = check_of(header.type, body);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes += body;
}

template <class T>
void take(std::optional<T>& into, std::string_view body) {
  if (auto value = proto::decode<T>(body)) into = *std::move(value);
}

Result<void> append(int fd, const std::string& bytes) {
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  if (written == static_cast<ssize_t>(bytes.size())) return {};
  const int why = written < 0 ? errno : ENOSPC;
  // Half an entry would hide the whole one that a later try appends.
  struct stat now {};
  if (written > 0 && (::fstat(fd, &now) != 0 || ::ftruncate(fd, now.st_size - written) != 0))
    return Error{Errc::io_failed, "half an entry was written and cannot be taken back"};
  return Error{Errc::io_failed, std::string("write: ") + strerrordesc_np(why)};
}

template <class Number>
bool number_from(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() &&
         (text.size() == 1 || text.front() != '0');
}

}  // namespace

std::string record_new(const StepOrder& order) {
  // Whoever forgets to take them out must not get as far as the disk.
  ROTA_ASSERT(order.launch.secrets.empty() && order.launch.login == proto::RegistryLogin{});
  return std::string(magic) + entry(EntryType::order, order);
}

Record record_parse(std::string_view bytes) {
  Record record;
  if (!bytes.starts_with(magic)) return record;
  bytes.remove_prefix(magic.size());
  while (bytes.size() >= sizeof(EntryHeader)) {
    EntryHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    bytes.remove_prefix(sizeof header);
    if (header.size > bytes.size()) break;
    const std::string_view body = bytes.substr(0, header.size);
    bytes.remove_prefix(header.size);
    if (check_of(header.type, body) != header.check) break;
    switch (static_cast<EntryType>(header.type)) {
      case EntryType::order:
        take(record.order, body);
        break;
      case EntryType::start:
        take(record.start, body);
        break;
      case EntryType::end:
        take(record.end, body);
        break;
    }
  }
  return record;
}

Result<void> record_append(int fd, const RecordStart& start) {
  return append(fd, entry(EntryType::start, start));
}
Result<void> record_append(int fd, const RecordEnd& end) {
  return append(fd, entry(EntryType::end, end));
}

Result<std::string> record_read(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return Error{Errc::io_failed, std::string("fstat: ") + strerrordesc_np(errno)};
  // An order is at most one large message and what we add to it; more is not ours.
  if (status.st_size > 2 * static_cast<off_t>(proto::large_message))
    return Error{Errc::too_large, "the file is larger than any record"};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Errc::io_failed, std::string("read: ") + strerrordesc_np(errno)};
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

std::string run_name(RunId run) {
  std::string name = std::to_string(run.job.value) + '.' + std::to_string(run.restart);
  if (run.growth > 0) name += '.' + std::to_string(run.growth);
  return name;
}

std::optional<RunId> run_from_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  RunId run;
  std::string_view restart = name.substr(dot + 1);
  if (const std::size_t second = restart.find('.'); second != std::string_view::npos) {
    if (!number_from(restart.substr(second + 1), run.growth) || run.growth == 0)
      return std::nullopt;
    restart = restart.substr(0, second);
  }
  if (!number_from(name.substr(0, dot), run.job.value) || !number_from(restart, run.restart) ||
      !run.job)
    return std::nullopt;
  return run;
}

}  // namespace rota::gpud
