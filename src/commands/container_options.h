// commands/container_options.h - what rsubmit's options say of a job's container.
#pragma once
#include <string>
#include <vector>

#include "commands/cli.h"
#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// The options, in rsubmit's table.
enum : int {
  id_image = option_own + 200,
  id_mounts,
  id_env,
  id_container_workdir,
  id_entrypoint,
  id_no_entrypoint,
  id_container_writable,
  id_container_readonly,
  id_mount_home,
  id_shm_size,
  id_large_shm,
  id_pull,
  id_local_image,
  id_runtime,
  id_data,
  id_git,
  id_container_name,
  id_container_save,
  id_container_env,
  id_remap_root,
  id_no_remap_root,
  id_unshare,
};

/// What belongs to a container and is known only where the job is submitted.
struct ContainerSources {
  bool mount_home = false;
  std::vector<GitSource> git;
};

/// Takes one of them over; another option is left alone. Mounts, variables, volumes and sources are
/// added to those that were given before; of the others the last wins.
Result<void> apply_container(const Given& given, std::string& image, ContainerSpec& container,
                             ContainerSources& sources);

/// Puts the container into the payload, once its surroundings are known: sources of mounts become
/// absolute, and variables take the place of those that were taken over.
Result<void> take_container(const ContainerSpec& container, const ContainerSources& sources,
                            JobPayload& payload);

}  // namespace rota::commands
