// sim/scenario_job.cpp - keys of a submission to JobSpecs.
#include "sim/scenario_job.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/nearest.h"
#include "common/units.h"
#include "sim/virtual_cluster.h"
#include "sim/yaml_keys.h"

namespace rota::sim {
namespace {

constexpr std::array<std::string_view, 15> job_keys{
    "name",  "project", "gpus",   "kind",  "priority", "preemptible", "background", "tasks",
    "nodes", "cpus",    "memory", "queue", "runs",     "limit",       "every"};
constexpr std::array<std::string_view, 3> kinds{"train", "interactive", "inference"};

/// One submission, key by key.
class JobReader {
 public:
  JobReader(const YamlKeys& keys, const std::string& file, const Org& org)
      : keys_(keys), file_(file), org_(org) {}

  Result<ScenarioJob> read() {
    ROTA_CHECK(read_project());
    ROTA_CHECK(read_size());
    ROTA_CHECK(read_rank());
    ROTA_CHECK(read_times());
    ROTA_CHECK(read_queue());
    return job_;
  }

 private:
  Error at(const YamlNode& node, std::string_view what) const {
    return yaml_error(file_, node.mark, what);
  }
  Result<std::uint32_t> count(std::string_view key, std::uint32_t fallback, std::int64_t min,
                              std::int64_t max) const {
    const YamlNode* node = keys_.find(key);
    if (node == nullptr) return fallback;
    ROTA_TRY(const auto number, yaml_number(*node, file_, key, min, max));
    return static_cast<std::uint32_t>(number);
  }

  Result<void> read_project() {
    const YamlNode* node = keys_.find("project");
    if (node == nullptr) return {};
    ROTA_TRY(job_.spec.project, yaml_word(*node, file_, "project"));
    if (find_project(org_, job_.spec.project) != nullptr) return {};
    return at(*node, format("there is no project {}; {}", quoted(job_.spec.project.str()),
                            known_projects(org_, job_.spec.project)));
  }

  Result<void> read_size() {
    JobSpec& spec = job_.spec;
    ROTA_CHECK(read_gpu_request());
    ROTA_TRY(spec.task.cpu_count, count("cpus", 1, 1, JobBounds::cpus_per_task_max));
    ROTA_CHECK(read_nodes());
    // Without a number every node of those that it needs has one.
    const std::uint32_t tasks = spec.is_elastic() ? spec.node_count : 1;
    ROTA_TRY(spec.task_count, count("tasks", tasks, 1, JobBounds::task_count_max));
    if (const YamlNode* node = keys_.find("memory")) {
      ROTA_TRY(spec.task.memory_bytes, yaml_size(*node, file_, "memory", std::uint64_t{1} << 43));
    }
    return {};
  }

  /// "4", or "4-8": at least 4, and up to 8 while they are free.
  Result<void> read_nodes() {
    const YamlNode* node = keys_.find("nodes");
    if (node == nullptr) return {};
    JobSpec& spec = job_.spec;
    ROTA_TRY(const std::string word, yaml_word(*node, file_, "nodes"));
    const std::string_view text = word;
    const std::size_t dash = text.find('-');
    constexpr std::uint32_t most_max = JobBounds::node_count_max;
    const auto least = number_parse(text.substr(0, dash), most_max);
    const auto most =
        dash == std::string_view::npos ? least : number_parse(text.substr(dash + 1), most_max);
    if (!least || !most || *least == 0 || *least > *most)
      return at(*node, format("nodes must be a number from 1 to {} or a range of them such as 4-8, "
                              "not {}",
                              most_max, quoted(word)));
    spec.node_count = static_cast<std::uint32_t>(*least);
    if (*most > *least) spec.node_count_max = static_cast<std::uint32_t>(*most);
    return {};
  }

  /// What the queue says where the job does not.
  Result<void> read_queue() {
    const YamlNode* node = keys_.find("queue");
    if (node == nullptr) return {};
    JobSpec& spec = job_.spec;
    ROTA_TRY(const std::string word, yaml_word(*node, file_, "queue"));
    const Queue* queue = find_queue(org_, word);
    if (queue == nullptr)
      return at(*node, format("there is no queue {}; {}", quoted(word), known_queues(org_, word)));
    const std::string project(spec.project.empty() ? default_project : spec.project.str());
    if (!queue->projects.empty() &&
        std::find(queue->projects.begin(), queue->projects.end(), project) == queue->projects.end())
      return at(*node, format("queue {} is for the projects {}, not for {}", quoted(word),
                              fmt::join(queue->projects, ", "), quoted(project)));
    spec.queue = word;
    if (spec.priority == 0) spec.priority = queue->priority;
    std::int64_t& limit = spec.time_limit_seconds;
    if (limit == 0) limit = queue->time_limit_default_seconds.value_or(0);
    const std::int64_t limit_max = queue->time_limit_max_seconds.value_or(0);
    if (limit_max == 0 || (limit != 0 && limit <= limit_max)) return {};
    if (limit != 0)
      return at(*node, format("queue {} allows a limit of at most {} s", quoted(word), limit_max));
    limit = limit_max;
    return {};
  }

  /// Whole ones, or a part of one.
  Result<void> read_gpu_request() {
    const YamlNode* node = keys_.find("gpus");
    if (node == nullptr) return {};
    ROTA_TRY(const std::int64_t amount, read_gpus(*node, file_, "gpus"));
    TaskRequest& task = job_.spec.task;
    if (amount > 0 && amount < gpu_unit) {
      task.gpu_count = 1;
      task.gpu_share = static_cast<std::uint32_t>(amount);
      return {};
    }
    if (amount % gpu_unit != 0 || amount > JobBounds::gpus_per_task_max * gpu_unit)
      return at(*node, format("gpus must be a whole number up to {}, or a part of one GPU",
                              JobBounds::gpus_per_task_max));
    task.gpu_count = static_cast<std::uint32_t>(amount / gpu_unit);
    return {};
  }

  Result<void> read_rank() {
    JobSpec& spec = job_.spec;
    if (const YamlNode* node = keys_.find("kind")) {
      ROTA_TRY(const std::string word, yaml_word(*node, file_, "kind"));
      const auto kind = job_kind_from(word);
      if (!kind)
        return at(*node,
                  format("kind must be one of {}, not {}", fmt::join(kinds, ", "), quoted(word)));
      spec.kind = *kind;
    }
    if (const YamlNode* node = keys_.find("priority")) {
      ROTA_TRY(const std::string word, yaml_word(*node, file_, "priority"));
      const auto priority = priority_from(word);
      if (!priority)
        return at(*node, format("priority must be a number from 1 to {} or a name such as high, "
                                "not {}",
                                JobBounds::priority_max, quoted(word)));
      spec.priority = *priority;
    }
    if (const YamlNode* node = keys_.find("preemptible")) {
      ROTA_TRY(const std::string word, yaml_word(*node, file_, "preemptible"));
      if (word != "yes" && word != "no" && word != "semi")
        return at(*node, "preemptible must be yes, no or semi");
      spec.preemptibility = word == "yes"  ? Preemptibility::yes
                            : word == "no" ? Preemptibility::no
                                           : Preemptibility::semi;
    }
    if (const YamlNode* node = keys_.find("background")) {
      ROTA_TRY(const std::string word, yaml_word(*node, file_, "background"));
      if (word != "yes" && word != "no") return at(*node, "background must be yes or no");
      spec.background = word == "yes";
    }
    return {};
  }

  Result<void> read_times() {
    job_.work = VirtualCluster::forever;
    if (const YamlNode* node = keys_.find("runs")) {
      ROTA_TRY(job_.work, read_sim_time(*node, file_, "runs"));
    }
    if (const YamlNode* node = keys_.find("limit")) {
      ROTA_TRY(const SimTime limit, read_sim_time(*node, file_, "limit"));
      if (limit < 1000 || limit % 1000 != 0) return at(*node, "limit must be whole seconds");
      if (job_.work > limit) return at(*node, "limit is shorter than 'runs:', which must be given");
      job_.spec.time_limit_seconds = limit / 1000;
    }
    return {};
  }

  const YamlKeys& keys_;
  const std::string& file_;
  const Org& org_;
  ScenarioJob job_;
};

}  // namespace

Result<std::vector<ScenarioJob>> read_scenario_jobs(const YamlNode& node, const std::string& file,
                                                    const Org& org) {
  ROTA_TRY(const auto keys, YamlKeys::open(node, file, "a job", job_keys));
  ROTA_TRY(const YamlNode* name, keys.need("name"));
  ROTA_TRY(const std::string word, yaml_word(*name, file, "name"));
  const auto names = hostlist_expand(word);
  if (!names) return yaml_error(file, name->mark, format("name: {}", names.error().detail));
  ROTA_TRY(const ScenarioJob job, JobReader(keys, file, org).read());
  SimTime every = 0;
  if (const YamlNode* value = keys.find("every")) {
    ROTA_TRY(every, read_sim_time(*value, file, "every"));
  }
  std::vector<ScenarioJob> jobs;
  for (const std::string& each : *names) {
    jobs.push_back(job);
    jobs.back().spec.name = each;
    jobs.back().after = every * static_cast<SimTime>(jobs.size() - 1);
    if (const auto good = validate(jobs.back().spec); !good)
      return yaml_error(file, node.mark, good.error().detail);
  }
  return jobs;
}

Result<std::int64_t> read_gpus(const YamlNode& node, const std::string& file,
                               std::string_view key) {
  ROTA_TRY(const std::string word, yaml_word(node, file, key));
  const auto amount = decimal_parse(word, 6, OrgBounds::gpus_max);
  if (!amount) return yaml_error(file, node.mark, format("{}: {}", key, amount.error().detail));
  return *amount;
}

Result<SimTime> read_sim_time(const YamlNode& node, const std::string& file, std::string_view key) {
  const auto max = std::chrono::seconds(JobBounds::time_limit_seconds_max);
  ROTA_TRY(const Duration duration, yaml_duration(node, file, key, max));
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace rota::sim
