// commands/cli.h - a command's options as one table: parsing, --help and --usage come from it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota::commands {

/// Where an option may be given besides the command line. Each place includes those before it.
enum class Scope : std::uint8_t { command_line, environment, script };

struct Option {
  int id = 0;
  char letter = 0;
  std::string_view name;  // the long name: --job-name
  // What stands for its argument in the help; "": it takes none. In brackets, as [PERCENT]: it may
  // be left out, and stands behind a =.
  std::string_view argument;
  std::string_view help;
  Scope scope = Scope::environment;
  std::string_view alias = {};  // a second long name

  bool may_lack_argument() const { return argument.starts_with('['); }
};

/// Options that every command has. A command's own ids start at option_own.
enum : int { option_verbose = 1, option_help, option_usage, option_version, option_own = 10 };
inline constexpr Option verbose_option{option_verbose, 'v', "verbose", "",
                                       "say on standard error what is done; may be repeated"};
inline constexpr Option help_option{option_help,        'h', "help", "", "show this help and end",
                                    Scope::command_line};
inline constexpr Option usage_option{
    option_usage, 0, "usage", "", "show a short usage line and end", Scope::command_line};
inline constexpr Option version_option{
    option_version, 'V', "version", "", "show the version and end", Scope::command_line};

struct Command {
  std::string_view name;                       // "rsubmit"
  std::span<const std::string_view> synopses;  // each without the name: "[OPTION...] JOB..."
  std::string_view summary;                    // one sentence
  std::span<const Option> options;
  /// Variables that stand for options: this and the long name in capitals. "": none do.
  std::string_view environment_prefix = {};
  /// Whether options may follow operands. Where a script's own arguments follow, they may not.
  bool options_anywhere = true;
};

/// One option as somebody wrote it.
struct Given {
  const Option* option = nullptr;
  std::string value;
  std::string origin;    // "" on the command line, else the variable's name or "job.sh:3:8"
  std::size_t word = 0;  // where it stands among the words
};

struct Arguments {
  std::vector<Given> options;  // in the order that counts: a later one wins
  std::vector<std::string> operands;
  bool after_dashes = false;  // "--" ended the options, before any operand
};

/// A word that is no option of ours, or lacks its argument.
struct BadWord {
  std::size_t word = 0;
  std::string what;
};

/// Reads `words` (without the program's name) into `arguments`; stops at the first bad one.
std::optional<BadWord> parse_words(const Command& command, std::span<const std::string> words,
                                   Arguments& arguments);

/// The options that variables of `environment` ("NAME=value") stand for, in the table's order. A
/// flag is given by 1, yes or true; 0, no, false and an empty value leave it off. An option whose
/// argument may be left out takes these words so, and numbers as its argument.
Result<Arguments> parse_environment(const Command& command,
                                    std::span<const char* const> environment);

/// "--job-name" and "ROTA_SUBMIT_JOB_NAME".
std::string long_form(const Option& option);
std::string variable_of(const Command& command, const Option& option);

/// A usage error about the value of `given`, with the place where it was written.
Error bad_value(const Given& given, std::string_view what);

/// What --help and --usage print, lines of at most 79 columns.
std::string help_text(const Command& command);
std::string usage_text(const Command& command);

/// The known option nearest to `name` (without dashes), or "" when none is near.
std::string_view nearest_option(const Command& command, std::string_view name);

}  // namespace rota::commands
