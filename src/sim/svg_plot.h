// sim/svg_plot.h - small plots as SVG text, coloured by the page's style sheet.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rota::sim {

/// Text between tags or in an attribute.
std::string html_escaped(std::string_view text);

/// A row of numbers over equal pieces of time. `colour` is the number of a CSS variable, --c0 and
/// up.
struct PlotSeries {
  std::vector<double> values;
  unsigned colour = 0;
  bool dashed = false;  // lines only: to be told apart without colours
  double seconds = 0;   // lines only: where it ends; 0: with the axis
};

/// What all plots have. Titles are for those who cannot see the plot.
struct PlotFrame {
  std::string title;
  std::string y_label;
  double seconds = 0;  // of the whole time axis
  double y_max = 0;    // at least; the axis ends at a round number
  double width = 840;  // of the view box, in which letters are 12 high
};

/// Areas on top of each other, the first at the bottom.
std::string area_plot(const PlotFrame& frame, const std::vector<PlotSeries>& stack);

/// Lines over each other, the last on top.
std::string line_plot(const PlotFrame& frame, const std::vector<PlotSeries>& lines);

/// How many of the values, which ascend, are at most x: y in percent over a logarithmic axis of
/// durations, from one second on. A line for each series, whose values are seconds.
std::string distribution_plot(const PlotFrame& frame, const std::vector<PlotSeries>& lines);

}  // namespace rota::sim
