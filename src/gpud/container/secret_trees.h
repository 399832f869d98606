// gpud/container/secret_trees.h - puts a run's secret files into its container: a tmpfs of its own,
// which nobody outside ever sees.
#pragma once
#include <string>
#include <vector>

#include "gpud/launch/file.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::gpud {

class SecretTrees {
 public:
  /// Outside, as root: a tmpfs with the files, attached nowhere yet. One sentence when that fails,
  /// "" when all is well or no secret is a file. The same for the others.
  std::string open(const std::vector<SecretUse>& uses, const std::vector<proto::Secret>& secrets,
                   const Owner& owner);
  /// In the container's mount namespace, while only its own files are there: the places of files
  /// that were asked for by a path.
  std::string make_places(int root) const;
  /// The same, behind all other mounts.
  std::string attach(int root) const;

 private:
  struct File {
    std::string name;    // in the tmpfs
    std::string target;  // not "": it shows there
  };
  std::string attach_file(int root, const File& file) const;

  Fd tree_;
  std::vector<File> files_;
};

}  // namespace rota::gpud
