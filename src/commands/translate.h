// commands/translate.h - rota translate: the native form of a script or a command line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "commands/dialect.h"
#include "commands/program.h"
#include "common/result.h"

namespace rota::commands {

/// A script whose lines of options have become #ROTA lines, and what was lost: "job.sh:7: ...".
struct TranslatedScript {
  std::string text;
  std::vector<std::string> lost;
};
Result<TranslatedScript> translate_script(const std::string& script, std::string_view name);

/// A command line of Slurm's or Run:ai's as words: "runai submit ...", "sbatch ...", "srun ...".
/// `name` is the command of ours.
struct TranslatedCommand {
  std::string name;
  Translation words;
};
Result<TranslatedCommand> translate_command(const std::vector<std::string>& words);

/// As a shell splits a line, without expanding anything.
Result<std::vector<std::string>> words_of_line(const std::string& line);

/// As a shell takes it, on one line.
std::string command_line(const TranslatedCommand& command);

/// What the operands of 'rota translate' mean: a file, or a command line in one word or in several.
Result<int> translate(const Program& program, const std::vector<std::string>& operands);

}  // namespace rota::commands
