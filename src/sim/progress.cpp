// sim/progress.cpp - writes a line only when it differs from the one that is there.
#include "sim/progress.h"

#include <unistd.h>

#include <cstdio>

#include "common/format.h"

namespace rota::sim {
namespace {

constexpr std::size_t bar_width = 40;

}  // namespace

Progress::Progress(std::string_view label, std::size_t all)
    : label_(label), all_(all), is_shown_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (last_.empty()) return;
  std::fputs(format("\r{:{}}\r", "", last_.size()).c_str(), stderr);
}

std::string Progress::line(std::string_view label, std::size_t done, std::size_t all) {
  const std::size_t part = all == 0 ? bar_width : done * bar_width / all;
  return format("{} [{:{}}] {:3} %", label, std::string(part, '='), bar_width,
                all == 0 ? 100 : done * 100 / all);
}

void Progress::show(std::size_t done) {
  if (!is_shown_) return;
  const std::string now = line(label_, done, all_);
  if (now == last_) return;
  last_ = now;
  std::fputs(("\r" + now).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace rota::sim
