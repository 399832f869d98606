// ctld/vault.cpp - one line of text in one file: what it is, and 32 bytes in hexadecimal digits.
#include "ctld/vault.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/format.h"
#include "common/log.h"
#include "net/seal.h"
#include "net/seal_text.h"

namespace rota::ctld {
namespace {

constexpr std::string_view head = "rota-secret-key-1 ";
constexpr std::size_t file_size = head.size() + 2 * net::text_key_size + 1;

/// What a sealed secret is bound to.
std::string place_of(std::uint32_t uid, const std::string& name) {
  return format("secret {} {}", uid, name);
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// "": it is no number of such digits.
std::string bytes_from(std::string_view hex) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

Error failed(std::string_view what, const std::string& path) {
  return {Errc::io_failed, format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

/// All of it on the disk under another name first: whoever finds the key finds a whole one.
Result<void> write_key(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failed("make", fresh);
  const bool is_written =
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  const Error error = failed("write", fresh);
  close(fd);
  if (!is_written) {
    unlink(fresh.c_str());
    return error;
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return failed("make", path);
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const int place = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place >= 0) {
    fsync(place);
    close(place);
  }
  return {};
}

}  // namespace

Vault::~Vault() { net::wipe(key_); }

Result<void> Vault::load() {
  if (!key_.empty()) return {};
  const int fd = ::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return Error{Errc::not_found,
                 format("{}, the key of all secrets, is missing: put it back, or have them put "
                        "again",
                        path_)};
  if (fd < 0) return failed("read", path_);
  std::string text(file_size + 1, '\0');
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::string_view digits = text;
  if (text.size() == file_size && text.starts_with(head) && text.back() == '\n') {
    digits.remove_prefix(head.size());
    digits.remove_suffix(1);
    key_ = bytes_from(digits);
  }
  net::wipe(text);
  if (key_.empty())
    return Error{Errc::io_failed, format("{} is not the key of secrets that it should be", path_)};
  return {};
}

Result<void> Vault::make() {
  std::string key = net::random_bytes(net::text_key_size);
  std::string text = std::string(head) + hex_of(key) + '\n';
  const auto written = write_key(path_, text);
  net::wipe(text);
  if (!written) return written.error();
  key_ = std::move(key);
  log::info("made {}, the key of all secrets: keep a copy of it", path_);
  return {};
}

Result<std::string> Vault::seal(std::uint32_t uid, const std::string& name,
                                const std::string& value) {
  if (auto loaded = load(); !loaded) {
    if (loaded.error().code != Errc::not_found) return loaded.error();
    ROTA_CHECK(make());
  }
  return net::seal_text(key_, value, place_of(uid, name));
}

Result<std::string> Vault::open(std::uint32_t uid, const std::string& name,
                                const std::string& sealed) {
  ROTA_CHECK(load());
  auto value = net::open_text(key_, sealed, place_of(uid, name));
  if (!value)
    return Error{Errc::io_failed, format("it was not sealed with {}: put it again", path_)};
  return value;
}

}  // namespace rota::ctld
