// commands/container_options.h - what rsubmit's options say of a job's container.
#pragma once
#include "commands/cli.h"
#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// Mounts of a list, and a variable: each beside those that were given before.
Result<void> apply_mounts(const Given& given, ContainerSpec& container);
Result<void> apply_variable(const Given& given, ContainerSpec& container);
Result<PullPolicy> pull_from(const Given& given);
Result<std::string> runtime_from(const Given& given);

/// Puts the container into the payload, once its surroundings are known: sources of mounts become
/// absolute, and variables take the place of those that were taken over.
Result<void> take_container(const ContainerSpec& container, bool mount_home, JobPayload& payload);

}  // namespace rota::commands
