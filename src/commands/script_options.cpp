// commands/script_options.cpp - rsubmit's options where they stand in #ROTA lines of a script.
#include "commands/submit_options.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

/// The words of one #ROTA line as options of a job.
Result<void> append_line(const DirectiveLine& line, std::string_view name,
                         std::vector<Given>& options) {
  const auto place = [&](std::size_t word) {
    return format("{}:{}:{}", name, line.line, line.words[word].column);
  };
  std::vector<std::string> words;
  for (const DirectiveWord& word : line.words) words.push_back(word.text);
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == "--")
      return Error{Errc::usage, format("{}: '--' has no meaning in a script", place(i))};
  Arguments arguments;
  if (const auto bad = parse_words(submit_command(), words, arguments))
    return Error{Errc::usage, format("{}: {}", place(bad->word), bad->what)};
  if (!arguments.operands.empty()) {
    const std::size_t word = words.size() - arguments.operands.size();
    return Error{Errc::usage, format("{}: {} is not an option", place(word), quoted(words[word]))};
  }
  for (Given& given : arguments.options) {
    given.origin = place(given.word);
    if (given.option->scope != Scope::script)
      return Error{Errc::usage, format("{}: '{}' belongs on the command line, not in a script",
                                       given.origin, long_form(*given.option))};
    options.push_back(std::move(given));
  }
  return {};
}

}  // namespace

Result<std::vector<Given>> directive_options(const Directives& directives, std::string_view name) {
  std::vector<Given> options;
  for (const DirectiveLine& line : directives.lines) ROTA_CHECK(append_line(line, name, options));
  return options;
}

}  // namespace rota::commands
