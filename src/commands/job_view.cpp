// commands/job_view.cpp - rows and JSON objects of jobs.
#include "commands/job_view.h"

#include "commands/job_fields.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

Colour colour_of(JobState state) {
  switch (state) {
    case JobState::pending:
    case JobState::starting:
    case JobState::preempted:
    case JobState::suspended:
      return Colour::waiting;
    case JobState::running:
      return Colour::good;
    case JobState::completing:
    case JobState::completed:
    case JobState::cancelled:
      return Colour::dim;
    default:
      return Colour::bad;
  }
}

/// Columns of the long table, out of all that -o can show.
std::vector<const JobField*> long_fields() {
  std::vector<const JobField*> found;
  for (const std::string_view name : {"gpu_utilization", "gpu_mean", "gpu_memory", "gpu_memory_max",
                                      "gpu_power", "gpu_energy", "gpu_idle"})
    for (const JobField& field : job_fields())
      if (field.name == name) found.push_back(&field);
  return found;
}

/// What it did with its GPUs; null: it has none, or nobody has looked yet.
void write_usage(JsonWriter& json, const JobView& job) {
  json.key("gpu_usage");
  if (job.usage.empty()) return json.null();
  const RunUsage& usage = job.usage;
  json.begin_object();
  json.key("sampled_gpu_seconds");
  json.units(usage.sampled_ms, 3);
  json.key("busy_gpu_seconds");
  json.units(usage.busy_ms, 3);
  json.key("energy_joules");
  json.units(static_cast<std::int64_t>(usage.energy_mj), 3);
  // Of MIG instances it is not known.
  json.field_or_null("utilization_percent", usage.sampled_ms > 0, usage.utilization_percent);
  json.field("memory_bytes", usage.memory_bytes);
  json.field("memory_max_bytes", usage.memory_max_bytes);
  json.key("power_watts");
  json.units(usage.power_mw, 3);
  json.key("idle_seconds");
  json.units(usage.idle_ms, 3);
  json.end_object();
}

/// When it may start, what it belongs to, and what people wrote on it.
void write_rules(JsonWriter& json, const JobView& job) {
  const JobRules& rules = *job.spec.rules;
  json.field_or_null("array_job_id", bool(job.array.of) || job.spec.is_array(),
                     job.array.of ? job.array.of.value : job.id.value);
  json.field_or_null("array_task_id", bool(job.array.of), job.array.index);
  json.field_or_null("array_tasks", job.spec.is_array(), text_of(rules.array));
  json.field_or_null("array_tasks_waiting", job.spec.is_array(), job.waiting.text());
  json.field_or_null("dependency", !rules.dependencies.all.empty(), text_of(rules.dependencies));
  json.field_or_null("begin_time", bool(rules.begin), rfc3339(rules.begin));
  json.field_or_null("deadline", bool(rules.deadline), rfc3339(rules.deadline));
  json.field("held", job.hold != Hold::none);
  json.field("nice", rules.nice);
  json.field("retries", rules.retries);
  json.field("failures", job.failures);
  json.field_or_null("comment", !rules.comment.empty(), rules.comment);
  json.key("labels");
  json.begin_object();
  for (const Label& label : rules.labels) json.field(label.key, label.value);
  json.end_object();
  json.field_or_null("saved_time", bool(job.saved), rfc3339(job.saved));
  json.field("exclusive", rules.exclusive);
}

bool has_exit_code(const JobView& job) {
  return is_final(job.state) && job.start_time && job.exit_signal == 0;
}

}  // namespace

Table job_table(bool is_long) {
  std::vector<Column> columns{{"JOBID", Align::right},
                              {"NAME", Align::left, true},
                              {"USER", Align::left, true},
                              {"PROJECT", Align::left, true},
                              {"KIND"},
                              {"PRIORITY", Align::right},
                              {"STATE"},
                              {"TIME", Align::right},
                              {"GPUS", Align::right}};
  if (is_long)
    for (const JobField* field : long_fields()) columns.push_back({field->header, Align::right});
  columns.push_back({"NODES", Align::right});
  if (is_long) columns.push_back({"URL"});
  columns.push_back({"NODELIST(REASON)", Align::left, true});
  return Table(std::move(columns));
}

void add_row(Table& table, const JobView& job, bool is_long) {
  table.add(id_text(job));
  table.add(job.spec.name);
  table.add(job.owner.user);
  table.add(job.spec.project);
  table.add(name_of(job.spec.kind));
  table.add(fmt::format_int(job.spec.priority_or_kinds()).c_str());
  table.add(name_of(job.state), colour_of(job.state));
  table.add(elapsed_format(elapsed_of(job)));
  table.add(decimal_format(job.gpu_amount, 6));
  if (is_long) {
    for (const JobField* field : long_fields()) {
      std::string cell;
      field->append(cell, job);
      table.add(cell.empty() ? "-" : cell);
    }
  }
  table.add(fmt::format_int(node_count(job)).c_str());
  if (is_long) table.add(job.urls.empty() ? "-" : job.urls.front());
  std::string last;
  append_nodes_or_story(last, job);
  table.add(last);
}

std::string job_text(const JobView& job) {
  std::string text;
  for (const JobField& field : job_fields()) {
    std::string value;
    field.append(value, job);
    if (!value.empty()) text += format("{}: {}\n", field.name, printable(value));
  }
  return text;
}

void write_job(JsonWriter& json, const JobView& job) {
  json.begin_object();
  json.field("id", job.id.value);
  json.field("name", job.spec.name);
  json.field("user", job.owner.user);
  json.field("project", job.spec.project);
  json.field("kind", name_of(job.spec.kind));
  json.field("state", name_of(job.state));
  json.key("gpus");
  json.units(job.gpu_amount, 6);
  json.key("nodes");
  json.begin_array();
  for (const std::string& node : job.nodes) json.value(node);
  json.end_array();
  json.field_or_null("submit_time", bool(job.submit_time), rfc3339(job.submit_time));
  json.field_or_null("start_time", bool(job.start_time), rfc3339(job.start_time));
  json.field_or_null("end_time", bool(job.end_time), rfc3339(job.end_time));
  const std::string_view reason = reason_of(job);
  json.field_or_null("reason", !reason.empty(), reason);
  json.field_or_null("reason_detail", !job.reason.empty(), job.reason);
  json.field("restarts", job.restarts);
  json.field_or_null("exit_code", has_exit_code(job), job.exit_code);
  json.field_or_null("exit_signal", is_final(job.state) && job.exit_signal != 0, job.exit_signal);
  json.field_or_null("time_limit_seconds", job.spec.time_limit_seconds != 0,
                     job.spec.time_limit_seconds);
  json.field_or_null("elapsed_seconds", bool(job.start_time), job.elapsed_ms / 1000);
  json.field("tasks", job.spec.task_count);
  json.field("cpus", std::uint64_t{job.spec.task_count} * job.spec.task.cpu_count);
  json.field_or_null("queue", !job.spec.queue.empty(), job.spec.queue);
  json.field("priority", job.spec.priority_or_kinds());
  json.field("preemptible", job.spec.is_preemptible());
  json.field("preemptibility", name_of(job.spec.preemptibility_or_kinds()));
  json.field("background", job.spec.background);
  json.field("preemptions", job.preemptions);
  json.field_or_null("displaced", !job.displaced.empty(), job.displaced);
  json.field_or_null("expected_start_time", bool(job.expected_start), rfc3339(job.expected_start));
  const NodeWish& wish = *job.spec.nodes;
  json.field_or_null("nodelist", !wish.only.empty(), wish.only);
  json.field_or_null("exclude", !wish.except.empty(), wish.except);
  json.field_or_null("constraint", !wish.constraint.empty(), wish.constraint);
  json.field_or_null("nodes_min", job.spec.node_count > 0, job.spec.node_count);
  json.field_or_null("nodes_max", job.spec.is_elastic(), job.spec.node_count_max);
  json.field_or_null("topology", job.spec.topology->names_levels(), text_of(*job.spec.topology));
  json.field_or_null("placement_level", !job.place_level.empty(), job.place_level);
  json.field_or_null("placement", !job.place.empty(), job.place);
  json.field_or_null("segment", job.spec.topology->segment > 0, job.spec.topology->segment);
  write_usage(json, job);
  json.field_or_null("idle_since", bool(job.idle_since), rfc3339(job.idle_since));
  const TaskRequest& task = job.spec.task;
  json.field("mps", task.uses_mps());
  json.field_or_null("mps_percent",
                     task.uses_mps() && task.mps_percent != TaskRequest::mps_by_memory,
                     std::uint32_t{task.mps_percent});
  json.field_or_null("image", !job.spec.image.empty(), job.spec.image.str());
  json.field_or_null("image_digest", !job.image_digest.empty(), job.image_digest);
  json.key("ports");
  json.begin_array();
  for (const std::uint16_t port : job.spec.service->ports) json.value(std::uint32_t{port});
  json.end_array();
  json.key("urls");
  json.begin_array();
  for (const std::string& url : job.urls) json.value(url);
  json.end_array();
  write_rules(json, job);
  json.end_object();
}

}  // namespace rota::commands
