// commands/secret_options.cpp - words of secrets, and values that never stand on a command line.
#include "commands/secret_options.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "model/secret.h"

namespace rota::commands {
namespace {

enum : int { id_file = option_own, id_user, id_no_header, id_json, id_quiet };

constexpr auto table = std::to_array<Option>({
    {id_file, 'f', "file", "FILE", "put: what the secret says; default: standard input",
     Scope::command_line},
    {id_user, 'u', "user", "NAME", "login: the name at the registry; default: it is asked for",
     Scope::command_line},
    {id_no_header, 'n', "noheader", "", "list: print no header line"},
    {id_json, 0, "json", "", "list: print JSON, as doc/json.md describes it"},
    {id_quiet, 'Q', "quiet", "", "print only errors"},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 5> synopses{
    "[OPTION...] put NAME",        "[OPTION...] list",
    "[OPTION...] delete NAME",     "[OPTION...] login REGISTRY",
    "[OPTION...] logout REGISTRY",
};
constexpr std::array<std::string_view, 5> verbs{"put", "list", "delete", "login", "logout"};
constexpr Command command{
    .name = "rsecret",
    .synopses = synopses,
    .summary =
        "Keep secrets for jobs: put, list and delete them, and log in to the registries that "
        "images come from. What a secret says is never shown again.",
    .options = table,
};

/// The terminal does not show what is typed, for as long as this lives.
class Quiet {
 public:
  explicit Quiet(int fd) : fd_(fd) {
    is_set_ = tcgetattr(fd_, &before_) == 0;
    termios modes = before_;
    modes.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_set_ = is_set_ && tcsetattr(fd_, TCSAFLUSH, &modes) == 0;
  }
  ~Quiet() {
    if (is_set_) tcsetattr(fd_, TCSAFLUSH, &before_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  bool is_set() const { return is_set_; }

 private:
  int fd_;
  termios before_{};
  bool is_set_ = false;
};

void prompt(const std::string& text) {
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

/// All that comes, as far as a secret may be long; the one byte more says that it was longer.
Result<std::string> read_all(int fd, const std::string& name) {
  std::string bytes(SecretBounds::value_bytes_max + 1, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t size = read(fd, bytes.data() + have, bytes.size() - have);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0)
      return Error{Errc::io_failed, format("cannot read {}: {}", name, std::strerror(errno))};
    if (size == 0) break;
    have += static_cast<std::size_t>(size);
  }
  if (have > SecretBounds::value_bytes_max)
    return Error{Errc::too_large, format("{} has more than the {} bytes that a secret can have",
                                         name, SecretBounds::value_bytes_max)};
  bytes.resize(have);
  return bytes;
}

Result<std::string> read_line(int fd) {
  std::string line;
  for (char c = 0; line.size() <= SecretBounds::value_bytes_max;) {
    const ssize_t size = read(fd, &c, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Error{Errc::io_failed, "cannot read from the terminal"};
    if (size == 0 || c == '\n') return line;
    line += c;
  }
  return Error{Errc::too_large, format("more than {} bytes", SecretBounds::value_bytes_max)};
}

Result<std::string> type_secret(const std::string& what) {
  const Quiet quiet(STDIN_FILENO);
  if (!quiet.is_set())
    return Error{Errc::io_failed, "this terminal cannot be kept from showing what is typed"};
  prompt(format("{}: ", what));
  ROTA_TRY(std::string first, read_line(STDIN_FILENO));
  prompt(format("\n{} again: ", what));
  ROTA_TRY(const std::string second, read_line(STDIN_FILENO));
  prompt("\n");
  if (first != second) return Error{Errc::usage, "the two are not the same: nothing was changed"};
  return first;
}

Result<SecretCommand> command_from(const std::string& verb) {
  for (std::size_t i = 0; i < verbs.size(); ++i)
    if (verb == verbs[i]) return static_cast<SecretCommand>(i);
  const auto meant = nearest(verb, verbs);
  return Error{Errc::usage, format("unknown command {}; {}", quoted(verb),
                                   meant.empty() ? format("known are {}", fmt::join(verbs, ", "))
                                                 : format("did you mean '{}'?", meant))};
}

}  // namespace

Result<void> apply_secrets(const Given& given, std::vector<SecretUse>& secrets) {
  std::string_view rest = given.value;
  for (;;) {
    const std::size_t comma = rest.find(',');
    auto use = secret_use_parse(rest.substr(0, comma));
    if (!use) return bad_value(given, use.error().detail);
    secrets.push_back(*std::move(use));
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

const Command& secret_command() { return command; }

Result<SecretOptions> secret_options_from(const Arguments& arguments) {
  SecretOptions options;
  if (arguments.operands.empty())
    return Error{Errc::usage, format("what to do? {}", fmt::join(verbs, ", "))};
  ROTA_TRY(options.command, command_from(arguments.operands.front()));
  const std::string& verb = arguments.operands.front();
  const std::size_t wanted = options.command == SecretCommand::list ? 1 : 2;
  // Whatever stands there too may be the secret itself: it is not repeated.
  if (arguments.operands.size() > wanted)
    return Error{Errc::usage,
                 format("{} takes {}; what a secret says comes from a file or standard input, "
                        "never from the command line",
                        verb, wanted == 1 ? "no argument" : "one name")};
  if (arguments.operands.size() < wanted)
    return Error{Errc::usage, format("{} which? Give its name", verb)};
  if (wanted == 2) options.name = arguments.operands[1];
  for (const Given& given : arguments.options) {
    const int id = given.option->id;
    if (id == id_file) options.file = given.value;
    if (id == id_user) options.user = given.value;
    if (id == id_json) options.json = true;
    if (id == id_no_header) options.header = false;
    if (id == id_quiet) options.quiet = true;
    if (id == id_file && options.command != SecretCommand::put)
      return bad_value(given, "only put reads a file");
    if (id == id_user && options.command != SecretCommand::login)
      return bad_value(given, "only login has a user");
  }
  const bool is_login =
      options.command == SecretCommand::login || options.command == SecretCommand::logout;
  if (is_login) {
    auto registry = registry_parse(options.name);
    if (!registry) return Error{Errc::usage, registry.error().detail};
    options.name = login_secret(*registry);
  } else if (wanted == 2) {
    if (auto valid = validate_secret_name(options.name); !valid)
      return Error{Errc::usage, valid.error().detail};
  }
  return options;
}

Result<std::string> read_secret(const std::string& file, const std::string& what) {
  if (!file.empty() && file != "-") {
    const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return Error{Errc::io_failed,
                   format("cannot open {}: {}", quoted(file), std::strerror(errno))};
    auto bytes = read_all(fd, quoted(file));
    close(fd);
    return bytes;
  }
  if (isatty(STDIN_FILENO) != 0) return type_secret(what);
  ROTA_TRY(std::string bytes, read_all(STDIN_FILENO, "standard input"));
  // Of a line that a program printed, the newline is not meant; of several lines it is.
  if (const std::size_t newline = bytes.find('\n');
      newline != std::string::npos && newline + 1 == bytes.size())
    bytes.pop_back();
  return bytes;
}

Result<std::string> ask_line(const std::string& what) {
  if (isatty(STDIN_FILENO) == 0)
    return Error{Errc::usage, "give the name at the registry with --user"};
  prompt(format("{}: ", what));
  return read_line(STDIN_FILENO);
}

}  // namespace rota::commands
