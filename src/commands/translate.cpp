// commands/translate.cpp - scripts line by line, command lines word by word.
#include "commands/translate.h"

#include <algorithm>
#include <array>
#include <map>

#include "commands/directives.h"
#include "commands/exit_code.h"
#include "commands/output.h"
#include "commands/payload.h"
#include "commands/runai_words.h"
#include "commands/slurm_words.h"
#include "commands/submit_options.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

/// "--env='a b'": the name stays as it is.
std::string shell_option(const std::string& option) {
  const std::size_t equals = option.find('=');
  if (equals == std::string::npos) return shell_word(option);
  return option.substr(0, equals + 1) + shell_word(option.substr(equals + 1));
}

/// The options of one line as a #ROTA line; "": there are none.
std::string rota_line(const std::vector<std::string>& options) {
  std::string text;
  for (const std::string& option : options) text += " " + shell_option(option);
  return text.empty() ? text : std::string(rota_lines) + text;
}

/// Of each line that was read, by its number, what stands in its place.
using Replaced = std::map<std::uint32_t, std::string>;

Result<void> replace_native(const std::string& script, std::string_view name, Replaced& replaced) {
  ROTA_TRY(const auto directives, directives_parse(script, name));
  for (const DirectiveLine& line : directives.lines) {
    ROTA_TRY(const auto given, directive_options({.lines = {line}}, name));
    std::vector<std::string> options;
    for (const Given& one : given) options.push_back(long_option(one.option->name, one.value));
    replaced[line.line] = rota_line(options);
  }
  return {};
}

Result<void> replace_slurm(const std::string& script, std::string_view name, Replaced& replaced,
                           std::vector<std::string>& lost) {
  ROTA_TRY(const auto directives, directives_parse(script, name, slurm_lines));
  for (const DirectiveLine& line : directives.lines) {
    std::vector<std::string> lost_here;
    ROTA_TRY(const auto given, slurm_directive_options({.lines = {line}}, name, lost_here));
    std::vector<std::string> options;
    for (const Given& one : given) options.push_back(long_option(one.option->name, one.value));
    replaced[line.line] = rota_line(options);
    lost.insert(lost.end(), lost_here.begin(), lost_here.end());
  }
  return {};
}

Result<Translation> translate_runai(std::span<const std::string> words) {
  if (words.empty()) return Error{Errc::usage, "runai what? 'runai submit' can be translated"};
  if (words.front() == "submit") return runai_submit(words.subspan(1));
  if (words.front() == "submit-dist") return runai_submit_dist(words.subspan(1));
  // The second command line: "training [standard|pytorch] submit", "workspace submit".
  const auto submit = std::ranges::find(words, "submit");
  constexpr std::array<std::string_view, 3> kinds{"training", "workspace", "inference"};
  const auto kind = std::ranges::find(kinds, words.front());
  if (kind == kinds.end() || submit == words.end() || submit - words.begin() > 2)
    return Error{Errc::usage,
                 format("'runai {}' is no job; 'runai submit' can be translated", words.front())};
  ROTA_TRY(auto out, runai_submit(std::span(submit + 1, words.end())));
  if (*kind == "workspace") out.options.push_back({"--interactive", 0});
  if (*kind == "inference") out.options.push_back({"--inference", 0});
  return out;
}

Result<int> say_lost(const Program& program, const std::vector<std::string>& lost) {
  for (const std::string& loss : lost) program.say(loss);
  return exit_ok;
}

}  // namespace

Result<std::vector<std::string>> words_of_line(const std::string& line) {
  // A line of options is split so: it only lacks its keyword.
  const std::string as_lines = std::string(rota_lines) + " " + line;
  ROTA_TRY(const auto directives, directives_parse(as_lines, "the command"));
  std::vector<std::string> words;
  for (const DirectiveLine& each : directives.lines)
    for (const DirectiveWord& word : each.words) words.push_back(word.text);
  return words;
}

Result<TranslatedScript> translate_script(const std::string& script, std::string_view name) {
  TranslatedScript out;
  Replaced replaced;
  ROTA_CHECK(replace_slurm(script, name, replaced, out.lost));
  ROTA_CHECK(replace_native(script, name, replaced));
  std::uint32_t number = 0;
  for (std::size_t start = 0; start < script.size();) {
    const std::size_t end = std::min(script.find('\n', start), script.size() - 1);
    const auto found = replaced.find(++number);
    if (found == replaced.end())
      out.text += script.substr(start, end + 1 - start);
    else if (!found->second.empty())
      out.text += found->second + "\n";
    start = end + 1;
  }
  return out;
}

Result<TranslatedCommand> translate_command(const std::vector<std::string>& words) {
  if (words.empty()) return Error{Errc::usage, "there is no command to translate"};
  const std::string name = base_name(words.front());
  const std::span<const std::string> rest = std::span(words).subspan(1);
  if (name == "runai") {
    ROTA_TRY(auto out, translate_runai(rest));
    return TranslatedCommand{"rsubmit", std::move(out)};
  }
  constexpr std::array<std::pair<std::string_view, SlurmCommand>, 3> slurm{
      {{"sbatch", SlurmCommand::sbatch},
       {"srun", SlurmCommand::srun},
       {"salloc", SlurmCommand::salloc}}};
  for (const auto& [known, which] : slurm) {
    if (name != known) continue;
    ROTA_TRY(auto out, slurm_translate(which, rest));
    return TranslatedCommand{which == SlurmCommand::sbatch ? "rsubmit"
                             : which == SlurmCommand::srun ? "rrun"
                                                           : "ralloc",
                             std::move(out)};
  }
  return Error{Errc::usage,
               format("{} is no command that can be translated; known are 'runai submit', sbatch, "
                      "srun and salloc",
                      quoted(words.front()))};
}

std::string command_line(const TranslatedCommand& command) {
  std::string text = command.name;
  for (const OwnWord& option : command.words.options) text += " " + shell_option(option.text);
  if (command.words.after_dashes) text += " --";
  for (const std::string& word : command.words.operands) text += " " + shell_word(word);
  return text;
}

Result<int> translate(const Program& program, const std::vector<std::string>& operands) {
  if (operands.empty())
    return Error{Errc::usage, "translate what? a script's file, or a command: 'runai submit ...'"};
  std::vector<std::string> words = operands;
  if (operands.size() == 1 && operands[0].find(' ') == std::string::npos) {
    ROTA_TRY(const std::string script, read_script(operands[0]));
    ROTA_TRY(const auto out, translate_script(script, operands[0]));
    ROTA_CHECK(print(out.text));
    return say_lost(program, out.lost);
  }
  if (operands.size() == 1) {
    ROTA_TRY(words, words_of_line(operands[0]));
  }
  ROTA_TRY(const auto out, translate_command(words));
  ROTA_CHECK(print(command_line(out) + "\n"));
  std::vector<std::string> lost;
  for (const Loss& loss : out.words.lost) lost.push_back(loss.text());
  return say_lost(program, lost);
}

}  // namespace rota::commands
