// sim/what_if_html.cpp - before is dashed, after is not; a table says by how much they differ.
#include "sim/what_if_html.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/assert.h"
#include "common/format.h"
#include "common/units.h"
#include "sim/html_page.h"
#include "sim/replay_text.h"
#include "sim/svg_plot.h"
#include "sim/what_if_text.h"

namespace rota::sim {
namespace {

constexpr unsigned colour_before = 1, colour_after = 0;
/// Projects with a plot of their own: those whose GPU hours differ most.
constexpr std::size_t plotted_max = 8;

std::string both(const std::string& before, const std::string& after) {
  return before == after ? before : format("{} \u2192 {}", before, after);
}

/// The same below each other: tables are wide.
std::string stacked(const std::string& before, const std::string& after) {
  return before == after ? before : format("{}\n\u2192 {}", before, after);
}

std::string tiles(const ReplayReport& before, const ReplayReport& after) {
  const ProjectReport &b = before.all, &a = after.all;
  return html_tiles(
      {{"cluster", format("{} nodes, {} GPUs", after.node_count, after.gpu_count)},
       {"jobs",
        format("{} of {}", both(std::to_string(b.finished), std::to_string(a.finished)), a.jobs)},
       {"makespan", both(time_text(before.makespan_seconds), time_text(after.makespan_seconds))},
       {"use of the GPUs", both(percent_text(b.utilisation), percent_text(a.utilisation))},
       {"mean wait", both(time_text(b.wait.mean), time_text(a.wait.mean))},
       {"mean completion", both(time_text(b.completion.mean), time_text(a.completion.mean))},
       {"preemptions", both(std::to_string(b.preemptions), std::to_string(a.preemptions))},
       {"GPU hours lost", both(amount_text(b.gpu_hours_lost), amount_text(a.gpu_hours_lost))},
       {"fairness", both(format("{:.3f}", before.fairness), format("{:.3f}", after.fairness))}});
}

double seconds_shown(const ReplayReport& report) {
  return report.timeline.piece_seconds * static_cast<double>(report.timeline.pieces());
}

/// On an axis that is long enough for both. Dashes above a line leave both to be seen.
std::string overlaid(PlotFrame frame, const ReplayReport& before, const ReplayReport& after,
                     const std::vector<double>& values_before,
                     const std::vector<double>& values_after) {
  frame.seconds = std::max(seconds_shown(before), seconds_shown(after));
  for (const auto* values : {&values_before, &values_after})
    for (const double value : *values) frame.y_max = std::max(frame.y_max, value);
  return line_plot(frame, {{values_after, colour_after, false, seconds_shown(after)},
                           {values_before, colour_before, true, seconds_shown(before)}});
}

std::string legend() {
  return html_legend({{colour_before, "before", LegendItem::Mark::dashes},
                      {colour_after, "after", LegendItem::Mark::line}});
}

std::vector<double> gpus_in_use(const ReplayReport& report) {
  std::vector<double> sum(report.timeline.pieces());
  for (const auto& project : report.timeline.gpus_held)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += project[i];
  return sum;
}

std::string plots_of_all(const ReplayReport& before, const ReplayReport& after) {
  const PlotFrame use{.title = "GPUs in use over time, before and after",
                      .y_label = "GPUs",
                      .y_max = static_cast<double>(after.gpu_count)};
  const PlotFrame waiting{.title = "Waiting jobs over time, before and after", .y_label = "jobs"};
  const PlotFrame waits{.title = "Share of jobs that waited at most so long, before and after",
                        .y_label = "% of jobs"};
  std::string out =
      format("<h2>GPUs in use</h2>\n<figure>\n{}{}</figure>\n",
             overlaid(use, before, after, gpus_in_use(before), gpus_in_use(after)), legend());
  out += format(
      "<h2>Waiting jobs</h2>\n<figure>\n{}{}</figure>\n",
      overlaid(waiting, before, after, before.timeline.jobs_waiting, after.timeline.jobs_waiting),
      legend());
  out += format("<h2>How long jobs waited</h2>\n<figure>\n{}{}</figure>\n",
                distribution_plot(waits, {{after.waits_seconds, colour_after},
                                          {before.waits_seconds, colour_before, true}}),
                legend());
  return out;
}

/// GPU seconds that the project held in one run and not in the other, as far as the plot shows.
double area_between(const ReplayReport& before, const ReplayReport& after, std::size_t project) {
  const auto& b = before.timeline.gpus_held[project];
  const auto& a = after.timeline.gpus_held[project];
  const std::size_t pieces = std::max(a.size(), b.size());
  const double seconds = std::max(seconds_shown(before), seconds_shown(after));
  const auto at = [](const std::vector<double>& held, double piece_seconds, double time) {
    const auto piece = piece_seconds > 0 ? static_cast<std::size_t>(time / piece_seconds) : 0;
    return piece < held.size() ? held[piece] : 0;
  };
  double area = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    const double time = seconds * (static_cast<double>(i) + 0.5) / static_cast<double>(pieces);
    area += std::abs(at(a, after.timeline.piece_seconds, time) -
                     at(b, before.timeline.piece_seconds, time));
  }
  return area;
}

std::string plots_of_projects(const ReplayReport& before, const ReplayReport& after) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < after.projects.size(); ++i)
    order.emplace_back(-area_between(before, after, i), i);
  std::sort(order.begin(), order.end());
  const bool has_more = order.size() > plotted_max;
  if (has_more) order.resize(plotted_max);
  std::string out = format("<h2>GPUs in use, by project{}</h2>\n<div class=\"pair\">\n",
                           has_more ? format(": the {} that differ most", plotted_max) : "");
  for (const auto& [area, i] : order) {
    const PlotFrame frame{
        .title = format("GPUs in use over time by {}, before and after", after.projects[i].name),
        .y_label = "GPUs",
        .width = 440};
    out += format(
        "<figure>\n<h3>{}</h3>\n{}</figure>\n", html_escaped(after.projects[i].name),
        overlaid(frame, before, after, before.timeline.gpus_held[i], after.timeline.gpus_held[i]));
  }
  return out + "</div>\n" + legend();
}

/// Of what is better when it is less.
HtmlCell change_cell(double before, double after) {
  return {change_text(before, after), after < before ? "good" : after > before ? "bad" : ""};
}

std::vector<HtmlCell> row(const ProjectReport& b, const ProjectReport& a) {
  return {{a.name},
          {stacked(decimal_format(b.quota, 6), decimal_format(a.quota, 6))},
          {stacked(time_text(b.wait.mean), time_text(a.wait.mean))},
          change_cell(b.wait.mean, a.wait.mean),
          {stacked(time_text(b.wait.p95), time_text(a.wait.p95))},
          {stacked(time_text(b.completion.mean), time_text(a.completion.mean))},
          change_cell(b.completion.mean, a.completion.mean),
          {stacked(amount_text(b.gpu_hours_in_quota), amount_text(a.gpu_hours_in_quota))},
          {stacked(amount_text(b.gpu_hours_over_quota), amount_text(a.gpu_hours_over_quota))},
          {stacked(std::to_string(b.preemptions), std::to_string(a.preemptions))},
          {stacked(amount_text(b.gpu_hours_lost), amount_text(a.gpu_hours_lost))}};
}

std::string table(const ReplayReport& before, const ReplayReport& after) {
  std::vector<std::vector<HtmlCell>> rows;
  for (std::size_t i = 0; i < after.projects.size(); ++i)
    rows.push_back(row(before.projects[i], after.projects[i]));
  rows.push_back(row(before.all, after.all));
  return html_table("What differs",
                    {"project", "quota", "mean wait", "change", "95 %", "mean completion", "change",
                     "GPU h in quota", "over quota", "preempted", "GPU h lost"},
                    rows);
}

}  // namespace

std::string what_if_html(const ReplayReport& before, const ReplayReport& after) {
  ROTA_ASSERT(before.projects.size() == after.projects.size());
  return html_page("what if", "<h1>What if</h1>\n" + tiles(before, after) +
                                  plots_of_all(before, after) + plots_of_projects(before, after) +
                                  table(before, after));
}

}  // namespace rota::sim
