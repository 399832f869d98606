// gpud/share/driver.cpp - a short list of places, as packages of the driver use them.
#include "gpud/share/driver.h"

#include <limits.h>
#include <unistd.h>

namespace rota::gpud {
namespace {

std::string if_there(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

}  // namespace

DriverFiles find_driver(const std::string& nvml) {
  if (const std::size_t slash = nvml.rfind('/'); slash != std::string::npos)
    return {if_there(nvml.substr(0, slash + 1) + "libcuda.so.1"), if_there(nvml)};
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/",
        "/usr/local/nvidia/lib64/", "/usr/lib/x86_64-linux-gnu/nvidia/current/", "/usr/lib/"}) {
    const std::string found = if_there(folder + nvml);
    if (!found.empty()) return {if_there(folder + std::string("libcuda.so.1")), found};
  }
  return {};
}

std::string shim_directory() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  if (size > 0) {
    std::string path(self, static_cast<std::size_t>(size));
    path.resize(path.rfind('/'));
    path = path.substr(0, path.rfind('/') + 1) + "gpushim";
    if (!if_there(path + "/rota-gpuprobe").empty()) return path;
  }
  const std::string installed = ROTA_LIBEXECDIR "/gpushim";
  return if_there(installed + "/rota-gpuprobe").empty() ? std::string() : installed;
}

}  // namespace rota::gpud
