// net/url_token.h - what a browser shows to be let in to a job: who, to which job, until when.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "common/result.h"
#include "common/time.h"
#include "model/ids.h"

namespace rota::net {

struct UrlToken {
  std::uint32_t uid = 0;
  std::string user;
  JobId job;
  WallTime expires;
  std::uint32_t owner_uid = UINT32_MAX;  // of the job's owner; this: an older rctld did not say
  std::string owner;

  friend bool operator==(const UrlToken&, const UrlToken&) = default;
  static auto fields(auto& m) {
    return std::tie(m.uid, m.user, m.job, m.expires, m.owner_uid, m.owner);
  }
};

inline constexpr std::size_t url_token_bytes_max = 512;

/// Letters, digits, '-', '_' and one '.': it stands in addresses and cookies as it is.
std::string seal_token(const UrlToken& token, const std::string& key);
/// What was sealed with this key. auth_failed: it was not, or not any more at `now`.
Result<UrlToken> open_token(std::string_view text, const std::string& key, WallTime now);
/// What it says, whoever has made it.
Result<UrlToken> read_token(std::string_view text);

}  // namespace rota::net
