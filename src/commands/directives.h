// commands/directives.h - the #ROTA or #SBATCH lines at the top of a script, as words.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota::commands {

struct DirectiveWord {
  std::string text;          // with quotes and backslashes taken away
  std::uint32_t column = 0;  // of its first character, from 1, in bytes

  friend bool operator==(const DirectiveWord&, const DirectiveWord&) = default;
};

struct DirectiveLine {
  std::uint32_t line = 0;  // from 1
  std::vector<DirectiveWord> words;

  friend bool operator==(const DirectiveLine&, const DirectiveLine&) = default;
};

struct Directives {
  std::vector<DirectiveLine> lines;
  /// The first such line below the first command, where none is read any more; 0: there is none.
  std::uint32_t ignored_line = 0;
};

inline constexpr std::string_view rota_lines = "#ROTA";
inline constexpr std::string_view slurm_lines = "#SBATCH";

/// Lines that start with `keyword` and a blank, until the first line that is neither blank nor a
/// comment. Words are split and quoted as a shell would: '...', "...", backslash, and # at the
/// start of a word begins a comment; nothing is expanded. Errors begin with "name:line:column: ".
Result<Directives> directives_parse(std::string_view script, std::string_view name,
                                    std::string_view keyword = rota_lines);

}  // namespace rota::commands
