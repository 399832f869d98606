// gpud/mig/minors.cpp - "gpu0/gi1/ci0/access 14", line by line.
#include "gpud/mig/minors.h"

#include <algorithm>
#include <charconv>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

std::string_view take(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The N of "giN" at the front of a path, which loses it.
std::optional<std::uint32_t> numbered(std::string_view& path, std::string_view word) {
  if (!path.starts_with(word)) return std::nullopt;
  std::string_view rest = path;
  const auto value = number(take(rest, '/').substr(word.size()));
  if (value) path = rest;
  return value;
}

}  // namespace

MigMinors MigMinors::load(const std::string& minors_path, const std::string& devices_path) {
  return MigMinors(file_read(minors_path), file_read(devices_path));
}

MigMinors::MigMinors(std::string_view minors, std::string_view devices) {
  while (!devices.empty()) {
    std::string_view line = take(devices, '\n');
    while (line.starts_with(' ')) line.remove_prefix(1);
    const auto major = number(take(line, ' '));
    if (major && line == "nvidia-caps") major_ = *major;
  }
  while (major_ != 0 && !minors.empty()) {
    std::string_view rest = take(minors, '\n');
    std::string_view path = take(rest, ' ');
    const auto minor = number(rest);
    if (!minor) continue;
    Line line;
    line.minor = *minor;
    line.gpu = numbered(path, "gpu");
    line.instance = numbered(path, "gi");
    line.compute = numbered(path, "ci");
    lines_.push_back(line);
  }
}

std::optional<std::uint32_t> MigMinors::of_instance(std::uint32_t gpu_minor,
                                                    std::uint32_t instance) const {
  for (const Line& line : lines_)
    if (line.gpu == gpu_minor && line.instance == instance && !line.compute) return line.minor;
  return std::nullopt;
}

std::optional<std::uint32_t> MigMinors::of_compute(std::uint32_t gpu_minor, std::uint32_t instance,
                                                   std::uint32_t compute) const {
  for (const Line& line : lines_)
    if (line.gpu == gpu_minor && line.instance == instance && line.compute == compute)
      return line.minor;
  return std::nullopt;
}

std::vector<std::uint32_t> MigMinors::all(const std::vector<std::uint32_t>& gpu_minors) const {
  std::vector<std::uint32_t> minors;
  for (const Line& line : lines_)
    if (!line.gpu || std::ranges::find(gpu_minors, *line.gpu) != gpu_minors.end())
      minors.push_back(line.minor);
  std::ranges::sort(minors);
  return minors;
}

}  // namespace rota::gpud
