// commands/payload.h - what a job carries: its script or command, and where and how it was
// submitted.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "common/result.h"
#include "model/ids.h"
#include "model/job.h"

namespace rota::commands {

/// All of the file at `path`, at most JobBounds::script_bytes_max; "-" is standard input.
Result<std::string> read_script(const std::string& path);

/// Whether a shell could run `script`: it begins with #! and is text with Unix line ends. `name` is
/// the file's, for the error.
Result<void> check_script(std::string_view script, std::string_view name);

/// "/home/ada/train.sh" -> "train.sh".
std::string base_name(std::string_view path);

/// Where we are.
Result<std::string> current_directory();

/// `path` as seen from `directory`, which is absolute.
std::string absolute_path(std::string_view path, std::string_view directory);

/// What the submitting process has: environment, working directory, umask, limits, host name.
/// `directory` is the user's choice; "": this one.
/// Keeps of the variables what --export names: ALL, NONE, names, and NAME=VALUE besides.
Result<void> keep_exported(std::string_view list, std::vector<std::string>& environment);
Result<void> take_surroundings(std::string_view directory, JobPayload& payload);

/// NAME=value entries of `environment`; others cannot be set again and are left out.
std::vector<std::string> environment_of(std::span<const char* const> environment);

/// Random, from the operating system.
Result<RequestId> make_request_id();

}  // namespace rota::commands
