// commands/cli_help.cpp - --help and --usage, from a command's table.
#include <algorithm>

#include "commands/cli.h"
#include "common/format.h"

namespace rota::commands {
namespace {

constexpr std::size_t line_width = 79;
constexpr std::size_t help_column = 30;
/// Stands for a blank at which a line must not be broken.
constexpr char glue = '\x1f';

/// "=NAME", or "[=PERCENT]" of one that may be left out; "" for none.
std::string argument_of(const Option& option) {
  if (option.argument.empty()) return {};
  if (option.may_lack_argument()) return format("[={}", option.argument.substr(1));
  return format("={}", option.argument);
}

/// "  -J, --job-name, --name=NAME": the same words as the man page's tag, which a test compares.
std::string left_of(const Option& option) {
  std::string text = option.letter != 0 ? format("  -{}, ", option.letter) : std::string("      ");
  text += format("--{}", option.name);
  if (!option.alias.empty()) text += format(", --{}", option.alias);
  return text + argument_of(option);
}

/// Appends `text` word by word, starting new lines at `indent` where a line would grow too long.
void append_wrapped(std::string& out, std::size_t column, std::size_t indent,
                    std::string_view text) {
  bool first = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (!first && column + 1 + word.size() > line_width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
}

void append_option(std::string& out, const Option& option) {
  const std::string left = left_of(option);
  out += left;
  if (left.size() + 2 > help_column) {
    out += '\n';
    out.append(help_column, ' ');
  } else {
    out.append(help_column - left.size(), ' ');
  }
  append_wrapped(out, help_column, help_column, option.help);
  out += '\n';
}

void append_other_forms(std::string& out, const Command& command) {
  for (const std::string_view form : command.synopses.subspan(1))
    out += format("  or:  {} {}\n", command.name, form);
}

}  // namespace

std::string help_text(const Command& command) {
  std::string out = format("Usage: {} {}\n", command.name, command.synopses.front());
  append_other_forms(out, command);
  append_wrapped(out, 0, 0, command.summary);
  out += "\n\n";
  for (const Option& option : command.options) append_option(out, option);
  out += format("\nSee {}(1) for the whole story.\n", command.name);
  return out;
}

std::string usage_text(const Command& command) {
  std::string flags, rest;
  for (const Option& option : command.options) {
    if (option.letter != 0 && option.argument.empty())
      flags += option.letter;
    else if (option.letter != 0)
      rest += format(" [-{}{}{}]", option.letter, glue, option.argument);
    else
      rest += format(" [--{}{}]", option.name, argument_of(option));
  }
  std::string text = format("[-{}]{}", flags, rest);
  std::string operands(command.synopses.front());
  operands.erase(0, std::min(operands.find(' '), operands.size()));  // "[OPTION...]"
  std::replace(operands.begin(), operands.end(), ' ', glue);
  if (!operands.empty()) text += " " + operands.substr(1);
  std::string out = format("Usage: {} ", command.name);
  const std::size_t indent = out.size();
  append_wrapped(out, indent, indent, text);
  std::replace(out.begin(), out.end(), glue, ' ');
  out += '\n';
  append_other_forms(out, command);
  return out;
}

}  // namespace rota::commands
