// gpud/launch/spawn.h - starts rstepd's nursery, once per rgpud (and again if it dies).
#pragma once
#include <string>

#include "common/result.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

/// Where rstepd is: beside this program (in a build tree), else where it was installed.
std::string step_program();

/// Starts `program` in a session of its own with none of our open files, and gives our end of its
/// socket; closing that ends it. `node` only shows in `ps`.
Result<Fd> nursery_spawn(const std::string& program, const std::string& node);

}  // namespace rota::gpud
