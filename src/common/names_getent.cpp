// common/names_getent.cpp - names from the system's files, and from getent(1).
#include "common/names_getent.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/format.h"
#include "common/lower.h"
#include "common/names.h"
#include "common/units.h"

extern char** environ;

namespace rota {
namespace {

constexpr std::size_t file_bytes_max = 64UL << 20;
constexpr int getent_found_nothing = 2;  // its exit code

/// All that can be read from `fd` to its end.
std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 8192> part;
  for (;;) {
    const ssize_t count = read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || text.size() > file_bytes_max) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// "" for a file that cannot be read: then it has nothing to say.
std::string text_of_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  std::string text = read_to_end(fd);
  close(fd);
  return text;
}

/// Takes the first part of `rest` off, up to `end`.
std::string_view cut(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

/// The same for a word between blanks.
std::string_view cut_word(std::string_view& rest) {
  const std::size_t start = std::min(rest.find_first_not_of(" \t"), rest.size());
  rest.remove_prefix(start);
  const std::size_t at = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, at);
  rest.remove_prefix(at);
  return word;
}

std::string_view field(std::string_view line, std::size_t index) {
  for (; index > 0; --index) cut(line, ':');
  return cut(line, ':');
}

/// The addresses that a hosts file has for `host`.
std::vector<std::string> addresses_in(std::string_view hosts, const std::string& host) {
  std::vector<std::string> addresses;
  const std::string wanted = lower_case(host);
  while (!hosts.empty()) {
    std::string_view line = cut(hosts, '\n');
    line = line.substr(0, line.find('#'));
    const std::string_view address = cut_word(line);
    for (std::string_view name = cut_word(line); !name.empty(); name = cut_word(line))
      if (lower_case(name) == wanted) addresses.emplace_back(address);
  }
  return addresses;
}

/// What ends with this is closed with it.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
};

Error cannot_run(const std::string& program, int code) {
  return Error{Errc::io_failed, format("names are looked up by {}, which cannot be run: {}",
                                       program, std::strerror(code))};
}

}  // namespace

bool NameSources::files_first(std::string_view database) const {
  const std::string text = text_of_file(nsswitch);
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = cut(rest, '\n');
    std::string_view name = cut(line, ':');
    if (cut_word(name) == database) return cut_word(line) == "files";
  }
  return true;  // the C library's own default begins with them, too
}

Result<std::string> NameSources::passwd_line(std::size_t index, const std::string& value) const {
  if (files_first("passwd")) {
    const std::string text = text_of_file(passwd);
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = cut(rest, '\n');
      if (!line.starts_with('+') && !line.starts_with('-') && field(line, index) == value)
        return std::string(line);
    }
  }
  ROTA_TRY(const std::string said, ask_getent("passwd", value));
  std::string_view lines = said;
  const std::string_view line = cut(lines, '\n');
  // getent takes a user whose name is a number for that number.
  return field(line, index) == value ? std::string(line) : std::string();
}

Result<std::string> NameSources::ask_getent(const std::string& database,
                                            const std::string& key) const {
  Pipe pipe;
  if (pipe2(pipe.ends.data(), O_CLOEXEC) != 0) return cannot_run(getent, errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  const std::array<const char*, 5> words{getent.c_str(), "--", database.c_str(), key.c_str(),
                                         nullptr};
  pid_t child = 0;
  const int failure = posix_spawn(&child, getent.c_str(), &actions, nullptr,
                                  const_cast<char* const*>(words.data()), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return cannot_run(getent, failure);
  pipe.close_end(1);
  std::string said = read_to_end(pipe.ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return cannot_run(getent, errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == getent_found_nothing) return std::string();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{Errc::io_failed,
                 format("{} {} {} failed (status {})", getent, database, key, status)};
  return said;
}

Result<std::optional<std::uint32_t>> NameSources::uid_of(const std::string& user) const {
  ROTA_TRY(const std::string line, passwd_line(0, user));
  const auto uid = number_parse(field(line, 2), UINT32_MAX);
  if (line.empty() || !uid) return std::optional<std::uint32_t>();
  return std::optional(static_cast<std::uint32_t>(*uid));
}

Result<std::optional<std::string>> NameSources::user_of(std::uint32_t uid) const {
  ROTA_TRY(const std::string line, passwd_line(2, format("{}", uid)));
  if (line.empty()) return std::optional<std::string>();
  return std::optional(std::string(field(line, 0)));
}

Result<std::vector<std::string>> NameSources::addresses_of(const std::string& host) const {
  std::vector<std::string> addresses;
  if (files_first("hosts")) addresses = addresses_in(text_of_file(hosts), host);
  if (!addresses.empty()) return addresses;
  ROTA_TRY(const std::string said, ask_getent("ahosts", host));
  std::string_view rest = said;
  while (!rest.empty()) {
    // "10.0.0.1  STREAM head1": each address once for each type of socket.
    std::string_view line = cut(rest, '\n');
    const std::string_view address = cut_word(line);
    if (cut_word(line) == "STREAM") addresses.emplace_back(address);
  }
  if (addresses.empty())
    return Error{Errc::unreachable, format("name '{}': nobody knows an address of it", host)};
  return addresses;
}

Result<std::optional<std::uint32_t>> uid_of_user(const std::string& user) {
  return NameSources().uid_of(user);
}
Result<std::optional<std::string>> user_of_uid(std::uint32_t uid) {
  return NameSources().user_of(uid);
}
Result<std::vector<std::string>> addresses_of_host(const std::string& host) {
  return NameSources().addresses_of(host);
}

}  // namespace rota
