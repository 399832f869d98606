// gpud/launch/script.cpp - a real file, so that $0 and #! mean what they mean everywhere.
#include "gpud/launch/script.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

std::string failed(const StepOrder& order, const char* what, int error) {
  return std::string("cannot ") + what + " the script at " + order.script_path + ": " +
         strerrordesc_np(error);
}

}  // namespace

std::string write_script(const StepOrder& order) {
  if (order.launch.payload.mode != LaunchMode::batch || order.holds) return {};
  const std::string& text = order.launch.payload.script;
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  Fd file(::open(order.script_path.c_str(), flags, 0500));
  if (!file && errno == EEXIST) {  // left by a node that lost power: of no use to anybody
    ::unlink(order.script_path.c_str());
    file.reset(::open(order.script_path.c_str(), flags, 0500));
  }
  if (!file) return failed(order, "make", errno);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()))
    return failed(order, "write", written < 0 ? errno : ENOSPC);
  const Owner& owner = order.launch.owner;
  if (::geteuid() == 0 && owner.uid != 0 && ::fchown(file.get(), owner.uid, owner.gid) != 0)
    return failed(order, "give away", errno);
  return {};
}

void remove_script(const StepOrder& order) {
  if (order.launch.payload.mode == LaunchMode::batch && !order.holds)
    ::unlink(order.script_path.c_str());
}

}  // namespace rota::gpud
