// gpud/container/share_trees.h - puts the shim of a job with a part of a GPU into its container.
//
// As on the node (share/stage.h) our libraries lie at the driver's own paths, and the driver under
// /run/rota/drv. Which paths those are the engine decides that put the driver there, and an image
// may bring one of its own (cuda/compat): all that are found where programs look are covered.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "gpud/launch/file.h"
#include "gpud/share/order.h"

namespace rota::gpud {

class ShareTrees {
 public:
  /// Outside, as root: clones what will be attached. One sentence when that fails; "" when all is
  /// well, or the run has no part of a GPU. The same for attach().
  std::string open(const ShareOrder& share);
  /// In the container's mount namespace.
  std::string attach(int root) const;

 private:
  /// One that stands before each copy of a library of the driver's.
  struct Cover {
    std::string name;       // as programs know it
    std::string real_name;  // as the shim knows the driver's
    std::vector<Fd> trees;  // as many as there may be copies
  };
  std::string attach_cover(int root, const Cover& cover) const;

  Fd place_;   // what becomes /run/rota/drv
  Fd socket_;  // of the door, in it
  Fd probe_;   // the same
  std::vector<Cover> covers_;
};

/// Whether the container has the driver, and the shim before it: in a task inside.
bool has_share_inside();

}  // namespace rota::gpud
