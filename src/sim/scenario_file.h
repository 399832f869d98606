// sim/scenario_file.h - a story about a cluster: what is submitted when, and what must come of it.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "common/yaml.h"
#include "model/project.h"
#include "sched/world.h"
#include "sim/cluster_file.h"
#include "sim/trace.h"

namespace rota::sim {

struct ScenarioJob {
  JobSpec spec;
  SimTime work = 0;
  SimTime after = 0;  // its step, so long
};

/// Something that must be true at one moment.
struct Expectation {
  enum class Kind : std::uint8_t {
    running,    // exactly these jobs
    waiting,    // exactly these
    ended,      // exactly these, by themselves
    cancelled,  // exactly these
    refused,    // exactly these: they would never fit
    held,       // GPUs of a project or department
    share,      // GPUs that are a project's or department's due
    preempted,  // how often a job had to make way
    node,       // exactly these jobs on a node
    same_gpu,   // these jobs are on one GPU
    idle,       // GPUs that nobody has any part of
  };
  Kind kind = Kind::running;
  YamlMark mark;
  std::string subject;             // project, department, job or node; "": the cluster
  std::vector<std::string> names;  // of jobs, in order
  std::int64_t amount = 0;         // millionths of GPUs, or a count
};
/// The key that it stands under: "running", "nodes".
std::string_view name_of(Expectation::Kind kind);

struct SubmitStep {
  std::vector<ScenarioJob> jobs;  // by time; those of one moment are one pass
};
struct WaitStep {
  SimTime time = 0;
};
struct CancelStep {
  std::vector<std::string> names;
};
struct ExpectStep {
  std::vector<Expectation> expectations;
};
using Step = std::variant<SubmitStep, WaitStep, CancelStep, ExpectStep>;

struct Scenario {
  std::string file;
  ClusterDescription cluster;
  Org org;
  sched::Policy policy;
  std::vector<Step> steps;
};

/// Reads and checks a file; rsim(1) describes it. Whoever is named in a step is there: jobs were
/// submitted before, nodes, projects and departments exist.
Result<Scenario> scenario_load(const std::string& path);
Result<Scenario> scenario_parse(std::string_view text, const std::string& name);

}  // namespace rota::sim
