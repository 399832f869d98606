// gpud/container/share_trees.cpp - finds the driver's libraries in a container and covers them. In
// rstepd, so without libfmt.
#include "gpud/container/share_trees.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "gpud/container/inside.h"
#include "gpud/share/stage.h"
#include "gpushim/region.h"

namespace rota::gpud {
namespace {

constexpr std::size_t copies_max = 8;
constexpr std::array<const char*, 8> library_places{"/usr/lib/x86_64-linux-gnu",
                                                    "/usr/lib64",
                                                    "/usr/lib",
                                                    "/lib/x86_64-linux-gnu",
                                                    "/lib64",
                                                    "/lib",
                                                    "/usr/local/nvidia/lib64",
                                                    "/usr/local/nvidia/lib"};

std::string failed(const std::string& what) {
  return "cannot put its part of a GPU into the container: " + what + ": " + strerrordesc_np(errno);
}

Fd clone_tree(const std::string& path) {
  return Fd(::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

bool put(const Fd& tree, const Fd& target) {
  return ::move_mount(tree.get(), "", target.get(), "",
                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
}

bool put_at(int root, const Fd& tree, const std::string& path) {
  const Fd target(open_inside(root, path, O_PATH));
  return target && put(tree, target);
}

/// Directories of CUDA's own compatibility packages, by whatever version.
std::vector<std::string> places_in(int root) {
  std::vector<std::string> places(library_places.begin(), library_places.end());
  const int local = open_inside(root, "/usr/local", O_RDONLY | O_DIRECTORY);
  DIR* const directory = local < 0 ? nullptr : ::fdopendir(local);
  if (directory == nullptr) return places;
  while (const dirent* item = ::readdir(directory))
    if (std::strncmp(item->d_name, "cuda", 4) == 0)
      places.push_back(std::string("/usr/local/") + item->d_name + "/compat");
  ::closedir(directory);
  return places;
}

}  // namespace

std::string ShareTrees::open(const ShareOrder& share) {
  if (share.empty() || share.by_driver) return {};
  place_ = clone_tree(share_driver_directory(share));
  socket_ = clone_tree(share_socket(share));
  probe_ = clone_tree(share_probe(share));
  if (!place_ || !socket_ || !probe_) return failed("its directory");
  for (const ShareLibrary& library : share_libraries(share)) {
    if (library.real.empty()) continue;
    Cover& cover = covers_.emplace_back();
    cover.name = library.name;
    cover.real_name = library.real_name;
    while (cover.trees.size() < copies_max) {
      cover.trees.push_back(clone_tree(share.shim_dir + '/' + library.name));
      if (!cover.trees.back()) return failed(library.name);
    }
  }
  return {};
}

std::string ShareTrees::attach(int root) const {
  if (!place_) return {};
  if ((errno = make_target(root, share_driver_place, true)) != 0) return failed(share_driver_place);
  if (!put_at(root, place_, share_driver_place) ||
      !put_at(root, socket_, std::string(share_driver_place) + '/' + rota_share_socket) ||
      !put_at(root, probe_, std::string(share_driver_place) + '/' + share_probe_name))
    return failed(share_driver_place);
  for (const Cover& cover : covers_)
    if (std::string trouble = attach_cover(root, cover); !trouble.empty()) return trouble;
  return {};
}

/// The first that is found is the driver. Directories that are links to each other show, after the
/// first of them, what covers it.
std::string ShareTrees::attach_cover(int root, const Cover& cover) const {
  struct stat shim {};
  ::fstat(cover.trees.front().get(), &shim);
  std::size_t used = 0;
  for (const std::string& place : places_in(root)) {
    const std::string path = place + '/' + cover.name;
    const Fd found(open_inside(root, path, O_PATH));
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (status.st_dev == shim.st_dev && status.st_ino == shim.st_ino) continue;
    if (used == 0) {
      const Fd real(
          ::open_tree(found.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
      const std::string name = std::string(share_driver_place) + '/' + cover.real_name;
      if (!real || !put_at(root, real, name)) return failed(name);
    }
    errno = E2BIG;
    if (used == cover.trees.size() || !put(cover.trees[used++], found)) return failed(path);
  }
  return {};
}

bool has_share_inside() {
  const std::string real = std::string(share_driver_place) + '/' + rota_share_real_cuda;
  struct stat status {};
  return ::stat(real.c_str(), &status) == 0 && status.st_size > 0;
}

}  // namespace rota::gpud
