// commands/runai_words.h - "runai submit" in our words.
#pragma once
#include <span>
#include <string>

#include "commands/cli.h"
#include "commands/dialect.h"
#include "common/result.h"

namespace rota::commands {

/// The options of submit, for --help.
const Command& runai_submit_command();

/// Words behind "runai submit". The name becomes --job-name; what Run:ai has and we do not is lost.
/// The operands are the command that the job runs.
Result<Translation> runai_submit(std::span<const std::string> words);

/// The same behind "runai submit-dist KIND": a job of several tasks.
Result<Translation> runai_submit_dist(std::span<const std::string> words);

}  // namespace rota::commands
