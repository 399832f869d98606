// gpud/share/driver.h - where the driver's libraries are on this host, and ours that stand before
// them.
#pragma once
#include <string>

namespace rota::gpud {

struct DriverFiles {
  std::string cuda;  // "": there is none
  std::string nvml;
};

/// `nvml` is node.nvml: a path, beside which CUDA is looked for, or a name, which is looked for
/// where drivers are installed.
DriverFiles find_driver(const std::string& nvml);

/// The folder of the shim: beside this program in a build tree, else where it was installed; ""
/// when it is nowhere.
std::string shim_directory();

}  // namespace rota::gpud
