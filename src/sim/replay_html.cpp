// sim/replay_html.cpp - the page: numbers that matter, three plots, all projects.
#include "sim/replay_html.h"

#include <algorithm>
#include <numeric>

#include "common/format.h"
#include "common/units.h"
#include "sim/html_page.h"
#include "sim/replay_text.h"
#include "sim/svg_plot.h"

namespace rota::sim {
namespace {

/// Projects with a colour of their own; the rest are drawn as one.
constexpr std::size_t coloured_max = 8;

std::string tiles(const ReplayReport& report) {
  const ProjectReport& all = report.all;
  return html_tiles({{"cluster", format("{} nodes, {} GPUs", report.node_count, report.gpu_count)},
                     {"jobs", format("{} of {}", all.finished, all.jobs)},
                     {"makespan", time_text(report.makespan_seconds)},
                     {"use of the GPUs", percent_text(all.utilisation)},
                     {"mean wait", time_text(all.wait.mean)},
                     {"mean completion", time_text(all.completion.mean)},
                     {"preemptions", format("{}, {} GPU hours lost", all.preemptions,
                                            amount_text(all.gpu_hours_lost))},
                     {"fairness", format("{:.3f}", report.fairness)}});
}

/// Projects by what they held, most first.
std::vector<std::size_t> by_size(const ReplayReport& report) {
  std::vector<std::size_t> order(report.projects.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return report.projects[a].utilisation > report.projects[b].utilisation;
  });
  return order;
}

std::string use_plot(const ReplayReport& report) {
  const auto order = by_size(report);
  std::vector<PlotSeries> stack;
  std::vector<LegendItem> legend;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::vector<double>& held = report.timeline.gpus_held[order[i]];
    if (i <= coloured_max) {
      const bool is_rest = i == coloured_max && order.size() > coloured_max + 1;
      const auto colour = static_cast<unsigned>(i);
      stack.push_back({held, colour});
      legend.push_back({colour, is_rest ? format("{} others", order.size() - coloured_max)
                                        : report.projects[order[i]].name});
      continue;
    }
    std::vector<double>& rest = stack.back().values;
    for (std::size_t piece = 0; piece < rest.size(); ++piece) rest[piece] += held[piece];
  }
  const PlotFrame frame{"GPUs in use over time, by project", "GPUs", report.makespan_seconds,
                        static_cast<double>(report.gpu_count)};
  return format("<h2>GPUs in use, by project</h2>\n<figure>\n{}{}</figure>\n",
                area_plot(frame, stack), html_legend(legend));
}

std::string waiting_plot(const ReplayReport& report) {
  const auto& waiting = report.timeline.jobs_waiting;
  const double most = waiting.empty() ? 0 : *std::max_element(waiting.begin(), waiting.end());
  const PlotFrame frame{"Waiting jobs over time", "jobs", report.makespan_seconds, most};
  return format("<h2>Waiting jobs</h2>\n<figure>\n{}</figure>\n",
                area_plot(frame, {PlotSeries{waiting, 0}}));
}

std::string wait_plot(const ReplayReport& report) {
  const PlotFrame frame{"Share of jobs that waited at most so long", "% of jobs", 0, 0};
  return format("<h2>How long jobs waited</h2>\n<figure>\n{}</figure>\n",
                distribution_plot(frame, {PlotSeries{report.waits_seconds, 0}}));
}

std::vector<HtmlCell> row(const ProjectReport& project) {
  return {{project.name},
          {decimal_format(project.quota, 6)},
          {std::to_string(project.jobs)},
          {time_text(project.wait.mean)},
          {time_text(project.wait.p50)},
          {time_text(project.wait.p95)},
          {time_text(project.wait.max)},
          {time_text(project.completion.mean)},
          {time_text(project.completion.p99)},
          {amount_text(project.gpu_hours_in_quota)},
          {amount_text(project.gpu_hours_over_quota)},
          {std::to_string(project.preemptions)},
          {amount_text(project.gpu_hours_lost)}};
}

std::string table(const ReplayReport& report) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const ProjectReport& project : report.projects) rows.push_back(row(project));
  rows.push_back(row(report.all));
  return html_table(
      "Projects",
      {"project", "quota", "jobs", "mean wait", "half", "95 %", "longest", "mean completion",
       "99 %", "GPU h in quota", "over quota", "preempted", "GPU h lost"},
      rows);
}

}  // namespace

std::string replay_html(const ReplayReport& report) {
  return html_page("replay", "<h1>Replay</h1>\n" + tiles(report) + use_plot(report) +
                                 waiting_plot(report) + wait_plot(report) + table(report));
}

}  // namespace rota::sim
