// model/sources.cpp - volumes by name and repositories: read and checked.
#include "model/sources.h"

#include <algorithm>
#include <array>

#include "common/escape.h"
#include "common/format.h"

namespace rota {
namespace {

constexpr std::size_t name_bytes_max = 64;

Error invalid(std::string what) { return {Errc::job_invalid, std::move(what)}; }

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c <= 0x20 || c == 0x7f; });
}

/// A place in the container, or of the node for a job without one, by the rules of a mount.
Result<void> check_target(std::string_view what, const std::string& target) {
  ContainerMount mount;
  mount.source = "/";
  mount.target = target;
  if (auto good = validate(mount); !good)
    return invalid(format("{}: {}", what, good.error().detail));
  return {};
}

/// Where the part begins that an '@' for a revision can be in: behind the host.
std::size_t path_start(std::string_view url) {
  if (url.starts_with('/')) return 0;
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos)
    return std::min(url.find('/', scheme + 3), url.size());
  return std::min(url.find(':'), url.size());  // user@host:path
}

}  // namespace

Result<DataMount> data_parse(std::string_view text) {
  const auto bad = [text] {
    return Error{Errc::invalid_argument,
                 format("{}: a volume is written as NAME[:/TARGET][:ro]", quoted(text))};
  };
  DataMount data;
  std::string_view rest = text;
  if (rest.ends_with(":ro") || rest.ends_with(":rw")) {
    data.read_only = rest.ends_with(":ro");
    rest.remove_suffix(3);
  }
  const std::size_t colon = rest.find(':');
  data.name = rest.substr(0, colon);
  if (colon != std::string_view::npos) {
    data.target = rest.substr(colon + 1);
    if (!data.target.starts_with('/') || data.target.find(':') != std::string::npos) return bad();
  }
  if (data.name.empty()) return bad();
  return data;
}

Result<void> validate(const DataMount& data) {
  const bool is_good = !data.name.empty() && data.name.size() <= name_bytes_max &&
                       std::ranges::all_of(data.name, [](char c) {
                         return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
                       });
  if (!is_good)
    return invalid(format("{} names no volume: a name is 1 to {} letters, digits, '-', '_' or '.'",
                          quoted(data.name.substr(0, 80)), name_bytes_max));
  if (data.target.empty()) return {};
  return check_target(format("volume {}", data.name), data.target);
}

Result<GitSource> git_parse(std::string_view text) {
  const auto bad = [text](std::string_view what) {
    return Error{Errc::invalid_argument, format("{}: {}; write URL[@REVISION]:DIR, such as "
                                                "https://host/team/code.git@main:/workspace",
                                                quoted(text), what)};
  };
  // The directory is behind the last colon that a path follows: "/x" or "./x", but not "//x".
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad("the directory is missing");
  const std::string_view directory = text.substr(colon + 1);
  if (directory.starts_with("//") || !(directory.starts_with('/') || directory.starts_with("./")))
    return bad("the directory is missing, or is neither /DIR nor ./DIR");
  GitSource git;
  git.target = directory;
  git.url = text.substr(0, colon);
  const std::size_t start = path_start(git.url);
  if (const std::size_t at = git.url.rfind('@'); at != std::string::npos && at > start) {
    git.revision = git.url.substr(at + 1);
    git.url.resize(at);
    if (git.revision.empty()) return bad("the revision is missing");
  }
  return git;
}

Result<void> validate(const GitSource& git) {
  const auto bad = [&git](std::string_view what) {
    return invalid(format("git source {}: {}", quoted(git.url.substr(0, 200)), what));
  };
  if (git.url.empty()) return invalid("a git source has no URL");
  if (git.url.size() > SourceBounds::url_bytes_max)
    return bad(format("its URL has {} bytes, at most {} are allowed", git.url.size(),
                      SourceBounds::url_bytes_max));
  if (has_control(git.url)) return bad("spaces and control characters are not allowed");
  // "ext::sh -c ..." and its like name a program that git would run.
  if (git.url.find("::") != std::string::npos) return bad("'::' is not allowed");
  constexpr std::array<std::string_view, 5> schemes{"https://", "http://", "ssh://", "git://",
                                                    "file:///"};
  const bool has_scheme = git.url.find("://") != std::string::npos;
  const bool is_known = std::ranges::any_of(
      schemes, [&git](std::string_view scheme) { return git.url.starts_with(scheme); });
  const std::size_t colon = git.url.find(':');
  const bool is_by_ssh = !has_scheme && is_letter_or_digit(git.url.front()) &&
                         colon != std::string::npos && colon < git.url.find('/');
  if (!is_known && !is_by_ssh && !(git.url.front() == '/' && !has_scheme))
    return bad(
        "it must begin with https://, http://, ssh://, git:// or file:///, or be USER@HOST:PATH "
        "or an absolute path");
  if (has_scheme && is_known) {
    const std::size_t host = git.url.find("://") + 3;
    if (host < git.url.size() && git.url[host] == '-') return bad("a host does not begin with '-'");
  }
  if (!git.revision.empty()) {
    if (git.revision.size() > SourceBounds::revision_bytes_max || has_control(git.revision))
      return bad("its revision is too long, or has spaces or control characters");
    if (git.revision.front() == '-' || git.revision.find("..") != std::string::npos ||
        git.revision.find_first_of("~^:?*[\\") != std::string::npos)
      return bad(format("{} is no branch, tag or commit", quoted(git.revision)));
  }
  return check_target("the directory of a git source", git.target);
}

}  // namespace rota
