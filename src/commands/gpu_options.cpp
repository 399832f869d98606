// commands/gpu_options.cpp - MIG profiles and shares of the compute as people write them.
#include "commands/gpu_options.h"

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/job.h"

namespace rota::commands {

/// "3g.20gb", "3g.20gb:2" or "auto".
Result<void> apply_mig(const Given& given, ShapeRequest& shape) {
  const std::string_view text = given.value;
  const std::size_t colon = text.find(':');
  const std::string profile(text.substr(0, colon));
  shape.mig_count.reset();
  if (profile != TaskRequest::mig_auto && !MigName::parse(profile))
    return bad_value(given, format("{} is not the name of a MIG profile; write 3g.20gb, 3g.20gb:2 "
                                   "for two of them, or auto",
                                   quoted(profile)));
  if (colon != std::string_view::npos) {
    const auto count = number_parse(text.substr(colon + 1), JobBounds::gpus_per_task_max);
    if (!count || *count == 0 || profile == TaskRequest::mig_auto)
      return bad_value(given, format("{}: behind the colon of a profile stands how many of it, 1 "
                                     "to {}",
                                     quoted(text), JobBounds::gpus_per_task_max));
    shape.mig_count = static_cast<std::uint32_t>(*count);
  }
  shape.mig = profile;
  return {};
}

/// "50" percent; nothing: as the part of the GPU is.
Result<void> apply_mps(const Given& given, ShapeRequest& shape) {
  shape.mps = true;
  shape.mps_percent = 0;
  if (given.value.empty()) return {};
  const auto percent = number_parse(given.value, JobBounds::mps_percent_max);
  if (!percent || *percent == 0)
    return bad_value(given, format("{} is no share of a GPU's compute; write 1 to {} percent, or "
                                   "nothing for as much as the part of the GPU is",
                                   quoted(given.value), JobBounds::mps_percent_max));
  shape.mps_percent = static_cast<std::uint8_t>(*percent);
  return {};
}

}  // namespace rota::commands
