// sim/svg_plot.cpp - axes with round numbers, and the curves between them.
#include "sim/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/format.h"

namespace rota::sim {
namespace {

// In units of the view box; the page scales it.
constexpr double height = 260;
constexpr double left = 64, right = 16, top = 12, bottom = 40;
constexpr double inner_height = height - top - bottom;

double inner_width(const PlotFrame& frame) { return frame.width - left - right; }

struct TimeStep {
  double seconds;
  double unit;
  const char* name;
};
constexpr double minute = 60, hour = 3'600, day = 86'400;
constexpr std::array<TimeStep, 22> time_steps{TimeStep{1, 1, "s"},
                                              {5, 1, "s"},
                                              {15, 1, "s"},
                                              {30, 1, "s"},
                                              {minute, minute, "min"},
                                              {5 * minute, minute, "min"},
                                              {15 * minute, minute, "min"},
                                              {30 * minute, minute, "min"},
                                              {hour, hour, "h"},
                                              {2 * hour, hour, "h"},
                                              {6 * hour, hour, "h"},
                                              {12 * hour, hour, "h"},
                                              {day, day, "d"},
                                              {2 * day, day, "d"},
                                              {7 * day, day, "d"},
                                              {14 * day, day, "d"},
                                              {30 * day, day, "d"},
                                              {90 * day, day, "d"},
                                              {180 * day, day, "d"},
                                              {365 * day, day, "d"},
                                              {1'000 * day, day, "d"},
                                              {10'000 * day, day, "d"}};

const TimeStep& step_for(double seconds, double ticks_max) {
  for (const TimeStep& step : time_steps)
    if (seconds / step.seconds <= ticks_max) return step;
  return time_steps.back();
}

/// 1, 2 or 5 times a power of ten.
double round_step(double range, double ticks_max) {
  const double least = std::max(range, 1e-9) / ticks_max;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

double y_of(double value, double y_max) { return top + inner_height * (1 - value / y_max); }

std::string begin_plot(const PlotFrame& frame) {
  return format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n<title>{}</title>\n",
                frame.width, height, html_escaped(frame.title), html_escaped(frame.title));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                html_escaped(text));
}

/// Lines across and their numbers. Returns where the axis ends.
double append_y_axis(std::string& out, const PlotFrame& frame) {
  const double step = round_step(frame.y_max, 5);
  const double y_max = std::max(step, std::ceil(frame.y_max / step - 1e-9) * step);
  for (double value = 0; value <= y_max * (1 + 1e-9); value += step) {
    const double y = y_of(value, y_max);
    out +=
        format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", left, y, inner_width(frame));
    out += text_at(left - 6, y + 4, "end", format("{:g}", value));
  }
  out += format(
      "<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      top + inner_height / 2, html_escaped(frame.y_label));
  return y_max;
}

void append_time_axis(std::string& out, const PlotFrame& frame) {
  const double seconds = frame.seconds, inner = inner_width(frame);
  const TimeStep& step = step_for(seconds, std::min(10.0, inner / 50));
  for (double at = 0; at <= seconds * (1 + 1e-9); at += step.seconds) {
    const double x = left + (seconds > 0 ? inner * at / seconds : 0);
    out += format("<path class=\"tick\" d=\"M{:.1f} {:.1f}v5\"/>\n", x, top + inner_height);
    out +=
        text_at(x, top + inner_height + 18, "middle", format("{:g} {}", at / step.unit, step.name));
  }
  out += text_at(left + inner / 2, height - 6, "middle", "time since the first submission");
}

/// The upper edge of what is drawn: level in each of the pieces, which end at `right_end`.
std::string steps_path(const std::vector<double>& values, double right_end, double y_max) {
  const double piece = (right_end - left) / static_cast<double>(values.size());
  std::string path;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = left + piece * static_cast<double>(i);
    path +=
        format("{}{:.1f} {:.1f}H{:.1f}", i == 0 ? 'M' : 'L', x, y_of(values[i], y_max), x + piece);
  }
  return path;
}

/// The outline of one area: along its upper edge, and back along the lower one.
std::string area_path(const std::vector<double>& low, const std::vector<double>& high,
                      double right_end, double y_max) {
  const double piece = (right_end - left) / static_cast<double>(high.size());
  std::string path = steps_path(high, right_end, y_max);
  for (std::size_t i = low.size(); i-- > 0;) {
    const double x = left + piece * static_cast<double>(i + 1);
    path += format("L{:.1f} {:.1f}H{:.1f}", x, y_of(low[i], y_max), x - piece);
  }
  return path + "Z";
}

std::string line(const PlotSeries& series, std::string_view path) {
  return format("<path class=\"line{}\" style=\"stroke:var(--c{})\" d=\"{}\"/>\n",
                series.dashed ? " dashed" : "", series.colour, path);
}

/// In percent.
double part_at_most(const std::vector<double>& ascending, double value) {
  if (ascending.empty()) return 0;
  const auto above = std::upper_bound(ascending.begin(), ascending.end(), value * (1 + 1e-9));
  return 100 * static_cast<double>(above - ascending.begin()) /
         static_cast<double>(ascending.size());
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string area_plot(const PlotFrame& frame, const std::vector<PlotSeries>& stack) {
  std::string out = begin_plot(frame);
  const double y_max = append_y_axis(out, frame);
  append_time_axis(out, frame);
  std::vector<double> low;
  for (const PlotSeries& series : stack) {
    low.resize(series.values.size());
    std::vector<double> high = low;
    for (std::size_t i = 0; i < high.size(); ++i) high[i] += series.values[i];
    out += format("<path class=\"area\" style=\"fill:var(--c{})\" d=\"{}\"/>\n", series.colour,
                  area_path(low, high, left + inner_width(frame), y_max));
    low = std::move(high);
  }
  return out + "</svg>\n";
}

std::string line_plot(const PlotFrame& frame, const std::vector<PlotSeries>& lines) {
  std::string out = begin_plot(frame);
  const double y_max = append_y_axis(out, frame);
  append_time_axis(out, frame);
  for (const PlotSeries& series : lines) {
    const double part =
        series.seconds > 0 && frame.seconds > 0 ? series.seconds / frame.seconds : 1;
    out += line(series, steps_path(series.values, left + inner_width(frame) * part, y_max));
  }
  return out + "</svg>\n";
}

std::string distribution_plot(const PlotFrame& frame, const std::vector<PlotSeries>& lines) {
  PlotFrame percent = frame;
  percent.y_max = 100;
  std::string out = begin_plot(percent);
  const double y_max = append_y_axis(out, percent), inner = inner_width(frame);
  double most = 10;
  for (const PlotSeries& series : lines)
    if (!series.values.empty()) most = std::max(most, series.values.back());
  const auto x_of = [=](double value) {
    return left + inner * std::log10(std::max(value, 1.0)) / std::log10(most);
  };
  constexpr std::array<TimeStep, 8> marks{TimeStep{1, 1, "s"},     {10, 1, "s"},
                                          {minute, minute, "min"}, {10 * minute, minute, "min"},
                                          {hour, hour, "h"},       {10 * hour, hour, "h"},
                                          {day, day, "d"},         {10 * day, day, "d"}};
  for (const TimeStep& mark : marks) {
    if (mark.seconds > most) break;
    const double x = x_of(mark.seconds);
    out += format("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", x, top, inner_height);
    out += text_at(x, top + inner_height + 18, "middle",
                   format("{:g} {}", mark.seconds / mark.unit, mark.name));
  }
  out += text_at(left + inner / 2, height - 6, "middle", "waited at most");
  for (const PlotSeries& series : lines) {
    // One point for every half unit of the view box is all that can be seen.
    std::string path;
    for (double x = left; x <= left + inner + 0.25; x += 0.5) {
      const double value = std::pow(10, (x - left) / inner * std::log10(most));
      path += format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x,
                     y_of(part_at_most(series.values, value), y_max));
    }
    out += line(series, path);
  }
  return out + "</svg>\n";
}

}  // namespace rota::sim
