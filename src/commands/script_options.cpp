// commands/script_options.cpp - rsubmit's options where they stand in lines of a script.
#include <array>

#include "commands/slurm_words.h"
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

/// One of ours that stands for a word of an #SBATCH line; nothing for one that says how the command
/// itself behaves.
Result<void> append_own(const OwnWord& own, const std::string& place, std::vector<Given>& options,
                        std::vector<std::string>& lost) {
  Arguments arguments;
  const std::array<std::string, 1> words{own.text};
  if (const auto bad = parse_words(submit_command(), words, arguments))
    return Error{Errc::usage, format("{}: {}", place, bad->what)};
  for (Given& given : arguments.options) {
    given.origin = place;
    const std::string_view name = given.option->name;
    if (given.option->scope == Scope::script)
      options.push_back(std::move(given));
    else if (name != "parsable" && name != "quiet" && name != "verbose")
      lost.push_back(format("{}: {} is lost: it belongs on the command line", place, own.text));
  }
  return {};
}

}  // namespace

Result<std::vector<Given>> slurm_directive_options(const Directives& directives,
                                                   std::string_view name,
                                                   std::vector<std::string>& lost) {
  std::vector<Given> options;
  for (const DirectiveLine& line : directives.lines) {
    std::vector<std::string> words;
    for (const DirectiveWord& word : line.words) words.push_back(word.text);
    const auto translated = slurm_directive(words);
    if (!translated)
      return Error{Errc::usage, format("{}:{}: {}", name, line.line, translated.error().detail)};
    const auto place = [&](std::size_t word) {
      return format("{}:{}:{}", name, line.line, line.words[word].column);
    };
    for (const OwnWord& own : translated->options)
      ROTA_CHECK(append_own(own, place(own.word), options, lost));
    for (const Loss& loss : translated->lost)
      lost.push_back(format("{}: {}", place(loss.word), loss.text()));
  }
  return options;
}

Result<std::vector<Given>> directive_options(const Directives& directives, std::string_view name) {
  std::vector<Given> options;
  for (const DirectiveLine& line : directives.lines) ROTA_CHECK(append_line(line, name, options));
  return options;
}

}  // namespace rota::commands
