// sim/what_if_text.cpp - "before > after" in every cell, and the differences as JSON.
#include "sim/what_if_text.h"

#include "common/assert.h"
#include "common/format.h"
#include "common/units.h"
#include "sim/replay_text.h"

namespace rota::sim {
namespace {

using commands::Align;
using commands::JsonWriter;
using commands::Table;

std::string both(const std::string& before, const std::string& after) {
  return before == after ? before : format("{} > {}", before, after);
}

void add_row(Table& table, const ProjectReport& before, const ProjectReport& after) {
  table.add(after.name);
  table.add(both(decimal_format(before.quota, 6), decimal_format(after.quota, 6)));
  table.add(both(time_text(before.wait.mean), time_text(after.wait.mean)));
  table.add(change_text(before.wait.mean, after.wait.mean));
  table.add(both(time_text(before.wait.p95), time_text(after.wait.p95)));
  table.add(both(time_text(before.completion.mean), time_text(after.completion.mean)));
  table.add(change_text(before.completion.mean, after.completion.mean));
  table.add(both(amount_text(before.gpu_hours_in_quota), amount_text(after.gpu_hours_in_quota)));
  table.add(
      both(amount_text(before.gpu_hours_over_quota), amount_text(after.gpu_hours_over_quota)));
  table.add(both(std::to_string(before.preemptions), std::to_string(after.preemptions)));
  table.add(both(amount_text(before.gpu_hours_lost), amount_text(after.gpu_hours_lost)));
}

void write_difference(JsonWriter& json, std::string_view key, double before, double after) {
  json.key(key);
  json.decimal(after - before, 6);
}

void write_project(JsonWriter& json, const ProjectReport& before, const ProjectReport& after) {
  json.begin_object();
  json.field("project", after.name);
  json.key("gpu_quota");
  json.units(after.quota - before.quota, 6);
  const auto write = [&](std::string_view key, double a, double b) {
    write_difference(json, key, a, b);
  };
  write("wait_seconds_mean", before.wait.mean, after.wait.mean);
  write("wait_seconds_p50", before.wait.p50, after.wait.p50);
  write("wait_seconds_p95", before.wait.p95, after.wait.p95);
  write("wait_seconds_max", before.wait.max, after.wait.max);
  write("completion_seconds_mean", before.completion.mean, after.completion.mean);
  write("completion_seconds_p99", before.completion.p99, after.completion.p99);
  write("gpu_hours_in_quota", before.gpu_hours_in_quota, after.gpu_hours_in_quota);
  write("gpu_hours_over_quota", before.gpu_hours_over_quota, after.gpu_hours_over_quota);
  json.field("preemptions", static_cast<std::int64_t>(after.preemptions) -
                                static_cast<std::int64_t>(before.preemptions));
  write("gpu_hours_lost", before.gpu_hours_lost, after.gpu_hours_lost);
  write("utilisation", before.utilisation, after.utilisation);
  json.end_object();
}

}  // namespace

std::string change_text(double before, double after) {
  if (before == after) return "0.0 %";
  return before > 0 ? format("{:+.1f} %", 100 * (after - before) / before) : "-";
}

std::string what_if_text(const ReplayReport& before, const ReplayReport& after,
                         const commands::TableStyle& style) {
  ROTA_ASSERT(before.projects.size() == after.projects.size());
  Table table({{"PROJECT", Align::left, true},
               {"QUOTA", Align::right},
               {"WAIT", Align::right},
               {"CHANGE", Align::right},
               {"P95", Align::right},
               {"COMPLETION", Align::right},
               {"CHANGE", Align::right},
               {"GPUH-IN", Align::right},
               {"GPUH-OVER", Align::right},
               {"PREEMPTED", Align::right},
               {"GPUH-LOST", Align::right}});
  for (std::size_t i = 0; i < after.projects.size(); ++i)
    add_row(table, before.projects[i], after.projects[i]);
  add_row(table, before.all, after.all);
  std::string text = table.render(style);
  text += format("makespan: {}\n",
                 both(time_text(before.makespan_seconds), time_text(after.makespan_seconds)));
  text += format("use: {}\n",
                 both(percent_text(before.all.utilisation), percent_text(after.all.utilisation)));
  text += format("fairness: {}\n",
                 both(format("{:.4f}", before.fairness), format("{:.4f}", after.fairness)));
  if (before.all.refused > 0)
    text += format("refused: {} (larger than the cluster)\n", before.all.refused);
  if (before.all.unfinished + after.all.unfinished > 0)
    text += format("unfinished: {} (wait for ever)\n", both(std::to_string(before.all.unfinished),
                                                            std::to_string(after.all.unfinished)));
  return text;
}

std::string what_if_json(const ReplayReport& before, const ReplayReport& after) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("before");
  write_replay(json, before);
  json.key("after");
  write_replay(json, after);
  json.key("difference");
  json.begin_object();
  write_difference(json, "makespan_seconds", before.makespan_seconds, after.makespan_seconds);
  write_difference(json, "fairness", before.fairness, after.fairness);
  json.key("all");
  write_project(json, before.all, after.all);
  json.key("projects");
  json.begin_array();
  for (std::size_t i = 0; i < after.projects.size(); ++i)
    write_project(json, before.projects[i], after.projects[i]);
  json.end_array();
  json.end_object();
  json.end_object();
  return text + "\n";
}

}  // namespace rota::sim
