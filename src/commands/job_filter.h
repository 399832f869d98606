// commands/job_filter.h - which jobs a command line means: lists of ids, users, states, names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// The most values that one list may have.
inline constexpr std::size_t list_size_max = 100'000;

/// "a,b" -> a b. An empty part is an error.
Result<std::vector<std::string>> list_from(std::string_view text);

/// Each adds what a comma-separated list says. The error has no option in it. Jobs stay in order,
/// each once.
Result<void> add_jobs(std::string_view text, JobFilter& filter);
Result<void> add_words(std::string_view text, std::vector<std::string>& words);
/// "all" stands for every state.
Result<void> add_states(std::string_view text, JobFilter& filter);

/// The job number in `text`.
Result<JobId> job_id_from(std::string_view text);

/// The name of the user that runs this command, or its number where the host knows no name.
std::string own_user();

}  // namespace rota::commands
