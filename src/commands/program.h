// commands/program.h - what every command's main does around its own work.
#pragma once
#include <string>
#include <string_view>

#include "commands/cli.h"
#include "common/result.h"

namespace rota::commands {

/// Speaks for the command on standard error, one line at a time.
class Program {
 public:
  explicit Program(std::string_view name) : name_(name) {}

  const std::string& name() const { return name_; }
  /// "rsubmit: ..." always; or only with one -v, or two.
  void say(std::string_view text) const;
  void note(std::string_view text, int verbosity = 1) const;
  /// Prints the error and returns the exit code that belongs to it.
  int fail(const Error& error) const;

  int verbosity = 0;

 private:
  std::string name_;
};

/// The command's own part: the exit code, or the error that decides it.
using Work = Result<int> (*)(Program& program, Arguments arguments);

/// Reads the environment and the command line by the table, answers --help, --usage and --version,
/// and otherwise calls `work`. Returns the exit code.
int program_main(const Command& command, int argc, char** argv, Work work);

}  // namespace rota::commands
