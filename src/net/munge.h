// net/munge.h - the one door to libmunge: credentials are made and read here, by blocking calls.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace rota::net {

/// How long a credential may be under way. Long enough for clocks that are a little apart.
inline constexpr std::chrono::seconds credential_lifetime{60};

/// A credential that munged has vouched for.
struct Credential {
  std::string payload;
  std::uint32_t uid = 0;  // of the process that made it
  std::uint32_t gid = 0;
};

/// A credential that only `reader_uid` can read. `socket` "" is libmunge's own default.
/// Fails with io_failed, naming the socket, when munged does not answer. Libmunge tries for up to
/// ten seconds, so nobody who has something else to do waits for this on his own thread.
Result<std::string> munge_encode(const std::string& socket, std::string_view payload,
                                 std::uint32_t reader_uid,
                                 std::chrono::seconds lifetime = credential_lifetime);

/// Fails with auth_failed for a credential that is stale, replayed, not for us or made with another
/// key, malformed for what is none, io_failed when munged does not answer.
Result<Credential> munge_decode(const std::string& socket, const std::string& credential);

}  // namespace rota::net
