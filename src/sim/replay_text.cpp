// sim/replay_text.cpp - the table, the lines below it, and the same numbers as JSON.
#include "sim/replay_text.h"

#include <chrono>
#include <cmath>

#include "common/format.h"
#include "common/units.h"

namespace rota::sim {
namespace {

using commands::Align;
using commands::JsonWriter;
using commands::Table;

void add_row(Table& table, const ProjectReport& project) {
  table.add(project.name);
  table.add(decimal_format(project.quota, 6));
  table.add(std::to_string(project.jobs));
  table.add(time_text(project.wait.mean));
  table.add(time_text(project.wait.p50));
  table.add(time_text(project.wait.p95));
  table.add(time_text(project.wait.max));
  table.add(time_text(project.completion.mean));
  table.add(time_text(project.completion.p99));
  table.add(amount_text(project.gpu_hours_in_quota));
  table.add(amount_text(project.gpu_hours_over_quota));
  table.add(std::to_string(project.preemptions));
  table.add(amount_text(project.gpu_hours_lost));
  table.add(percent_text(project.utilisation));
}

/// The use of the cluster in tenths of the time.
std::string tenths_text(const ReplayReport& report) {
  constexpr std::size_t tenths = 10;
  const std::size_t pieces = report.timeline.pieces();
  std::string text;
  for (std::size_t tenth = 0; tenth < tenths; ++tenth) {
    const std::size_t from = tenth * pieces / tenths, to = (tenth + 1) * pieces / tenths;
    double held = 0;
    for (const auto& project : report.timeline.gpus_held)
      for (std::size_t i = from; i < to; ++i) held += project[i];
    const double all = static_cast<double>(report.gpu_count) * static_cast<double>(to - from);
    text += format(" {:.0f}", all > 0 ? 100 * held / all : 0.0);
  }
  return text;
}

void write_spread(JsonWriter& json, std::string_view key, const Spread& spread) {
  json.key(key);
  json.begin_object();
  for (const auto& [name, value] :
       {std::pair("mean", spread.mean), std::pair("p50", spread.p50), std::pair("p95", spread.p95),
        std::pair("p99", spread.p99), std::pair("max", spread.max)}) {
    json.key(name);
    json.decimal(value, 3);
  }
  json.end_object();
}

void write_decimal(JsonWriter& json, std::string_view key, double value, int digits) {
  json.key(key);
  json.decimal(value, digits);
}

void write_project(JsonWriter& json, const ProjectReport& project) {
  json.begin_object();
  json.field("project", project.name);
  json.key("gpu_quota");
  json.units(project.quota, 6);
  json.field("jobs", project.jobs);
  json.field("jobs_finished", project.finished);
  json.field("jobs_refused", project.refused);
  json.field("jobs_unfinished", project.unfinished);
  write_spread(json, "wait_seconds", project.wait);
  write_spread(json, "completion_seconds", project.completion);
  write_decimal(json, "gpu_hours_in_quota", project.gpu_hours_in_quota, 3);
  write_decimal(json, "gpu_hours_over_quota", project.gpu_hours_over_quota, 3);
  json.field("preemptions", project.preemptions);
  write_decimal(json, "gpu_hours_lost", project.gpu_hours_lost, 3);
  write_decimal(json, "utilisation", project.utilisation, 6);
  json.key("served");
  if (project.served)
    json.decimal(*project.served, 6);
  else
    json.null();
  json.end_object();
}

void write_list(JsonWriter& json, std::string_view key, const std::vector<double>& values) {
  json.key(key);
  json.begin_array();
  for (const double value : values) json.decimal(value, 3);
  json.end_array();
}

void write_timeline(JsonWriter& json, const ReplayReport& report) {
  json.key("timeline");
  json.begin_object();
  write_decimal(json, "piece_seconds", report.timeline.piece_seconds, 3);
  write_list(json, "jobs_waiting", report.timeline.jobs_waiting);
  json.key("gpus_held");
  json.begin_array();
  for (std::size_t i = 0; i < report.projects.size(); ++i) {
    json.begin_object();
    json.field("project", report.projects[i].name);
    write_list(json, "gpus", report.timeline.gpus_held[i]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

std::string time_text(double seconds) {
  return elapsed_format(std::chrono::seconds(std::llround(seconds)));
}

std::string amount_text(double amount) { return format("{:.1f}", amount); }

std::string percent_text(double part) { return format("{:.1f} %", 100 * part); }

std::string replay_text(const ReplayReport& report, const commands::TableStyle& style) {
  Table table({{"PROJECT", Align::left, true},
               {"QUOTA", Align::right},
               {"JOBS", Align::right},
               {"WAIT", Align::right},
               {"P50", Align::right},
               {"P95", Align::right},
               {"MAX", Align::right},
               {"COMPLETION", Align::right},
               {"P99", Align::right},
               {"GPUH-IN", Align::right},
               {"GPUH-OVER", Align::right},
               {"PREEMPTED", Align::right},
               {"GPUH-LOST", Align::right},
               {"USE", Align::right}});
  for (const ProjectReport& project : report.projects) add_row(table, project);
  add_row(table, report.all);
  std::string text = table.render(style);
  text += format("cluster: {} nodes, {} GPUs\n", report.node_count, report.gpu_count);
  text += format("makespan: {}\n", time_text(report.makespan_seconds));
  text += format("use by tenths of the time, in %:{}\n", tenths_text(report));
  text += format("fairness: {:.4f}\n", report.fairness);
  if (report.all.refused > 0)
    text += format("refused: {} (larger than the cluster)\n", report.all.refused);
  if (report.all.unfinished > 0)
    text += format("unfinished: {} (wait for ever)\n", report.all.unfinished);
  return text;
}

void write_replay(JsonWriter& json, const ReplayReport& report) {
  json.begin_object();
  json.field("nodes", report.node_count);
  json.field("gpus", report.gpu_count);
  write_decimal(json, "makespan_seconds", report.makespan_seconds, 3);
  write_decimal(json, "fairness", report.fairness, 6);
  json.key("all");
  write_project(json, report.all);
  json.key("projects");
  json.begin_array();
  for (const ProjectReport& project : report.projects) write_project(json, project);
  json.end_array();
  write_timeline(json, report);
  json.end_object();
}

}  // namespace rota::sim
