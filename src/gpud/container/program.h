// gpud/container/program.h - programs of the engines, run by a child of rstepd.
#pragma once
#include <string>
#include <vector>

#include "gpud/container/order.h"

namespace rota::gpud {

/// Of the child that starts a container: what was asked for cannot be had anywhere.
inline constexpr int exit_by_job = 3;

void say(int output, const std::string& text);

/// In a child of rstepd: signals as a fresh process has them.
void fresh_signals();

/// Becomes the program, with the order's environment; an input of -1 is none.
[[noreturn]] void become_words(const ContainerOrder& order, const std::vector<std::string>& words,
                               int input, int output, int errors);
/// The same without an input, and with one place for all that it says.
[[noreturn]] void run_words(const ContainerOrder& order, const std::vector<std::string>& words,
                            int output);
/// The same in a child of its own: how it ended, as waitpid gives it.
int call_words(const ContainerOrder& order, const std::vector<std::string>& words, int output);

}  // namespace rota::gpud
