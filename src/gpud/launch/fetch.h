// gpud/launch/fetch.h - the sources that a run wants before it starts: git, as its owner, in the
// run's own cgroup.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "common/time.h"
#include "gpud/launch/cgroup.h"
#include "gpud/launch/file.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// One process after the other. Whatever they leave is the run's: killed and removed with it.
class SourceFetcher {
 public:
  /// Keeps both.
  SourceFetcher(const StepOrder& order, const RunCgroups& cgroups);

  /// Whether there is nothing more to be fetched.
  bool is_done() const;
  /// Whether one of its processes is there.
  bool is_running() const { return pid_ > 0; }
  /// Starts the next process. One sentence when that fails.
  std::string begin();
  /// To poll; -1: nothing is waited for.
  int output() const { return output_.get(); }
  void read();
  /// A child of ours has ended: whether it was this one's, and what git says if it failed.
  bool was(pid_t pid, int status, std::string& trouble);
  /// Then it has taken too long.
  std::optional<MonoTime> give_up_at() const;
  std::string too_late() const;

  /// When the run is over.
  void remove();

 private:
  enum class Step { clone, checkout, put };
  const GitSource& source() const { return order_.launch.payload.git[at_]; }
  std::string directory() const;
  void advance();
  void put() const;
  [[noreturn]] void become_git(int output) const;

  const StepOrder& order_;
  const RunCgroups& cgroups_;
  std::size_t at_ = 0;
  Step step_ = Step::clone;
  pid_t pid_ = 0;
  Fd output_;
  std::string said_;
  std::optional<MonoTime> begun_;
};

/// What git complains of in its output, for people: for it and for tests.
std::string git_complaint(const std::string& output);
/// Its words to bring a source to a directory, and then to the revision.
std::vector<std::string> git_clone(const GitSource& source, const std::string& directory);
std::vector<std::string> git_checkout(const GitSource& source, const std::string& directory);

}  // namespace rota::gpud
