// gpud/container/enroot_start.cpp - checked words for enroot. In rstepd, so without libfmt.
#include "gpud/container/enroot_start.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "gpud/container/mounts.h"
#include "gpud/container/program.h"
#include "gpud/container/share_trees.h"
#include "gpud/launch/file.h"
#include "gpud/launch/namespaces.h"

namespace rota::gpud {
namespace {

/// One field of an fstab line, whose fields enroot takes with ':' between them.
bool add_field(std::string& line, const std::string& text) {
  for (const char c : text) {
    if (c == ':' || c == '\n' || c == '\t') return false;
    if (c == ' ')
      line += "\\040";
    else if (c == '\\')
      line += "\\134";
    else
      line += c;
  }
  return true;
}

[[noreturn]] void fail(int output, const std::string& why, int code) {
  say(output, why + '\n');
  ::_exit(code);
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// Under the run's own name, so that a container which is to be kept is whole when it gets its own.
void unpack(const ContainerOrder& order, int output) {
  if (exists(order.root) && !order.is_fresh) return;
  const std::string made = order.root.substr(0, order.root.rfind('/') + 1) + order.name;
  const std::string& image = order.create_words.back();
  if (const Fd file(::open(image.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); !file)
    fail(output, "cannot read the image '" + image + "': " + strerrordesc_np(errno), exit_by_job);
  const int status = call_words(order, order.create_words, output);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ::_exit(1);
  if (made == order.root) return;
  // The next sweep finds what was there before by the beginning of its name.
  if (exists(order.root) && ::rename(order.root.c_str(), (made + ".old").c_str()) != 0)
    fail(output, "cannot put away what was kept: " + std::string(strerrordesc_np(errno)), 1);
  if (::rename(made.c_str(), order.root.c_str()) != 0)
    fail(output, "cannot keep the container: " + std::string(strerrordesc_np(errno)), 1);
}

/// What the shim is made of is seen in there under its own names, for furnish_as_owner().
void add_share(const ShareOrder& share, std::vector<ContainerMount>& mounts) {
  if (share.empty() || share.by_driver) return;
  mounts.push_back({share.directory, share.directory, false});
  mounts.push_back({share.shim_dir, share.shim_dir, true});
}

}  // namespace

std::string enroot_mount(const ContainerMount& mount) {
  std::string line;
  if (!add_field(line, mount.source)) return {};
  line += ':';
  if (!add_field(line, mount.target)) return {};
  return line + ":none:x-create=auto,rbind,nosuid," + (mount.read_only ? "ro" : "rw");
}

std::string enroot_workdir(const std::string& script) {
  constexpr std::string_view before = "\ncd \"";
  const std::size_t at = script.find(before);
  if (at == std::string::npos) return {};
  const std::size_t start = at + before.size();
  const std::size_t end = script.find_first_of("\"\n", start);
  if (end == std::string::npos || script[end] == '\n') return {};
  return script.substr(start, end - start);
}

std::vector<std::string> workdirs_inside(const ContainerOrder& container) {
  std::vector<std::string> places = container.workdirs;
  if (container.kind != ContainerKind::enroot || places.size() < 2) return places;
  if (std::string own = enroot_workdir(file_read("/etc/rc")); !own.empty())
    places.insert(places.begin(), std::move(own));
  return places;
}

void adopt_variables(const std::vector<std::string>& found, StepOrder& order) {
  const auto name_of = [](const std::string& variable) {
    return std::string_view(variable).substr(0, variable.find('='));
  };
  std::vector<std::string>& variables = order.launch.payload.environment;
  const std::vector<std::string>& weak = order.container.weak_names;
  for (const std::string& variable : found) {
    const std::string_view name = name_of(variable);
    if (name.empty() || name.size() == variable.size() || name == "PWD" || name == "OLDPWD" ||
        name == "SHLVL" || name == "_" || name.starts_with("NVIDIA_"))
      continue;
    const auto is_it = [&](const std::string& each) { return name_of(each) == name; };
    const bool is_weak = std::ranges::find(weak, name) != weak.end();
    bool is_set = !is_weak && std::ranges::any_of(variables, is_it);
    for (const TaskOrder& task : order.tasks)
      is_set = is_set || std::ranges::any_of(task.environment, is_it);
    if (is_set) continue;
    std::erase_if(variables, is_it);
    variables.push_back(variable);
  }
}

void run_enroot(const ContainerOrder& order, const Owner& owner, const ShareOrder& share,
                int output) {
  ::umask(022);
  if (::chdir("/") != 0) fail(output, "cannot enter /", 1);
  for (const ContainerMount& mount : order.mounts)
    if (const std::string why = no_reading(mount, owner); !why.empty())
      fail(output, why, exit_by_job);
  unpack(order, output);
  std::vector<std::string> words = order.start_words;
  std::vector<ContainerMount> mounts = order.mounts;
  add_share(share, mounts);
  mounts.push_back({order.directory, box_place, true});
  for (const ContainerMount& mount : mounts) {
    const std::string line = enroot_mount(mount);
    if (line.empty())
      fail(output,
           "cannot mount '" + mount.source + "' at '" + mount.target +
               "': enroot takes no ':' and no line breaks in it",
           exit_by_job);
    words.push_back("--mount");
    words.push_back(line);
  }
  words.push_back("--");
  words.push_back(order.root.substr(order.root.rfind('/') + 1));
  words.push_back(std::string(box_place) + '/' + box_pause);
  run_words(order, words, output);
}

std::string furnish_as_owner(const ShareOrder& share, const Owner& owner,
                             const std::vector<std::uint32_t>& groups, pid_t init) {
  if (share.empty() || share.by_driver) return {};
  return furnish_by([&]() -> std::string {
    Namespaces spaces;
    std::string what = "look into it";
    int error = spaces.open(init);
    if (error == 0) error = spaces.enter(owner.uid, owner.gid, groups, what);
    if (error != 0) return "cannot " + what + " of the container: " + strerrordesc_np(error);
    ShareTrees shim;
    if (std::string trouble = shim.open(share); !trouble.empty()) return trouble;
    const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return shim.attach(root.get());
  });
}

}  // namespace rota::gpud
