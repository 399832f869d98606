// gpud/mps/access.h - what a run needs to be a client of its user's MPS daemon on a GPU.
#pragma once
#include <string>

namespace rota::gpud {

struct MpsAccess {
  std::string gpu;             // UUID
  std::string pipe_directory;  // the daemon's sockets
  std::string log_directory;
  friend bool operator==(const MpsAccess&, const MpsAccess&) = default;
};

}  // namespace rota::gpud
