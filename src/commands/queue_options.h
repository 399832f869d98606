// commands/queue_options.h - rqueue's options: the table, and what they say together.
#pragma once
#include <optional>

#include "commands/cli.h"
#include "commands/job_format.h"
#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

struct QueueOptions {
  JobFilter filter;
  std::optional<JobFormat> format;
  bool json = false;
  bool parsable = false;
  bool header = true;
  bool watch = false;
  bool is_long = false;
};

const Command& queue_command();
/// `me` says which user --me stands for; it is asked only then.
Result<QueueOptions> queue_options_from(const Arguments& arguments, std::string (*me)());

}  // namespace rota::commands
