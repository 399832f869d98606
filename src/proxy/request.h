// proxy/request.h - what a request's first line and cookies say: for which door, with which token.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/door.h"

namespace rota::proxy {

inline constexpr std::string_view token_parameter = "rota_token";
inline constexpr std::string_view change_parameter = "rota_change";
inline constexpr std::size_t target_bytes_max = 16 << 10;

struct Target {
  Door door;
  std::string prefix;        // that all its paths begin with: "/12-8888/"
  std::string path;          // with its query, but without a token
  std::string token;         // of the query; "": none
  bool lacks_slash = false;  // "/12-8888": meant is what lies below
  bool changes = false;      // the browser's user wants to change to this owner's jobs
};

/// `host` is the request's, `base` is proxy.url. Errors: invalid_argument, or not_found when it is
/// for no door.
Result<Target> target_from(std::string_view target, std::string_view host, std::string_view base);

/// Of a door, all beginning with the same letters, which no job's cookie may.
std::string cookie_name(const Door& door);
/// The Cookie header as the job gets it: without ours; "" when nothing is left.
std::string cookies_without_ours(std::string_view header);
/// What our cookies of this door hold; there may be several, for the page's scripts can add to
/// them.
std::vector<std::string> tokens_in_cookies(std::string_view header, const Door& door);

/// A job's Set-Cookie as the browser gets it: for this door only. Nothing when it has our name.
std::optional<std::string> cookie_within(std::string_view header, std::string_view prefix);
/// The Set-Cookie that makes the token last.
std::string cookie_with_token(const Target& target, std::string_view token, bool is_secure);

/// Where all doors are one origin to a browser, it is let in to the jobs of one owner only, who is
/// named by a cookie for the whole host. All values of it: a page's scripts can add to them.
std::vector<std::string> pins_in_cookies(std::string_view header);
std::string cookie_with_pin(std::uint32_t owner_uid, bool is_secure);
/// Takes it away.
std::string cookie_without_pin(bool is_secure);
/// The address of `target` with this token; `changes` as in Target.
std::string path_with_token(const Target& target, std::string_view token, bool changes);

/// Whether a page at `origin` ("https://login:8443") may act with this host's cookies: only one of
/// the same host may, by the name in the request or in proxy.url.
bool is_own_origin(std::string_view origin, std::string_view host, const Target& target,
                   std::string_view base);

}  // namespace rota::proxy
