// gpud/launch/script.h - the batch script as a file that its owner can run, for as long as the run.
#pragma once
#include <string>

#include "gpud/launch/order.h"

namespace rota::gpud {

/// Writes the script of a batch order to its script_path: owned by the job's owner, readable and
/// executable for nobody else. Nothing to do for other orders. "" or what went wrong.
std::string write_script(const StepOrder& order);
void remove_script(const StepOrder& order);

}  // namespace rota::gpud
