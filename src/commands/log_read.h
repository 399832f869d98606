// commands/log_read.h - a job's output, from the node that has it.
#pragma once
#include <cstdint>
#include <optional>

#include "commands/session.h"
#include "model/ids.h"

namespace rota::commands {

struct LogOptions {
  JobId job;
  std::uint32_t task = 0;
  bool errors = false;
  bool follow = false;
  std::int64_t tail_lines = -1;   // -1: all
  std::optional<WallTime> since;  // of LogLines
  bool timestamps = false;        // the same
};

/// Prints the output. With `follow`, waits for the job to start and stays until it ends; a session
/// with its node that breaks is made again where it stopped. False: `since` was asked for, and no
/// line carried a time, so all was shown.
awaitable<Result<bool>> print_log(net::ConnectOptions controller, LogOptions options);

}  // namespace rota::commands
