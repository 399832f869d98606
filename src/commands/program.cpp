// commands/program.cpp - the frame around each command's work.
#include "commands/program.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <vector>

#include "commands/exit_code.h"
#include "commands/output.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/version.h"

namespace rota::commands {
namespace {

std::span<const char* const> environment() {
  std::size_t count = 0;
  while (environ[count] != nullptr) ++count;
  return {environ, count};
}

int print_and_end(const Program& program, std::string_view text) {
  if (auto printed = print(text); !printed) return program.fail(printed.error());
  return exit_ok;
}

int usage_error(const Program& program, const Command& command, std::string_view what) {
  program.say(what);
  program.say(format("'{} --help' shows all options", command.name));
  return exit_usage;
}

}  // namespace

void Program::say(std::string_view text) const {
  const std::string line = format("{}: {}\n", name_, escaped(text));
  // Nobody is left to be told when standard error cannot be written.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void Program::note(std::string_view text, int level) const {
  if (verbosity >= level) say(text);
}

int Program::fail(const Error& error) const {
  if (error.code == Errc::io_failed && error.detail == broken_pipe) return exit_broken_pipe;
  // What the user wrote wrong speaks for itself, and so does what this host refused.
  const bool plain = error.code == Errc::usage || error.code == Errc::io_failed;
  say(plain && !error.detail.empty() ? error.detail : error.message());
  return exit_code_of(error.code);
}

int program_main(const Command& command, int argc, char** argv, Work work) {
  prepare_standard_files();
  Program program(command.name);
  auto arguments = parse_environment(command, environment());
  if (!arguments) return program.fail(arguments.error());
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (const auto bad = parse_words(command, words, *arguments))
    return usage_error(program, command, bad->what);
  for (const Given& given : arguments->options) {
    switch (given.option->id) {
      case option_help:
        return print_and_end(program, help_text(command));
      case option_usage:
        return print_and_end(program, usage_text(command));
      case option_version:
        return print_and_end(program, format("rota {}\n", version()));
      case option_verbose:
        ++program.verbosity;
        break;
      default:
        break;
    }
  }
  auto code = work(program, *std::move(arguments));
  return code ? *code : program.fail(code.error());
}

}  // namespace rota::commands
