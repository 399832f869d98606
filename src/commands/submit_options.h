// commands/submit_options.h - rsubmit's options: the table, and what they say together.
#pragma once
#include <optional>
#include <string>

#include "commands/cli.h"
#include "commands/container_options.h"
#include "commands/directives.h"
#include "commands/shape.h"
#include "common/result.h"
#include "common/time.h"
#include "model/job.h"

namespace rota::commands {

struct SubmitOptions {
  std::optional<std::string> name;
  std::optional<std::string> project;
  std::optional<JobKind> kind;
  std::optional<std::string> queue;
  std::optional<std::int32_t> priority;
  std::optional<Preemptibility> preemptibility;
  bool background = false;
  std::optional<int> signal;
  std::optional<std::int32_t> signal_seconds;
  std::optional<std::int32_t> grace_seconds;
  std::optional<bool> requeue;
  std::optional<Duration> time_limit;
  ShapeRequest shape;
  NodeWish nodes;
  TopologyRequest topology;  // its levels
  std::uint32_t segment = 0;
  std::string output;
  std::string error;
  std::string input;
  std::string directory;
  std::optional<std::string> wrap;
  std::string image;
  ContainerSpec container;
  ContainerSources sources;
  std::vector<SecretUse> secrets;
  ServiceWish service;
  JobRules rules;
  std::optional<std::string> exported;  // --export
  bool parsable = false;
  bool json = false;
  bool wait = false;
  bool quiet = false;
  std::string template_name;
  bool strict = false;
  bool slurm = false;  // --slurm
};

const Command& submit_command();

/// Takes one option over; a later one wins.
Result<void> apply(const Given& given, SubmitOptions& options);

/// The options of a script's #ROTA lines, each with its place as origin. `name` is the script's.
Result<std::vector<Given>> directive_options(const Directives& directives, std::string_view name);

/// The same of a script's #SBATCH lines. What they say and we cannot do is in `lost`, each with its
/// place.
Result<std::vector<Given>> slurm_directive_options(const Directives& directives,
                                                   std::string_view name,
                                                   std::vector<std::string>& lost);

/// Counts, name, project and limits of the job. `default_name` is used where none was given.
Result<JobSpec> job_spec_from(const SubmitOptions& options, std::string_view default_name);

}  // namespace rota::commands
