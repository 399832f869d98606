// contribs/slurm/scontrol.cpp - scontrol: what is known of one thing, and changes to jobs.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "commands/exit_code.h"
#include "commands/job_fields.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/output.h"
#include "commands/sisters.h"
#include "commands/table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/lower.h"
#include "common/units.h"
#include "nodes.h"
#include "slurm.h"

namespace rota::slurm {
namespace {

using namespace commands;

enum : int { id_oneliner = option_own, id_ignored };

constexpr auto here = Scope::command_line;
constexpr auto table = std::to_array<Option>({
    {id_oneliner, 'o', "oneliner", "", "all of one thing on one line", here},
    {id_ignored, 'd', "details", "", "accepted", here},
    {id_ignored, 'a', "all", "", "accepted", here},
    {id_ignored, 'M', "clusters", "LIST", "accepted: there is one", here},
    {id_ignored, 'Q', "quiet", "", "accepted", here},
    verbose_option,
    help_option,
    usage_option,
    version_option,
});
constexpr std::array<std::string_view, 6> synopses{
    "show hostnames [NODES] | hostlist NODES",
    "show job|node|partition [NAME...]",
    "hold|release|requeue|suspend|resume JOB...",
    "update JobId=JOB KEY=VALUE...",
    "ping",
    "version",
};
constexpr Command command{
    .name = "scontrol",
    .synopses = synopses,
    .summary = "Show jobs and nodes, and change jobs, as Slurm does: see rota(1).",
    .options = table};

/// Lines of "Key=Value", those after the first indented; or all on one.
class Block {
 public:
  explicit Block(bool is_one_line) : is_one_line_(is_one_line) {}
  void line(std::string_view text) {
    if (!text_.empty()) text_ += is_one_line_ ? " " : "\n   ";
    text_ += printable(text);
  }
  std::string take() const { return text_ + (is_one_line_ ? "\n" : "\n\n"); }

 private:
  bool is_one_line_;
  std::string text_;
};

std::string or_null(std::string text) { return text.empty() ? "(null)" : text; }

std::string job_text(const JobView& job, bool is_one_line) {
  Block block(is_one_line);
  const std::string array =
      job.array.of ? format("ArrayJobId={} ArrayTaskId={} ", job.array.of.value, job.array.index)
      : job.spec.is_array()
          ? format("ArrayJobId={} ArrayTaskId={} ", job.id.value, job.waiting.text())
          : "";
  const std::int64_t limit = job.spec.time_limit_seconds;
  const bool has_begun = bool(job.start_time) && job.state != JobState::pending;
  block.line(format("JobId={} {}JobName={}", job.id.value, array, job.spec.name));
  block.line(format("UserId={}({}) GroupId={} MCS_label=N/A", std::string(job.owner.user),
                    job.owner.uid, job.owner.gid));
  block.line(format("Priority={} Nice={} Account={} QOS=normal", job.spec.priority_or_kinds(),
                    job.spec.rules->nice, or_null(std::string(job.spec.project))));
  const std::string_view wait = job.state == JobState::pending ? name_of(job.wait) : "None";
  block.line(format("JobState={} Reason={} Dependency={}", state_name(job.state),
                    wait.empty() ? "None" : wait, or_null(text_of(job.spec.rules->dependencies))));
  block.line(format("Requeue={} Restarts={} BatchFlag=1 Reboot=0 ExitCode={}:{}",
                    job.spec.requeue ? 1 : 0, job.restarts, job.exit_code, job.exit_signal));
  block.line(
      format("RunTime={} TimeLimit={} TimeMin=N/A", long_duration(elapsed_of(job)),
             limit == 0 ? std::string("UNLIMITED") : long_duration(std::chrono::seconds(limit))));
  block.line(format("SubmitTime={} EligibleTime={}", date_text(job.submit_time),
                    date_text(job.spec.rules->begin ? job.spec.rules->begin : job.submit_time)));
  const WallTime end = job.end_time ? job.end_time
                       : has_begun && limit > 0
                           ? WallTime{job.start_time.microseconds + limit * 1'000'000}
                           : WallTime{};
  block.line(format("StartTime={} EndTime={} Deadline={}",
                    date_text(has_begun ? job.start_time : job.expected_start), date_text(end),
                    date_text(job.spec.rules->deadline, "N/A")));
  block.line(format("Partition={} AllocNode:Sid=N/A", or_null(std::string(job.spec.queue))));
  block.line(format("ReqNodeList={} ExcNodeList={}", or_null(job.spec.nodes->only),
                    or_null(job.spec.nodes->except)));
  block.line(format("NodeList={}", hostlist_fold(job.nodes)));
  if (!job.nodes.empty()) block.line(format("BatchHost={}", job.nodes.front()));
  block.line(format("NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={}", node_count(job),
                    cpus_of(job), job.spec.task_count, job.spec.task.cpu_count));
  block.line(format("TRES={}", tres_text(job)));
  block.line(
      format("MinCPUsNode={} MinMemoryNode={} MinTmpDiskNode=0", job.spec.task.cpu_count,
             job.spec.node.memory_bytes == 0 ? "0" : size_format(job.spec.node.memory_bytes)));
  block.line(format("Features={} DelayBoot=00:00:00", or_null(job.spec.nodes->constraint)));
  if (!job.spec.rules->comment.empty()) block.line(format("Comment={}", job.spec.rules->comment));
  if (job.gpu_amount > 0)
    block.line(format("TresPerJob=gres/gpu:{}", decimal_format(job.gpu_amount, 6)));
  return block.take();
}

std::string node_text(const NodeView& node, bool is_one_line) {
  Block block(is_one_line);
  std::string state = node_state(node, false);
  std::ranges::transform(state, state.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  if (node.state == NodeState::drained) state = "IDLE+DRAIN";
  block.line(format("NodeName={} Arch=x86_64 CoresPerSocket={}", node.identity.name,
                    node.inventory.cpu_count));
  block.line(format("CPUAlloc={} CPUEfctv={} CPUTot={} CPULoad=N/A", node.cpus_held,
                    node.inventory.cpu_count, node.inventory.cpu_count));
  block.line(format("AvailableFeatures={}", features_of(node)));
  block.line(format("ActiveFeatures={}", features_of(node)));
  block.line(format("Gres={}", gres_of(node)));
  block.line(format("NodeAddr={} NodeHostName={} Version={}", node.identity.host(),
                    node.identity.name, node.identity.version));
  block.line(format("RealMemory={} AllocMem={} Sockets=1 Boards=1",
                    node.inventory.memory_bytes >> 20, node.memory_held_bytes >> 20));
  block.line(format("State={} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A", state));
  block.line(format("CfgTRES=cpu={},mem={}M,billing={},gres/gpu={}", node.inventory.cpu_count,
                    node.inventory.memory_bytes >> 20, node.inventory.cpu_count,
                    node.inventory.gpus.size()));
  block.line(format("AllocTRES=cpu={},mem={}M,gres/{}", node.cpus_held,
                    node.memory_held_bytes >> 20, gres_used(node)));
  if (!node.reason.empty())
    block.line(format("Reason={} [root@{}]", node.reason, date_text(node.since)));
  return block.take();
}

std::string partition_text(const Partition& partition, const std::vector<NodeView>& nodes,
                           bool is_one_line) {
  Block block(is_one_line);
  std::vector<std::string> names;
  std::uint64_t cpus = 0, gpus = 0;
  for (const NodeView& node : nodes) {
    if (!partition.holds(node)) continue;
    names.push_back(node.identity.name);
    cpus += node.inventory.cpu_count;
    gpus += node.inventory.gpus.size();
  }
  block.line(format("PartitionName={}", partition.name));
  block.line("AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL");
  block.line(format("Default={} DefaultTime={} MaxTime={}", partition.is_default ? "YES" : "NO",
                    partition.default_time == "n/a" ? "NONE" : partition.default_time,
                    partition.limit == "infinite" ? "UNLIMITED" : partition.limit));
  block.line(format("Nodes={}", or_null(hostlist_fold(names))));
  block.line(format("State=UP TotalCPUs={} TotalNodes={}", cpus, names.size()));
  block.line(format("TRES=cpu={},node={},gres/gpu={}", cpus, names.size(), gpus));
  return block.take();
}

Result<int> show_hosts(const std::vector<std::string>& words, std::string_view what) {
  std::vector<std::string> lists(words.begin() + 2, words.end());
  if (what == "hostnames") {
    if (lists.empty()) {
      const char* around = std::getenv("SLURM_JOB_NODELIST");
      if (around == nullptr) around = std::getenv("ROTA_JOB_NODELIST");
      if (around == nullptr)
        return Error{Errc::usage, "host list is empty: outside of a job name the nodes"};
      lists.push_back(around);
    }
    std::string text;
    for (const std::string& list : lists) {
      ROTA_TRY(const auto names, hostlist_expand(list));
      for (const std::string& name : names) text += name + "\n";
    }
    ROTA_CHECK(print(text));
    return exit_ok;
  }
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    ROTA_TRY(auto more, hostlist_expand(list));
    std::move(more.begin(), more.end(), std::back_inserter(names));
  }
  if (what == "hostlistsorted") std::ranges::sort(names);
  ROTA_CHECK(print(hostlist_fold(names) + "\n"));
  return exit_ok;
}

Result<int> show_jobs(const Program& program, const std::vector<std::string>& words,
                      bool is_one_line) {
  JobFilter filter;
  for (std::size_t i = 2; i < words.size(); ++i) ROTA_CHECK(add_jobs(words[i], filter));
  if (!filter.names_jobs()) filter.ended_too = true;
  ROTA_TRY(const auto jobs, jobs_matching(program, filter));
  if (jobs.empty() && filter.names_jobs()) return Error{Errc::usage, "Invalid job id specified"};
  std::string text;
  for (const JobView& job : jobs) text += job_text(job, is_one_line);
  ROTA_CHECK(print(jobs.empty() ? "No jobs in the system\n" : text));
  return exit_ok;
}

Result<int> show(const Program& program, const std::vector<std::string>& words, bool is_one_line) {
  const std::string what = words.size() < 2 ? std::string() : lower_case(words[1]);
  if (what == "hostnames" || what == "hostlist" || what == "hostlistsorted")
    return show_hosts(words, what);
  if (what == "job" || what == "jobs") return show_jobs(program, words, is_one_line);
  std::string text;
  if (what == "node" || what == "nodes") {
    std::vector<std::string> names;
    for (std::size_t i = 2; i < words.size(); ++i) {
      ROTA_TRY(auto more, hostlist_expand(words[i]));
      std::move(more.begin(), more.end(), std::back_inserter(names));
    }
    ROTA_TRY(const auto nodes, nodes_named(program, names));
    for (const NodeView& node : nodes) text += node_text(node, is_one_line);
  } else if (what == "partition" || what == "partitions") {
    ROTA_TRY(const auto partitions, partitions_of(program));
    ROTA_TRY(const auto nodes, nodes_named(program, {}));
    for (const Partition& partition : partitions)
      if (words.size() == 2 || partition.name == words[2])
        text += partition_text(partition, nodes, is_one_line);
    if (text.empty()) return Error{Errc::usage, format("Partition {} not found", words[2])};
  } else if (what == "config") {
    text = "ClusterName             = rota\nSLURM_VERSION           = 23.11.0\n";
  } else {
    return Error{Errc::usage,
                 format("invalid entity: {}; known are hostnames, hostlist, job, node, partition",
                        what.empty() ? "none" : what)};
  }
  ROTA_CHECK(print(text));
  return exit_ok;
}

/// A key of Slurm's that a job's has here.
std::string own_key(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 18> keys{{
      {"timelimit", "time"},
      {"partition", "queue"},
      {"account", "project"},
      {"name", "name"},
      {"jobname", "name"},
      {"priority", "priority"},
      {"nice", "nice"},
      {"comment", "comment"},
      {"starttime", "begin"},
      {"eligibletime", "begin"},
      {"deadline", "deadline"},
      {"dependency", "dependency"},
      {"reqnodelist", "nodelist"},
      {"nodelist", "nodelist"},
      {"excnodelist", "exclude"},
      {"features", "constraint"},
      {"mailuser", "mail-user"},
      {"mailtype", "mail-type"},
  }};
  for (const auto& [theirs, ours] : keys)
    if (lower_case(key) == theirs) return std::string(ours);
  return {};
}

Result<int> update(const std::vector<std::string>& words) {
  std::vector<std::string> jobs, settings;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos) {
      if (lower_case(words[i]) == "job" || lower_case(words[i]) == "jobid") continue;
      // "scontrol update job 12 TimeLimit=..." is in use, too.
      jobs.push_back(words[i]);
      continue;
    }
    const std::string key = lower_case(words[i].substr(0, equals));
    const std::string value = words[i].substr(equals + 1);
    if (key == "jobid" || key == "job") {
      jobs.push_back(value);
      continue;
    }
    if (key == "nodename" || key == "partitionname")
      return Error{Errc::usage, "nodes and queues are changed with radmin and rproject"};
    const std::string own = own_key(key);
    if (own.empty())
      return Error{Errc::usage, format("Update of this parameter is not supported: {}", words[i])};
    settings.push_back(own + "=" + value);
  }
  if (jobs.empty() || settings.empty())
    return Error{Errc::usage, "write: scontrol update JobId=12 TimeLimit=2:00:00"};
  std::vector<std::string> all{"update", "job"};
  all.insert(all.end(), jobs.begin(), jobs.end());
  all.insert(all.end(), settings.begin(), settings.end());
  return run_sister("rota", all);
}

Result<int> run(Program& program, Arguments arguments) {
  bool is_one_line = false;
  // Options may stand behind the words as well.
  for (const Given& given : arguments.options)
    is_one_line = is_one_line || given.option->id == id_oneliner;
  const std::vector<std::string>& words = arguments.operands;
  if (words.empty()) return Error{Errc::usage, "what to do? show, hold, release, requeue, update"};
  const std::string verb = lower_case(words.front());
  if (verb == "show") return show(program, words, is_one_line);
  if (verb == "version") {
    ROTA_CHECK(print(format("{}\n", release)));
    return exit_ok;
  }
  Result<int> code = Error{Errc::usage, format("invalid keyword: {}", words.front())};
  if (verb == "update") code = update(words);
  if (verb == "ping") code = run_sister("rota", {"ping"});
  if (verb == "uhold") code = Error{Errc::usage, "write hold"};
  for (const std::string_view same : {"hold", "release", "requeue", "suspend", "resume"}) {
    if (verb != same) continue;
    std::vector<std::string> own{verb};
    for (std::size_t i = 1; i < words.size(); ++i) {
      std::string_view job = words[i];
      for (const std::string_view prefix : {"jobid=", "JobId=", "job="})
        if (job.starts_with(prefix)) job.remove_prefix(prefix.size());
      own.emplace_back(job);
    }
    code = run_sister("rota", own);
  }
  if (!code) return std::move(code).error();
  return *code == 0 ? exit_ok : exit_failure;
}

}  // namespace

int scontrol(const std::vector<std::string>& words) { return slurm_main(command, words, run); }

}  // namespace rota::slurm
