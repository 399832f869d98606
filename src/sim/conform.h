// sim/conform.h - conformance cases: a cluster and a queue in, the required outcome, what differs.
#pragma once
#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "common/result.h"

namespace rota::sim {

/// One case that was run.
struct Verdict {
  std::string id;
  std::vector<std::string> faults;  // what was expected and what came; none: it passed
};

/// Reads a file of cases (either kind); an error names the file and what is wrong with it.
Result<boost::json::array> read_cases(const std::string& path);

/// Runs one case of either kind. `strict` also compares nodes and shared GPUs.
Verdict run_case(const boost::json::object& source, bool strict);

}  // namespace rota::sim
