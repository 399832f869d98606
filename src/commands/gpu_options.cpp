// commands/gpu_options.cpp - GPUs, parts of them and MIG profiles as people write them.
#include "commands/gpu_options.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/job.h"
#include "model/node_wish.h"

namespace rota::commands {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

bool is_decimal(std::string_view text) {
  return !text.empty() && text != "." &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// The value of a parser of common/units, its error with the option's name.
template <class T>
Result<T> value_of(const Given& given, Result<T> parsed) {
  if (!parsed) return bad_value(given, parsed.error().detail);
  return parsed;
}

/// Rounded up: asking for little is not asking for nothing.
Result<std::uint32_t> mebibytes_from(const Given& given, const std::string& text) {
  ROTA_TRY(const std::uint64_t bytes, value_of(given, size_parse(text, mebibyte)));
  const std::uint64_t mib = bytes / mebibyte + (bytes % mebibyte > 0 ? 1 : 0);
  if (mib == 0) return bad_value(given, "no memory at all; leave it out, or give a size");
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(mib, std::uint64_t{JobBounds::gpu_memory_mib_max} + 1));
}

}  // namespace

Result<std::uint32_t> gpus_from(const Given& given, ShapeRequest& shape) {
  std::string_view text = given.value;
  shape.gpu_type.clear();
  if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    const std::string_view type = text.substr(0, colon);
    if (is_decimal(type))
      return bad_value(
          given, format("{}: a limit stands above a share of a GPU: -g 0.25:0.8", quoted(text)));
    NodeWish wish;
    wish.constraint = type;
    if (type.find_first_of("|&,") != std::string_view::npos || !validate(wish))
      return bad_value(given,
                       format("{}: before the colon stands one type of GPU: a100:4", quoted(text)));
    shape.gpu_type = type;
    text.remove_prefix(colon + 1);
  }
  if (is_decimal(text) && text.find('.') != std::string_view::npos)
    return bad_value(
        given, format("{}: a share of a GPU is asked for by each task: -g {}", quoted(text), text));
  ROTA_TRY(const auto number, value_of(given, number_parse(text, UINT32_MAX)));
  return static_cast<std::uint32_t>(number);
}

/// "2" GPUs, or "0.5" of one, or "0.25:0.8": a quarter, and more while nobody else needs it.
Result<void> apply_gpus_per_task(const Given& given, ShapeRequest& shape) {
  shape.gpus_per_task.reset();
  shape.gpu_share.reset();
  shape.gpu_share_limit = 0;
  const std::size_t colon = given.value.find(':');
  const std::string first = given.value.substr(0, colon);
  if (!is_decimal(first) || first.find('.') == std::string::npos) {
    ROTA_TRY(shape.gpus_per_task, gpus_from(given, shape));
    return {};
  }
  ROTA_TRY(const std::int64_t amount,
           value_of(given, decimal_parse(first, 6, UINT32_MAX * gpu_unit)));
  if (colon != std::string::npos) {
    ROTA_TRY(const std::int64_t limit,
             value_of(given, decimal_parse(given.value.substr(colon + 1), 6, 1000 * gpu_unit)));
    if (amount >= gpu_unit || limit < amount || limit > gpu_unit)
      return bad_value(
          given, format("{}: a limit is at least the share, and at most 1", quoted(given.value)));
    shape.gpu_share_limit = static_cast<std::uint32_t>(limit);
  }
  if (amount % gpu_unit == 0) {
    shape.gpus_per_task = static_cast<std::uint32_t>(amount / gpu_unit);
  } else if (amount > gpu_unit) {
    return bad_value(given,
                     format("{}: more than one GPU is asked for in whole ones, or as a share "
                            "of each of several: -g 0.5 --gpu-devices=3",
                            quoted(given.value)));
  } else {
    shape.gpu_share = static_cast<std::uint32_t>(amount);
  }
  return {};
}

/// "20G", or "20G:30G": 20, and more while nobody else needs it.
Result<void> apply_gpu_memory(const Given& given, ShapeRequest& shape) {
  const std::size_t colon = given.value.find(':');
  shape.gpu_memory_limit_mib = 0;
  ROTA_TRY(shape.gpu_memory_mib, mebibytes_from(given, given.value.substr(0, colon)));
  if (colon == std::string::npos) return {};
  ROTA_TRY(shape.gpu_memory_limit_mib, mebibytes_from(given, given.value.substr(colon + 1)));
  if (shape.gpu_memory_limit_mib < *shape.gpu_memory_mib)
    return bad_value(given,
                     format("{}: a limit is at least what is asked for", quoted(given.value)));
  return {};
}

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
