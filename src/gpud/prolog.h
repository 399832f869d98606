// gpud/prolog.h - the site's programs before and after each run of this node.
//
// SPOOL/prolog/JOB.RESTART is there from before the prolog until after the epilog, and holds their
// environment: what an rgpud that was killed has left over, the next one finds there.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "gpud/health/program.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::gpud {

class Prologs {
 public:
  enum class OnFailure : std::uint8_t {
    drain,    // the node takes no more jobs; of a prolog: this one goes elsewhere
    requeue,  // of a prolog: only that
    fail,     // of a prolog: the job has failed
    ignore,   // of an epilog
  };
  struct Options {
    std::string prolog;  // "": none
    std::string epilog;
    Duration limit{};
    OnFailure prolog_failure = OnFailure::drain;
    OnFailure epilog_failure = OnFailure::drain;
    std::string directory;  // SPOOL/prolog
    std::string node;       // its name
    std::string boot_id;
  };
  /// The node shall take no more jobs, by the word of this program.
  using Drain = std::function<void(const std::string& program, const Error& why)>;
  Prologs(boost::asio::any_io_executor executor, Options options, Drain drain);

  /// Calls `done` when the run may start, or with what is said against that; at once where there is
  /// no prolog, else later. An epilog of the same run that is not over yet comes first.
  using Answer = std::function<void(Result<void>)>;
  void before(const proto::LaunchRun& launch, bool slurm_environment, Answer done);
  /// The run is over, or never came to be: calls `done` when its epilog is, too; at once where it
  /// has none. A prolog under way comes to its own end first.
  void after(RunId run, const RunEnd& end, std::function<void()> done);

  /// What an earlier rgpud has left: runs whose epilog is still to come. Of a node that was
  /// restarted since, nothing is left.
  std::vector<RunId> left_over() const;
  /// Whether the run is one of them.
  bool owes_epilog(RunId run) const;
  /// No program is waited for any more; one that runs goes on to its end or its limit.
  void stop();

 private:
  struct Run {
    std::unique_ptr<RunningProgram> program;
    bool is_over = false;  // the epilog is what runs or waits
    RunEnd end;
    std::vector<std::function<void()>> ended;  // called after the epilog
    std::function<void()> next;                // a new start of the same run waits for that
  };

  void begin(RunId run, Answer done);
  void run_epilog(RunId run);
  void epilog_done(RunId run, const Result<void>& result);
  ProgramOrder order_of(RunId run, const char* what, const std::string& program) const;
  std::string path_of(RunId run) const;

  boost::asio::any_io_executor executor_;
  Options options_;
  Drain drain_;
  std::map<RunId, Run> runs_;  // with a program that runs
};

/// As rota.yaml has it; the directory, the node and its boot are for the caller to fill in.
Prologs::Options prolog_options(const Config& config);

/// What both programs hear of the run.
std::vector<std::string> prolog_environment(const proto::LaunchRun& launch, const std::string& node,
                                            bool slurm_environment);

}  // namespace rota::gpud
