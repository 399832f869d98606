// commands/hold_client.h - keeps an allocation while a program on this host uses it.
#pragma once
#include <string>
#include <vector>

#include "commands/program.h"
#include "commands/session.h"
#include "model/job.h"

namespace rota::commands {

/// Runs `words` here with `variables` added to its own, and holds the job meanwhile. The exit code
/// is the program's; the job ends with it. When the job ends first, the program gets SIGHUP, and
/// the reason is said.
awaitable<Result<int>> hold_while(net::ConnectOptions controller, JobId job,
                                  std::vector<std::string> words,
                                  std::vector<std::string> variables, const Program& program);

}  // namespace rota::commands
