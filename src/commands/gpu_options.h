// commands/gpu_options.h - what rsubmit's options say of GPUs and parts of them.
#pragma once
#include "commands/cli.h"
#include "commands/shape.h"
#include "common/result.h"

namespace rota::commands {

/// "4", or "a100:4", whose type goes to `shape`.
Result<std::uint32_t> gpus_from(const Given& given, ShapeRequest& shape);
Result<void> apply_gpus_per_task(const Given& given, ShapeRequest& shape);
Result<void> apply_gpu_memory(const Given& given, ShapeRequest& shape);
Result<void> apply_mig(const Given& given, ShapeRequest& shape);
Result<void> apply_mps(const Given& given, ShapeRequest& shape);

}  // namespace rota::commands
