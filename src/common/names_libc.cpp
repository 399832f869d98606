// common/names_libc.cpp - names by the C library's own look-ups.
#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/format.h"
#include "common/names.h"

namespace rota {
namespace {

/// `ask` with a buffer that grows until the entry fits; null where there is none.
template <class Ask>
Result<const passwd*> entry_from(Ask ask, std::vector<char>& buffer, passwd& entry) {
  passwd* found = nullptr;
  int code = 0;
  buffer.resize(1024);
  while ((code = ask(&entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
         buffer.size() < (1U << 20))
    buffer.resize(buffer.size() * 2);
  if (found != nullptr || code == 0 || code == ENOENT || code == ESRCH) return found;
  return Error{Errc::io_failed, format("the user database: {}", std::strerror(code))};
}

}  // namespace

Result<std::optional<std::uint32_t>> uid_of_user(const std::string& user) {
  std::vector<char> buffer;
  passwd entry{};
  const auto ask = [&user](passwd* into, char* bytes, std::size_t size, passwd** found) {
    return getpwnam_r(user.c_str(), into, bytes, size, found);
  };
  ROTA_TRY(const auto found, entry_from(ask, buffer, entry));
  if (found == nullptr) return std::optional<std::uint32_t>();
  return std::optional<std::uint32_t>(found->pw_uid);
}

Result<std::optional<std::string>> user_of_uid(std::uint32_t uid) {
  std::vector<char> buffer;
  passwd entry{};
  const auto ask = [uid](passwd* into, char* bytes, std::size_t size, passwd** found) {
    return getpwuid_r(uid, into, bytes, size, found);
  };
  ROTA_TRY(const auto found, entry_from(ask, buffer, entry));
  if (found == nullptr) return std::optional<std::string>();
  return std::optional<std::string>(found->pw_name);
}

Result<std::vector<std::string>> addresses_of_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failure != 0)
    return Error{Errc::unreachable,
                 format("name '{}': {}", host,
                        failure == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(failure))};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
        0)
      addresses.emplace_back(text);
  }
  if (addresses.empty()) return Error{Errc::unreachable, format("name '{}' has no address", host)};
  return addresses;
}

}  // namespace rota
