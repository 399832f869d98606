// sim/conform_units.h - small numeric facts: fair shares, who may reclaim, minimum run times.
#pragma once
#include "sim/conform.h"

namespace rota::sim {

Verdict run_unit_case(const boost::json::object& source);

}  // namespace rota::sim
