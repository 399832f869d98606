// sim/replay_html.cpp - the page: numbers that matter, three plots, all projects.
#include "sim/replay_html.h"

#include <algorithm>
#include <numeric>

#include "common/format.h"
#include "common/units.h"
#include "sim/replay_text.h"
#include "sim/svg_plot.h"

namespace rota::sim {
namespace {

/// Projects with a colour of their own; the rest are drawn as one.
constexpr std::size_t coloured_max = 8;

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rota: replay</title>
<style>
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1c2024; --soft: #5b6470; --grid: #d9dde3; --line: #0b5cad;
  --c0: #0b6fb8; --c1: #e08a00; --c2: #1a9e77; --c3: #c75b9b; --c4: #5ab0e0; --c5: #cc4a14; --c6: #8a6fd1;
  --c7: #9a8b00; --c8: #9aa3ad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --text: #e6e9ec; --soft: #9aa3ad; --grid: #343a41; --line: #6cb6ff;
    --c0: #4aa3e8; --c1: #f0ab3c; --c2: #3fc79c; --c3: #e58cc0; --c4: #8fd0f5; --c5: #ee7d4e; --c6: #b3a0ec;
    --c7: #cfc04a; --c8: #6f7983;
  }
}
@media print {
  :root {
    --page: #ffffff; --text: #000000; --soft: #444444; --grid: #cccccc; --line: #0b5cad;
    --c0: #0b6fb8; --c1: #e08a00; --c2: #1a9e77; --c3: #c75b9b; --c4: #5ab0e0; --c5: #cc4a14; --c6: #8a6fd1;
    --c7: #9a8b00; --c8: #9aa3ad;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr { break-inside: avoid; }
}
body {
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; } dt { color: var(--soft); } dd { margin: 0; font-size: 1.2rem; }
figure { margin: 0; } svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--grid); } .tick { stroke: var(--soft); }
.area { stroke: none; } .line { fill: none; stroke: var(--line); stroke-width: 2; }
ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
li::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em; background: var(--c); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tr:last-child td { font-weight: 600; }
</style>
</head>
<body>
)";

std::string tile(std::string_view name, std::string_view value) {
  return format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
}

std::string tiles(const ReplayReport& report) {
  const ProjectReport& all = report.all;
  std::string out = "<dl>\n";
  out += tile("cluster", format("{} nodes, {} GPUs", report.node_count, report.gpu_count));
  out += tile("jobs", format("{} of {}", all.finished, all.jobs));
  out += tile("makespan", time_text(report.makespan_seconds));
  out += tile("use of the GPUs", percent_text(all.utilisation));
  out += tile("mean wait", time_text(all.wait.mean));
  out += tile("mean completion", time_text(all.completion.mean));
  out += tile("preemptions",
              format("{}, {} GPU hours lost", all.preemptions, amount_text(all.gpu_hours_lost)));
  out += tile("fairness", format("{:.3f}", report.fairness));
  return out + "</dl>\n";
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

std::string legend_item(unsigned colour, std::string_view name) {
  return format("<li style=\"--c:var(--c{})\">{}</li>\n", colour, html_escaped(name));
}

std::string use_plot(const ReplayReport& report) {
  const auto order = by_size(report);
  std::vector<PlotSeries> stack;
  std::string legend;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::vector<double>& held = report.timeline.gpus_held[order[i]];
    if (i <= coloured_max) {
      const bool is_rest = i == coloured_max && order.size() > coloured_max + 1;
      const auto colour = static_cast<unsigned>(i);
      stack.push_back({held, colour});
      legend += legend_item(colour, is_rest ? format("{} others", order.size() - coloured_max)
                                            : report.projects[order[i]].name);
      continue;
    }
    std::vector<double>& rest = stack.back().values;
    for (std::size_t piece = 0; piece < rest.size(); ++piece) rest[piece] += held[piece];
  }
  const PlotFrame frame{"GPUs in use over time, by project", "GPUs", report.makespan_seconds,
                        static_cast<double>(report.gpu_count)};
  return format("<h2>GPUs in use, by project</h2>\n<figure>\n{}<ul>\n{}</ul>\n</figure>\n",
                area_plot(frame, stack), legend);
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
                distribution_plot(frame, report.waits_seconds));
}

std::string row(const ProjectReport& project) {
  return format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
      "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      html_escaped(project.name), decimal_format(project.quota, 6), project.jobs,
      time_text(project.wait.mean), time_text(project.wait.p50), time_text(project.wait.p95),
      time_text(project.wait.max), time_text(project.completion.mean),
      time_text(project.completion.p99), amount_text(project.gpu_hours_in_quota),
      amount_text(project.gpu_hours_over_quota), project.preemptions,
      amount_text(project.gpu_hours_lost));
}

std::string table(const ReplayReport& report) {
  std::string rows;
  for (const ProjectReport& project : report.projects) rows += row(project);
  rows += row(report.all);
  return format(
      "<h2>Projects</h2>\n<div "
      "class=\"scroll\">\n<table>\n<thead><tr><th>project</th><th>quota</th>"
      "<th>jobs</th><th>mean wait</th><th>half</th><th>95 %</th><th>longest</th><th>mean "
      "completion</th><th>99 %</th><th>GPU h in quota</th><th>over quota</th><th>preempted</th>"
      "<th>GPU h lost</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n",
      rows);
}

}  // namespace

std::string replay_html(const ReplayReport& report) {
  std::string out(head);
  out += "<h1>Replay</h1>\n" + tiles(report);
  out += use_plot(report) + waiting_plot(report) + wait_plot(report) + table(report);
  return out + "</body>\n</html>\n";
}

}  // namespace rota::sim
