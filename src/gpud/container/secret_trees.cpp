// gpud/container/secret_trees.cpp - fsmount, files, move_mount. Linked into rstepd, so without
// libfmt.
#include "gpud/container/secret_trees.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gpud/container/inside.h"
#include "gpud/container/order.h"
#include "gpud/launch/secrets.h"

namespace rota::gpud {
namespace {

std::string failed(const std::string& what) {
  return "cannot " + what + ": " + strerrordesc_np(errno);
}

std::string no_file(const std::string& target) {
  return failed("put a secret at '" + target + "' in the container");
}

std::string place_of_secrets() { return std::string(box_place) + '/' + box_secrets; }

bool write_file(int place, const std::string& name, const std::string& value, const Owner& owner) {
  const Fd file(::openat(place, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  std::size_t have = 0;
  while (file && have < value.size()) {
    const ssize_t size = ::write(file.get(), value.data() + have, value.size() - have);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    have += static_cast<std::size_t>(size);
  }
  return file && ::fchown(file.get(), owner.uid, owner.gid) == 0;
}

}  // namespace

std::string SecretTrees::open(const std::vector<SecretUse>& uses,
                              const std::vector<proto::Secret>& secrets, const Owner& owner) {
  if (!has_secret_files(uses)) return {};
  const Fd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "mode", "0755", 0) != 0 ||
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return failed("make a tmpfs for its secrets");
  tree_.reset(::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (!tree_) return failed("make a tmpfs for its secrets");
  for (const SecretUse& use : uses) {
    if (use.target.empty()) continue;
    File file;
    file.name = use.target;
    if (use.target.front() == '/') {
      file.name = '.' + std::to_string(files_.size());
      file.target = use.target;
    }
    const std::string* value = secret_value(secrets, use.name);
    if (value == nullptr || !write_file(tree_.get(), file.name, *value, owner))
      return failed("make the file of secret " + use.name);
    files_.push_back(std::move(file));
  }
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC;
  if (::mount_setattr(tree_.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
    return failed("protect its secrets");
  return {};
}

std::string SecretTrees::make_places(int root) const {
  for (const File& file : files_)
    if (!file.target.empty())
      if (const int error = make_target(root, file.target, false)) {
        errno = error;
        return no_file(file.target);
      }
  return {};
}

std::string SecretTrees::attach(int root) const {
  if (!tree_) return {};
  const Fd place(open_inside(root, place_of_secrets(), O_PATH | O_DIRECTORY));
  if (!place || ::move_mount(tree_.get(), "", place.get(), "",
                             MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return failed("put its secrets into the container");
  for (const File& file : files_)
    if (std::string trouble = attach_file(root, file); !trouble.empty()) return trouble;
  return {};
}

std::string SecretTrees::attach_file(int root, const File& file) const {
  if (file.target.empty()) return {};
  const Fd source(open_inside(root, place_of_secrets() + '/' + file.name, O_PATH));
  if (!source) return no_file(file.target);
  const Fd clone(
      ::open_tree(source.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  const Fd target(open_inside(root, file.target, O_PATH));
  if (!clone || !target ||
      ::move_mount(clone.get(), "", target.get(), "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return no_file(file.target);
  return {};
}

}  // namespace rota::gpud
