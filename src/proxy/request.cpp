// proxy/request.cpp - targets and cookies, read with suspicion.
#include "proxy/request.h"

#include <algorithm>
#include <cctype>

#include "common/format.h"
#include "common/lower.h"

namespace rota::proxy {
namespace {

constexpr std::string_view cookie_prefix = "rota-";
constexpr std::string_view pin_name = "rota-who";
/// More of one name are nobody's but an attacker's.
constexpr std::size_t values_max = 4;

Error bad(std::string what) { return {Errc::invalid_argument, std::move(what)}; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The part before the first `mark`; `rest` goes on behind it.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t at = std::min(rest.find(mark), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int low = std::tolower(static_cast<unsigned char>(c));
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/// With %XX read once; nothing when one is broken.
std::optional<std::string> decoded(std::string_view path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      text += path[i];
      continue;
    }
    if (i + 2 >= path.size()) return std::nullopt;
    const int high = hex_value(path[i + 1]), low = hex_value(path[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return text;
}

/// No step upwards, however it is spelt: a job must not be told to answer for another's path.
Result<void> check_path(std::string_view path) {
  const auto plain = decoded(path);
  if (!plain) return bad("the address has a broken %XX");
  if (plain->find('\0') != std::string::npos) return bad("the address has a NUL byte");
  std::string slashes = *plain;
  std::ranges::replace(slashes, '\\', '/');
  for (std::string_view rest = slashes; !rest.empty();)
    if (const auto part = cut(rest, '/'); part == ".." || part == ".")
      return bad("the address has a step upwards in its path");
  return {};
}

/// The query without our parameters, which go to `found`; of several tokens the first.
std::string query_without_ours(std::string_view query, Target& found) {
  const auto is_named = [](std::string_view part, std::string_view name) {
    return part.starts_with(name) && part.substr(name.size()).starts_with('=');
  };
  std::string left;
  while (!query.empty()) {
    const std::string_view part = cut(query, '&');
    if (is_named(part, token_parameter)) {
      if (found.token.empty()) found.token = part.substr(token_parameter.size() + 1);
      continue;
    }
    if (is_named(part, change_parameter)) {
      found.changes = true;
      continue;
    }
    if (!left.empty()) left += '&';
    left += part;
  }
  return left;
}

std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos)
    return host;
  return host.substr(0, colon);
}

/// "login:8443" of "https://login:8443/".
std::string_view authority_of(std::string_view url) {
  const std::size_t at = url.find("://");
  if (at == std::string_view::npos) return {};
  url.remove_prefix(at + 3);
  return url.substr(0, url.find('/'));
}

/// The door of a host "12-8888.jobs.example.org", where proxy.url is "https://*.jobs.example.org".
std::optional<Door> door_of_host(std::string_view host, std::string_view base) {
  std::string_view pattern = without_port(authority_of(base));
  pattern.remove_prefix(1);  // the '*'
  host = without_port(host);
  if (host.size() <= pattern.size() ||
      lower_case(host.substr(host.size() - pattern.size())) != lower_case(pattern))
    return std::nullopt;
  return door_from(host.substr(0, host.size() - pattern.size()));
}

std::vector<std::string> values_in_cookies(std::string_view header, std::string_view name) {
  std::vector<std::string> values;
  while (!header.empty() && values.size() < values_max) {
    std::string_view pair = trimmed(cut(header, ';'));
    if (!pair.starts_with(name) || !pair.substr(name.size()).starts_with('=')) continue;
    values.emplace_back(pair.substr(name.size() + 1));
  }
  return values;
}

bool is_ours(std::string_view name) {
  return lower_case(name.substr(0, cookie_prefix.size())) == cookie_prefix;
}

}  // namespace

Result<Target> target_from(std::string_view target, std::string_view host, std::string_view base) {
  if (target.size() > target_bytes_max)
    return bad(
        format("the address has {} bytes, at most {} are taken", target.size(), target_bytes_max));
  if (!target.starts_with('/')) return bad("the address is no path of this host");
  for (const unsigned char c : target)
    if (c <= 0x20 || c >= 0x7f || c == '#') return bad("the address has a character that none may");
  std::string_view query = target;
  const std::string_view path = cut(query, '?');
  ROTA_CHECK(check_path(path));
  Target found;
  std::optional<Door> door;
  if (has_own_hosts(base)) {
    door = door_of_host(host, base);
  } else {
    std::string_view rest = path.substr(1);
    const std::size_t size = cut(rest, '/').size();
    door = door_from(path.substr(1, size));
    found.lacks_slash = path.size() == size + 1;
  }
  if (!door) return Error{Errc::not_found, "there is no job at this address"};
  found.door = *door;
  found.prefix = door_path(base, *door);
  found.path = found.lacks_slash ? found.prefix : std::string(path);
  if (const std::string left = query_without_ours(query, found); !left.empty())
    found.path += '?' + left;
  return found;
}

std::string cookie_name(const Door& door) { return format("{}{}", cookie_prefix, name_of(door)); }

std::string cookies_without_ours(std::string_view header) {
  std::string left;
  while (!header.empty()) {
    const std::string_view pair = trimmed(cut(header, ';'));
    if (pair.empty() || is_ours(pair.substr(0, pair.find('=')))) continue;
    if (!left.empty()) left += "; ";
    left += pair;
  }
  return left;
}

std::vector<std::string> tokens_in_cookies(std::string_view header, const Door& door) {
  return values_in_cookies(header, cookie_name(door));
}

std::vector<std::string> pins_in_cookies(std::string_view header) {
  return values_in_cookies(header, pin_name);
}

std::optional<std::string> cookie_within(std::string_view header, std::string_view prefix) {
  std::string_view rest = header;
  const std::string_view pair = trimmed(cut(rest, ';'));
  if (is_ours(trimmed(pair.substr(0, pair.find('='))))) return std::nullopt;
  std::string cookie(pair);
  while (!rest.empty()) {
    const std::string_view attribute = trimmed(cut(rest, ';'));
    std::string_view value = attribute;
    const std::string name = lower_case(trimmed(cut(value, '=')));
    if (name.empty() || name == "domain") continue;  // this host is all it is for
    if (name == "path" && !trimmed(value).starts_with(prefix)) {
      cookie += format("; Path={}", prefix);
      continue;
    }
    cookie += format("; {}", attribute);
  }
  return cookie;
}

std::string cookie_with_token(const Target& target, std::string_view token, bool is_secure) {
  return format("{}={}; Path={}; HttpOnly; SameSite=Lax{}", cookie_name(target.door), token,
                target.prefix, is_secure ? "; Secure" : "");
}

std::string cookie_with_pin(std::uint32_t owner_uid, bool is_secure) {
  return format("{}={}; Path=/; HttpOnly; SameSite=Lax{}", pin_name, owner_uid,
                is_secure ? "; Secure" : "");
}

std::string cookie_without_pin(bool is_secure) {
  return format("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{}", pin_name,
                is_secure ? "; Secure" : "");
}

std::string path_with_token(const Target& target, std::string_view token, bool changes) {
  return format("{}{}{}={}{}", target.path, target.path.find('?') == std::string::npos ? '?' : '&',
                token_parameter, token, changes ? format("&{}=1", change_parameter) : "");
}

bool is_own_origin(std::string_view origin, std::string_view host, const Target& target,
                   std::string_view base) {
  const std::string asked = lower_case(authority_of(origin));
  return !asked.empty() && (asked == lower_case(host) ||
                            asked == lower_case(authority_of(door_url(base, target.door))));
}

}  // namespace rota::proxy
