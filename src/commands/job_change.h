// commands/job_change.h - rota hold, release, requeue, suspend, resume, update and checkpointed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "commands/program.h"
#include "common/result.h"
#include "common/time.h"
#include "proto/messages.h"

namespace rota::commands {

/// Whether rota's verb is one of these but checkpointed.
bool is_change(std::string_view verb);

/// What the words behind the verb ask for: numbers of jobs, and for update 'job' before and
/// KEY=VALUE behind them. Dates become seconds since 1970.
Result<proto::JobChangeRequest> change_from(std::string_view verb,
                                            const std::vector<std::string>& words, WallTime now);
Result<int> change_jobs(const Program& program, std::string_view verb,
                        const std::vector<std::string>& words);
/// The job around this process, or the one that is named, has saved its work.
Result<int> tell_saved(const Program& program, const std::vector<std::string>& words);

/// The job that a word means: a number, or 12_3 for a task of an array, for which the controller is
/// asked.
Result<JobId> job_named(const Program& program, std::string_view text);

}  // namespace rota::commands
