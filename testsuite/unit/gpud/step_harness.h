// testsuite/unit/gpud/step_harness.h - a real rstepd under a handmade rgpud, for the tests around
// it.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpud/launch/cgroup_host.h"
#include "gpud/launch/file.h"
#include "gpud/launch/plan.h"
#include "gpud/spool.h"

namespace rota::gpud {

/// A spool in a directory of its own, a nursery, and runs in it. Everything is gone with it.
class StepHarness {
 public:
  StepHarness();
  ~StepHarness();
  /// rstepd in the build tree.
  static std::string program();

  const std::string& directory() const { return directory_; }
  std::string path(const std::string& name) const { return directory_ + '/' + name; }
  std::string read(const std::string& name) const { return file_read(path(name)); }
  void write(const std::string& name, const std::string& text) const;
  Spool& spool() { return *spool_; }
  NodeFacts& facts() { return facts_; }
  NodeSettings& settings() { return settings_; }
  /// Of every run that is started from now on.
  std::vector<MigDevice>& instances() { return instances_; }
  void close_nursery() { nursery_.reset(); }

  /// A launch of this test's user that runs in directory(): a script, or a command per task.
  proto::LaunchRun batch(const std::string& script);
  proto::LaunchRun tasks(std::uint32_t count, std::vector<std::string> command);

  struct Started {
    RunId run;
    Fd socket;
    std::vector<std::string> notes;
  };
  Started start(proto::LaunchRun launch, std::vector<std::uint32_t> groups = {},
                std::vector<std::uint32_t> cpus = {});
  void command(Started& step, int signal);
  void command(Started& step, const StepCommand& command);
  /// Waits for rstepd's next report of this kind; fails the test after 20 s or when rstepd is gone.
  StepReport wait(Started& step, StepReport::Kind kind);
  /// True when rstepd hung up within 20 s.
  bool wait_hangup(Started& step);

  /// Runs it and tells the end: "exited 3", "exited by signal 9", "launch_failed: cannot ...". The
  /// next run goes to the same rstepd, if it is free.
  std::string run(proto::LaunchRun launch);
  std::string end_of(Started& step);

 private:
  std::string directory_;
  std::optional<Spool> spool_;
  NodeFacts facts_;
  CgroupBase made_;  // what the destructor removes, whatever a test does to facts()
  NodeSettings settings_;
  std::vector<MigDevice> instances_;
  Fd nursery_;
  Fd idle_;  // the line to an rstepd that waits for another run
  std::uint64_t jobs_ = 0;
};

std::string describe(const RunEnd& end);
bool is_root();
/// Waits up to 20 s for the condition, looking often.
bool eventually(const std::function<bool()>& condition);

}  // namespace rota::gpud
