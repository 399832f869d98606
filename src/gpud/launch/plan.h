// gpud/launch/plan.h - a launch from the controller made into an order for rstepd.
#pragma once
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/agent.h"
#include "gpud/container/plan.h"
#include "gpud/launch/cgroup_host.h"
#include "gpud/launch/order.h"
#include "gpud/mig/instances.h"
#include "gpud/mig/minors.h"
#include "gpud/mps/access.h"
#include "gpud/share/driver.h"
#include "model/node.h"

namespace rota::gpud {

/// What a job with a part of a GPU needs of the node.
struct ShareFacts {
  std::string shim_dir;  // "": this rgpud has no shim, and refuses such jobs
  DriverFiles driver;
  bool driver_limits = false;  // of ShareOrder
};

/// What does not change between the runs of one rgpud.
struct NodeFacts {
  std::string name;
  std::string boot_id;
  std::string spool_dir;
  std::string scripts_dir;
  CgroupBase cgroups;
  std::vector<Gpu> gpus;
  ShareFacts shares;
  MigMinors caps;
  bool binds_cpus = true;            // false on a described machine, whose CPUs are not there
  bool closes_gpus = false;          // jobs may open the files of their own GPUs only
  std::vector<Cpu> cpus;             // as the Agent has them
  std::string bind_memory = "none";  // node.bind_memory
  Duration burst_grace = std::chrono::seconds(10);  // of BurstRoom
  Duration session_linger = std::chrono::minutes(5);
  Duration unkillable_after = std::chrono::seconds(30);
  Duration git_limit = std::chrono::minutes(10);
  std::uint64_t git_bytes_max = std::uint64_t{20} << 30;
  ContainerFacts containers;
  std::string secrets_base;  // of launch/secrets.h
};

/// What was made ready on the node for one run.
struct Provision {
  std::vector<MigDevice> instances;  // those of the part, in its order
  std::vector<MpsAccess> mps;        // one for each of its GPUs, if it asked for a compute share
  ImageFacts image;                  // of a job with one
  std::uint16_t meeting_port = 0;    // of the job's first node; 0: not known here
};

/// Everything rstepd needs, looked up and spelled out. Fails with launch_failed and the reason when
/// this node cannot run it: another user's job without being root, a pattern that means nothing.
Result<StepOrder> plan_step(proto::LaunchRun launch, std::vector<std::uint32_t> cpus,
                            std::vector<std::uint32_t> groups, const NodeFacts& facts,
                            const NodeSettings& settings, WallTime start_time,
                            const Provision& provision = {});

/// The value of ROTA_RUN: "n1.3fa94c20/12.0".
std::string run_token(const NodeFacts& facts, RunId run);

}  // namespace rota::gpud
