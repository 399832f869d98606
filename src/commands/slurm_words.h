// commands/slurm_words.h - options of sbatch, srun and salloc in our words.
#pragma once
#include <span>
#include <string>

#include "commands/cli.h"
#include "commands/dialect.h"
#include "common/result.h"

namespace rota::commands {

enum class SlurmCommand : std::uint8_t { sbatch = 1, srun = 2, salloc = 4 };

/// The table of its options, for --help.
const Command& slurm_command(SlurmCommand command);

/// `words` without the command's name. An option that Slurm has and we do not is lost; one that it
/// does not have, or that must not be left out (--test-only), is an error.
Result<Translation> slurm_translate(SlurmCommand command, std::span<const std::string> words);

/// The words of one #SBATCH line. Here what Slurm does not know is lost as well: a site's plugins
/// add options.
Result<Translation> slurm_directive(std::span<const std::string> words);

/// Options that variables stand for: SBATCH_ACCOUNT=x is --account=x. In the order that counts,
/// below the command line's.
std::vector<std::string> slurm_variables(SlurmCommand command,
                                         std::span<const char* const> environment);

}  // namespace rota::commands
