// commands/gpu_options.h - what rsubmit's options say of parts of GPUs that hardware or MPS makes.
#pragma once
#include "commands/cli.h"
#include "commands/shape.h"
#include "common/result.h"

namespace rota::commands {

Result<void> apply_mig(const Given& given, ShapeRequest& shape);
Result<void> apply_mps(const Given& given, ShapeRequest& shape);

}  // namespace rota::commands
