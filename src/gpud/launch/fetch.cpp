// gpud/launch/fetch.cpp - git's words, environment and limits. In rstepd, so without libfmt.
#include "gpud/launch/fetch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/clock.h"
#include "gpud/launch/identity.h"
#include "gpud/launch/task.h"

namespace rota::gpud {
namespace {

constexpr std::size_t said_bytes_max = 16 << 10;
constexpr std::size_t complaint_bytes_max = 512;

std::string failed(const std::string& what) {
  return "cannot " + what + ": " + strerrordesc_np(errno);
}

[[noreturn]] void refuse(const std::string& why) {
  static_cast<void>(!::write(2, why.data(), why.size()));
  ::_exit(126);
}

}  // namespace

std::string git_complaint(const std::string& output) {
  std::string_view best;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = std::string_view(output).substr(at, end - at);
    at = end + 1;
    const bool is_it = line.starts_with("fatal: ") || line.starts_with("error: ");
    if (is_it) {
      best = line;
      break;
    }
    if (!line.empty()) best = line;
  }
  std::string text(best.substr(0, complaint_bytes_max));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text.empty() ? "it did not say why" : text;
}

std::vector<std::string> git_clone(const GitSource& source, const std::string& directory) {
  std::vector<std::string> words = {"git", "clone", "--quiet"};
  if (!source.revision.empty()) words.push_back("--no-checkout");
  words.insert(words.end(), {"--", source.url, directory});
  return words;
}

/// The last word is for a revision that is also a file's name.
std::vector<std::string> git_checkout(const GitSource& source, const std::string& directory) {
  return {
      "git",           "-c", "advice.detachedHead=false", "-C", directory, "checkout", "--quiet",
      source.revision, "--"};
}

SourceFetcher::SourceFetcher(const StepOrder& order, const RunCgroups& cgroups)
    : order_(order), cgroups_(cgroups) {}

bool SourceFetcher::is_done() const { return at_ >= order_.launch.payload.git.size(); }

std::string SourceFetcher::directory() const {
  // Beside its place, so that what is there is always whole.
  if (order_.fetch.directory.empty())
    return source().target + ".rota-" + std::to_string(order_.launch.run.job.value);
  return order_.fetch.directory + '/' + std::to_string(at_);
}

std::string SourceFetcher::begin() {
  if (!begun_) begun_ = mono_now();
  const Owner& owner = order_.launch.owner;
  if (!order_.fetch.directory.empty() && step_ == Step::clone) {
    const std::string place = directory();
    if ((::mkdir(order_.fetch.directory.c_str(), 0711) != 0 && errno != EEXIST) ||
        ::chmod(order_.fetch.directory.c_str(), 0711) != 0 || ::mkdir(place.c_str(), 0700) != 0 ||
        ::chown(place.c_str(), owner.uid, owner.gid) != 0)
      return failed("make " + place);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("make a pipe");
  output_.reset(ends[0]);
  const Fd theirs(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  said_.clear();
  pid_ = ::_Fork();
  if (pid_ == 0) become_git(theirs.get());
  return pid_ > 0 ? "" : failed("start a process");
}

void SourceFetcher::become_git(int output) const {
  ::dup2(output, 1);
  ::dup2(output, 2);
  // A session of its own has no terminal to ask on, and its input is rstepd's /dev/null.
  if (const Excuse excuse = enter_run(order_, cgroups_, false); !excuse.text.empty())
    refuse(excuse.text);
  const rlimit largest{.rlim_cur = order_.fetch.bytes_max, .rlim_max = order_.fetch.bytes_max};
  ::setrlimit(RLIMIT_FSIZE, &largest);
  const Owner& owner = order_.launch.owner;
  errno = become(owner.uid, owner.gid, order_.groups);
  if (errno != 0) refuse(failed("become uid " + std::to_string(owner.uid)));
  ::umask(static_cast<mode_t>(order_.launch.payload.umask & 0777));
  if (::chdir("/") != 0) refuse(failed("enter /"));
  const std::string place = directory();
  if (order_.fetch.directory.empty()) put();
  std::vector<std::string> words =
      step_ == Step::clone ? git_clone(source(), place) : git_checkout(source(), place);
  std::vector<std::string> environment = order_.fetch.environment;
  std::vector<char*> arguments, variables;
  for (std::string& word : words) arguments.push_back(word.data());
  for (std::string& variable : environment) variables.push_back(variable.data());
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  environ = variables.data();  // execvpe looks for PATH there
  ::execvpe(arguments[0], arguments.data(), variables.data());
  refuse(failed("run git"));
}

/// A job without a container has its sources where it wants them, if nothing else is there. One
/// that starts again finds them as it left them.
void SourceFetcher::put() const {
  const std::string& target = source().target;
  if (order_.launch.run.restart > 0 && ::access((target + "/.git").c_str(), F_OK) == 0) ::_exit(0);
  std::error_code error;
  if (step_ == Step::clone) {
    std::filesystem::remove_all(directory(), error);
    if (std::filesystem::exists(target, error) && !std::filesystem::is_empty(target, error))
      refuse("destination path '" + target + "' already exists and is not an empty directory");
  }
  if (step_ != Step::put) return;
  if (::rename(directory().c_str(), target.c_str()) != 0) refuse(failed("make '" + target + "'"));
  ::_exit(0);
}

void SourceFetcher::read() {
  char part[1024];
  for (;;) {
    const ssize_t size = ::read(output_.get(), part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    if (size == 0) return output_.reset();
    if (said_.size() < said_bytes_max) said_.append(part, static_cast<std::size_t>(size));
  }
}

bool SourceFetcher::was(pid_t pid, int status, std::string& trouble) {
  if (pid != pid_ || pid_ <= 0) return false;
  pid_ = 0;
  if (output_) read();
  output_.reset();
  const std::string what = "cannot fetch '" + source().url + "': ";
  if (WIFSIGNALED(status))
    trouble = what + (WTERMSIG(status) == SIGXFSZ
                          ? "it has more than node.git_size_max"
                          : "git was ended by signal " + std::to_string(WTERMSIG(status)));
  else if (WEXITSTATUS(status) != 0)
    trouble = what + git_complaint(said_);
  else
    advance();
  return true;
}

void SourceFetcher::advance() {
  if (step_ == Step::clone && !source().revision.empty()) {
    step_ = Step::checkout;
  } else if (step_ != Step::put && order_.fetch.directory.empty()) {
    step_ = Step::put;
  } else {
    step_ = Step::clone;
    ++at_;
  }
}

std::optional<MonoTime> SourceFetcher::give_up_at() const {
  if (!begun_ || pid_ <= 0) return std::nullopt;
  return *begun_ + std::chrono::milliseconds(order_.fetch.limit_ms);
}

std::string SourceFetcher::too_late() const {
  return "cannot fetch '" + source().url + "': it took longer than " +
         std::to_string(order_.fetch.limit_ms / 1000) + " s (node.git_limit)";
}

void SourceFetcher::remove() {
  if (order_.fetch.directory.empty()) {
    // What did not get to its place, if anything: the owner's, in a directory of the owner's.
    if (!begun_ || is_done()) return;
    const pid_t pid = ::_Fork();
    if (pid == 0) {
      const Owner& owner = order_.launch.owner;
      std::error_code ignored;
      if (become(owner.uid, owner.gid, order_.groups) == 0)
        std::filesystem::remove_all(directory(), ignored);
      ::_exit(0);
    }
    while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
    return;
  }
  // Directories of the owner's; the library holds on to what it has opened and follows no links.
  std::error_code ignored;
  std::filesystem::remove_all(order_.fetch.directory, ignored);
}

}  // namespace rota::gpud
