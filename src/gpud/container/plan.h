// gpud/container/plan.h - from a job's wish and an image to the order for rstepd.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "common/time.h"
#include "gpud/container/image.h"
#include "gpud/container/order.h"
#include "proto/messages.h"

namespace rota::gpud {

/// What a node has to run containers with.
struct ContainerFacts {
  std::string runtime;               // of jobs that name none: one of those below; "": none
  std::string docker_socket;         // "": dockerd cannot be asked here
  std::string podman;                // the program; "": it is not here
  std::string enroot;                // the program; "": it is not here
  std::string enroot_dir;            // its images and containers
  Owner enroot_account;              // who imports them
  std::string gpus = "none";         // how the engine is told which GPUs: nvidia, cdi, none
  std::string docker_runtime;        // of dockerd's; "": its default
  std::string pause_program;         // "": it was not found
  std::string node;                  // in the names of its containers: no other rgpud's
  std::uint64_t shm_bytes = 0;       // of containers that ask for no size; 0: the engine's default
  std::vector<std::string> ulimits;  // podman: as high as they are here; it would take more
  bool private_network = false;
  bool private_ipc = true;
  std::vector<ContainerMount> mounts;  // the site's, in every container
  std::vector<DataVolume> data;        // the site's, for jobs that name them
  Duration start_limit = std::chrono::minutes(5);
  Duration save_limit = std::chrono::minutes(30);
};

/// What runs the job's image here: none for a job without one, or with --runtime none. Fails with
/// the reason when this node cannot.
Result<ContainerKind> container_kind(const proto::LaunchRun& launch, const ContainerFacts& facts);
/// The same for a job with an image that names this runtime; "": none.
Result<ContainerKind> container_kind(const std::string& wish, const ContainerFacts& facts);

/// The name of a run's container: node, job and restart are in it.
std::string container_name(RunId run, const ContainerFacts& facts);

/// An archive of the owner's that docker or podman makes an image of when the run starts.
bool is_image_file(const proto::LaunchRun& launch, ContainerKind kind);

/// The variables of a job in an image: the submitter's that mean something there, the image's, and
/// last those that were asked for by name.
std::vector<std::string> container_environment(const JobPayload& payload, const ImageFacts& image);

/// All but the directory's contents. `cpu_list` and the part's memory are what the container shows
/// to who asks; they are enforced by the run's cgroup.
Result<ContainerOrder> plan_container(const proto::LaunchRun& launch, ContainerKind kind,
                                      const ImageFacts& image, const ContainerFacts& facts,
                                      const std::string& directory, const std::string& cpu_list);

}  // namespace rota::gpud
