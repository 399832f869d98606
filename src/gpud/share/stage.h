// gpud/share/stage.h - puts the shim between a run's tasks and the driver, and proves that it
// holds.
//
// With the right to mount, a task sees our libraries at the driver's own path, and the driver under
// /run/rota/drv: whatever it loads, and however, it comes to us. Without that right it is
// LD_LIBRARY_PATH that leads to us, which a program may change: the watchdog on the node still sees
// what it takes.
#pragma once
#include <string>
#include <vector>

#include "gpud/share/order.h"

namespace rota::gpud {

/// Where tasks see the driver, as linked into the shim, and the probe in a container.
inline constexpr const char* share_driver_place = "/run/rota/drv";
inline constexpr const char* share_probe_name = "rota-gpuprobe";

/// A library of the driver's that the shim stands before.
struct ShareLibrary {
  const char* name;       // as programs know it
  const char* real_name;  // as the shim knows the driver's
  std::string real;       // on the node; "": there is none
};
std::vector<ShareLibrary> share_libraries(const ShareOrder& share);
/// What becomes share_driver_place in the tasks' namespace: empty files to be mounted over.
std::string share_driver_directory(const ShareOrder& share);

/// Before the first task: makes the run's directory and decides how tasks come to us. One sentence
/// when that fails, "" when all is well; `note` is a line for the log, or "". `in_container`: what
/// is mounted is mounted there, by others.
std::string stage_share(ShareOrder& share, std::vector<std::string>& environment, bool in_container,
                        std::string& note);
/// After the last task.
void unstage_share(const ShareOrder& share);
/// The probe on the node.
std::string share_probe(const ShareOrder& share);
/// Where the door listens.
std::string share_socket(const ShareOrder& share);

/// In a task, still with the right to mount: 0, or an errno.
int enter_share(const ShareOrder& share);
/// In a task, with the owner's rights and all of `environment`: runs rota-gpuprobe, which asks CUDA
/// and NVML what they show. One sentence when that is not the share; "" when it is.
std::string probe_share(const ShareOrder& share, const std::string& program, char** environment);

}  // namespace rota::gpud
