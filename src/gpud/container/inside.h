// gpud/container/inside.h - looks things up below a container's root, and makes places there.
#pragma once
#include <cstdint>
#include <string>

namespace rota::gpud {

/// openat2: `resolve` keeps the path where it may lead. The descriptor, or -1 and errno.
int open_in(int root, const std::string& path, std::uint64_t flags, std::uint64_t resolve);
/// Never out of the root, whatever links say.
int open_inside(int root, const std::string& path, std::uint64_t flags);

/// The place of a mount, made on the container's own file system if it is not there. 0 or errno.
int make_target(int root, const std::string& target, bool is_directory);

/// An image may hold device files, with whatever mode its maker gave them. On all of the
/// container's mounts they are closed, but for those that the engine has made for devices. `self`
/// is /proc/self, opened before the namespace was entered. 0 or errno.
int close_devices(int root, int self);

/// Whether devices are for use on a mount, by its line of mountinfo: for it and for tests.
struct MountLine {
  std::string point;
  std::string type;
};
MountLine mount_line(const std::string& line);

}  // namespace rota::gpud
