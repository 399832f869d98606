// gpud/share/driver_limit.h - the other way to hold a job to its part of a GPU: the driver's own
// limit on a cgroup (r615 and later). No library stands before the driver's then.
//
// All of it goes through rota-gpulimit, which lies beside the shim: an NVML call that hangs takes
// that program with it and nothing else.
#pragma once
#include <string>
#include <vector>

#include "gpud/launch/file.h"
#include "gpud/share/order.h"

namespace rota::gpud {

/// Whether this driver has limits at all; whether they hold only set_driver_limits() tells.
bool has_driver_limits(const std::string& shim_dir, const std::string& nvml);

/// Before the first task: reserves the run's parts for all that is in `cgroup`, and makes them the
/// most; read back as proof. "" or why not, and then nothing is set.
std::string set_driver_limits(const ShareOrder& share, const std::string& cgroup);

/// Before the cgroup is removed. Comes back at once; the descriptor becomes readable, or is at its
/// end, when it is done.
Fd begin_clear_driver_limits(const std::string& shim_dir, const std::string& nvml,
                             const std::string& cgroup, const std::vector<std::string>& uuids);
/// Whether that has been done; an Fd without a file always has.
bool is_cleared(const Fd& clearing);
/// The same, and waits for it.
void clear_driver_limits(const ShareOrder& share, const std::string& cgroup);

}  // namespace rota::gpud
