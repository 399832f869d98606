// commands/sisters.cpp - finds and runs our other commands.
#include "commands/sisters.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "common/format.h"

namespace rota::commands {
namespace {

/// "/usr/bin/" of /usr/bin/rota.
std::string own_directory() {
  std::array<char, PATH_MAX> self;
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
  if (size <= 0) return {};
  const std::string path(self.data(), static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/') + 1);
}

/// A list of pointers as exec wants it, into `words`.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> words_of(std::string_view name,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words{std::string(name)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

Error cannot_run(const std::string& path, int error) {
  return {Errc::io_failed, format("cannot run {}: {}", path, std::strerror(error))};
}

}  // namespace

Result<std::string> sister_path(std::string_view name) {
  const std::string own = own_directory();
  if (own.empty()) return Error{Errc::io_failed, "cannot tell where this program is"};
  // Beside this one; in the tree where both were built; in bin when this is in libexec/rota/slurm.
  for (const char* from_here : {"", "../../src/commands/", "../../../bin/"})
    if (const std::string path = format("{}{}{}", own, from_here, name);
        ::access(path.c_str(), X_OK) == 0)
      return path;
  return Error{Errc::io_failed, format("there is no {} beside this program, nor in the bin "
                                       "directory of its installation",
                                       name)};
}

Error become_sister(std::string_view name, const std::vector<std::string>& arguments) {
  const auto path = sister_path(name);
  if (!path) return path.error();
  std::vector<std::string> words = words_of(name, arguments);
  ::execv(path->c_str(), pointers_to(words).data());
  return cannot_run(*path, errno);
}

Result<int> run_sister(std::string_view name, const std::vector<std::string>& arguments) {
  ROTA_TRY(const std::string path, sister_path(name));
  std::vector<std::string> words = words_of(name, arguments);
  pid_t pid = 0;
  if (const int error =
          ::posix_spawn(&pid, path.c_str(), nullptr, nullptr, pointers_to(words).data(), environ))
    return cannot_run(path, error);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return cannot_run(path, errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string slurm_directory() {
  for (const std::string& directory :
       {own_directory() + "../../contribs/slurm", std::string(ROTA_LIBEXECDIR "/slurm")}) {
    if (::access((directory + "/srun").c_str(), X_OK) != 0) continue;
    std::array<char, PATH_MAX> whole;
    return ::realpath(directory.c_str(), whole.data()) == nullptr ? directory : whole.data();
  }
  return {};
}

}  // namespace rota::commands
