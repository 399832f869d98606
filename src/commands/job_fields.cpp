// commands/job_fields.cpp - what each field of a job looks like.
#include "commands/job_fields.h"

#include <algorithm>
#include <array>

#include "common/format.h"
#include "common/hostlist.h"
#include "common/units.h"

namespace rota::commands {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

/// A duration in Slurm's form, or the word for its absence.
void append_limit(std::string& out, const JobView& job) {
  const std::int64_t seconds = job.spec.time_limit_seconds;
  out += seconds == 0 ? "UNLIMITED" : elapsed_format(std::chrono::seconds(seconds));
}

void append_left(std::string& out, const JobView& job) {
  if (job.spec.time_limit_seconds == 0) {
    out += "UNLIMITED";
    return;
  }
  const Duration limit = std::chrono::seconds(job.spec.time_limit_seconds);
  out += elapsed_format(std::max(Duration(0), limit - elapsed_of(job)));
}

void append_time(std::string& out, WallTime time) { out += time ? rfc3339(time) : "N/A"; }

void append_nodes(std::string& out, const JobView& job) { out += hostlist_fold(job.nodes); }

bool shows_nodes(const JobView& job) {
  return !job.nodes.empty() && job.state != JobState::pending &&
         (job.reason.empty() || !is_final(job.state));
}

/// Slurm's NODELIST(REASON).
void append_nodes_or_reason(std::string& out, const JobView& job) {
  if (shows_nodes(job)) return append_nodes(out, job);
  const std::string_view reason = reason_of(job);
  if (reason.empty()) return append_nodes(out, job);
  out += '(';
  out += reason;
  out += ')';
}

bool has_usage(const JobView& job) { return !job.usage.empty(); }
/// MIG instances use memory and energy, and what else they do the driver does not tell.
bool has_utilization(const JobView& job) { return job.usage.sampled_ms > 0; }

/// Over the whole run: of the GPU time that was looked at, how much was used.
void append_mean(std::string& out, const JobView& job) {
  if (has_utilization(job)) out += format("{}%", job.usage.busy_ms * 100 / job.usage.sampled_ms);
}

using Out = std::string&;
using View = const JobView&;
constexpr auto fields = std::to_array<JobField>({
    {'i', "id", "JOBID", [](Out out, View job) { out += id_text(job); }},
    {'A', "job_number", "NUMBER", [](Out out, View job) { append_number(out, job.id.value); }},
    {'F', "array_job_id", "ARRAY_JOB_ID",
     [](Out out, View job) { append_number(out, (job.array.of ? job.array.of : job.id).value); }},
    {'K', "array_task_id", "ARRAY_TASK_ID",
     [](Out out, View job) {
       if (job.array.of)
         append_number(out, job.array.index);
       else if (job.spec.is_array())
         out += job.waiting.text();
     }},
    {'j', "name", "NAME", [](Out out, View job) { out += job.spec.name; }},
    {'u', "user", "USER", [](Out out, View job) { out += job.owner.user; }},
    {'U', "uid", "UID", [](Out out, View job) { append_number(out, job.owner.uid); }},
    {'a', "project", "PROJECT", [](Out out, View job) { out += job.spec.project; }},
    {0, "kind", "KIND", [](Out out, View job) { out += name_of(job.spec.kind); }},
    {'P', "queue", "QUEUE", [](Out out, View job) { out += job.spec.queue; }},
    {'Q', "priority", "PRIORITY",
     [](Out out, View job) { out += format("{}", job.spec.priority_or_kinds()); }},
    {0, "preemptible", "PREEMPTIBLE",
     [](Out out, View job) {
       out += job.spec.is_semi_preemptible() ? "semi" : job.spec.is_preemptible() ? "yes" : "no";
     }},
    {0, "background", "BACKGROUND",
     [](Out out, View job) { out += job.spec.background ? "yes" : "no"; }},
    {0, "exclusive", "EXCLUSIVE",
     [](Out out, View job) { out += job.spec.rules->exclusive ? "yes" : "no"; }},
    {'T', "state", "STATE", [](Out out, View job) { out += name_of(job.state); }},
    {'t', "state_code", "ST", [](Out out, View job) { out += code_of(job.state); }},
    {'M', "elapsed", "TIME", [](Out out, View job) { out += elapsed_format(elapsed_of(job)); }},
    {'l', "time_limit", "TIME_LIMIT", append_limit},
    {'L', "time_left", "TIME_LEFT", append_left},
    {'b', "gpus", "GPUS",
     [](Out out, View job) { out += decimal_format(job.gpu_amount, 6); }},
    {'D', "node_count", "NODES", [](Out out, View job) { append_number(out, node_count(job)); }},
    {'N', "nodes", "NODELIST", append_nodes},
    {'C', "cpus", "CPUS",
     [](Out out, View job) {
       append_number(out, std::uint64_t{job.spec.task_count} * job.spec.task.cpu_count);
     }},
    {0, "tasks", "TASKS", [](Out out, View job) { append_number(out, job.spec.task_count); }},
    {'m', "memory", "MEMORY",
     [](Out out, View job) { out += size_format(job.spec.node.memory_bytes); }},
    {'R', "nodes_or_reason", "NODELIST(REASON)", append_nodes_or_reason},
    {'r', "reason", "REASON",
     [](Out out, View job) { out += reason_of(job).empty() ? "None" : reason_of(job); }},
    {0, "reason_detail", "DETAIL", [](Out out, View job) { out += job.reason; }},
    {'V', "submit_time", "SUBMIT_TIME", [](Out out, View job) { append_time(out, job.submit_time); }},
    {'S', "start_time", "START_TIME",
     [](Out out, View job) {
       append_time(out, job.expected_start ? job.expected_start : job.start_time);
     }},
    {'e', "end_time", "END_TIME", [](Out out, View job) { append_time(out, job.end_time); }},
    {'E', "dependency", "DEPENDENCY",
     [](Out out, View job) { out += text_of(job.spec.rules->dependencies); }},
    {0, "begin_time", "BEGIN_TIME",
     [](Out out, View job) { append_time(out, job.spec.rules->begin); }},
    {0, "deadline", "DEADLINE",
     [](Out out, View job) { append_time(out, job.spec.rules->deadline); }},
    {'k', "comment", "COMMENT", [](Out out, View job) { out += job.spec.rules->comment; }},
    {0, "labels", "LABELS",
     [](Out out, View job) {
       for (const Label& label : job.spec.rules->labels) {
         if (&label != &job.spec.rules->labels.front()) out += ',';
         out += label.value.empty() ? label.key : label.key + "=" + label.value;
       }
     }},
    {0, "nice", "NICE", [](Out out, View job) { out += format("{}", job.spec.rules->nice); }},
    {0, "retries", "RETRIES",
     [](Out out, View job) {
       if (job.spec.rules->retries > 0)
         out += format("{}/{}", job.failures, job.spec.rules->retries);
     }},
    {0, "saved_time", "SAVED_TIME", [](Out out, View job) { append_time(out, job.saved); }},
    {0, "restarts", "RESTARTS", [](Out out, View job) { append_number(out, job.restarts); }},
    {0, "preemptions", "PREEMPTIONS",
     [](Out out, View job) { append_number(out, job.preemptions); }},
    {0, "displaced", "DISPLACED", [](Out out, View job) { out += job.displaced; }},
    {0, "topology", "TOPOLOGY", [](Out out, View job) { out += text_of(*job.spec.topology); }},
    {0, "segment", "SEGMENT",
     [](Out out, View job) {
       if (job.spec.topology->segment > 0) append_number(out, job.spec.topology->segment);
     }},
    {0, "image", "IMAGE", [](Out out, View job) { out += job.spec.image; }},
    {0, "image_digest", "IMAGE_DIGEST", [](Out out, View job) { out += job.image_digest; }},
    {0, "ports", "PORTS",
     [](Out out, View job) { out += format("{}", fmt::join(job.spec.service->ports, ",")); }},
    {0, "urls", "URL", [](Out out, View job) { out += format("{}", fmt::join(job.urls, " ")); }},
    {0, "mps", "MPS", [](Out out, View job) { out += mps_text(job.spec.task); }},
    {0, "placement", "PLACEMENT",
     [](Out out, View job) {
       if (!job.place.empty()) out += job.place_level + ":" + job.place;
     }},
    {0, "gpu_utilization", "GPU%",
     [](Out out, View job) {
       if (has_utilization(job)) out += format("{}%", job.usage.utilization_percent);
     }},
    {0, "gpu_mean", "MEAN%", append_mean},
    {0, "gpu_memory", "GPUMEM",
     [](Out out, View job) {
       if (has_usage(job)) out += size_format(job.usage.memory_bytes);
     }},
    {0, "gpu_memory_max", "MAXGPUMEM",
     [](Out out, View job) {
       if (has_usage(job)) out += size_format(job.usage.memory_max_bytes);
     }},
    {0, "gpu_power", "POWER",
     [](Out out, View job) {
       if (has_usage(job)) out += format("{}W", (job.usage.power_mw + 500) / 1000);
     }},
    {0, "gpu_energy", "ENERGY",
     [](Out out, View job) {
       if (has_usage(job)) out += energy_text(job.usage.energy_mj);
     }},
    {0, "gpu_idle", "IDLE",
     [](Out out, View job) {
       if (job.idle_since)
         out += elapsed_format(std::chrono::milliseconds(job.usage.idle_ms));
     }},
    {0, "idle_since", "IDLE_SINCE", [](Out out, View job) { append_time(out, job.idle_since); }},
    {0, "exit_code", "EXIT",
     [](Out out, View job) {
       // Slurm's pair: the code, and the signal behind a colon.
       if (is_final(job.state)) out += format("{}:{}", job.exit_code, job.exit_signal);
     }},
});

}  // namespace

std::string energy_text(std::uint64_t millijoules) {
  const std::uint64_t watt_hours = millijoules / 3'600'000;
  if (watt_hours >= 100'000) return format("{}kWh", watt_hours / 1000);
  if (watt_hours >= 1000)
    return decimal_format(static_cast<std::int64_t>(watt_hours / 10), 2) + "kWh";
  if (watt_hours > 0) return format("{}Wh", watt_hours);
  return format("{}J", millijoules / 1000);
}

std::span<const JobField> job_fields() { return fields; }

Duration elapsed_of(const JobView& job) { return std::chrono::milliseconds(job.elapsed_ms); }

std::size_t node_count(const JobView& job) {
  if (job.nodes.empty() || job.state == JobState::pending)
    return std::max<std::size_t>(1, job.spec.node_count);
  return job.nodes.size();
}

std::string_view reason_of(const JobView& job) {
  return job.state == JobState::pending ? name_of(job.wait) : job.reason;
}

void append_nodes_or_story(std::string& out, const JobView& job) {
  if (job.state != JobState::pending || job.reason.empty()) return append_nodes_or_reason(out, job);
  out += '(';
  if (job.wait != WaitReason::none) {
    out += name_of(job.wait);
    out += ": ";
  }
  out += job.reason;
  out += ')';
}

}  // namespace rota::commands
