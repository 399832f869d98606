// commands/job_list.h - lists of jobs in the form that was asked for, at once or as they change.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "commands/json.h"
#include "commands/program.h"
#include "commands/queue_options.h"
#include "commands/table.h"
#include "common/result.h"
#include "common/time.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::commands {

/// Gives jobs that run the time that they have run until `now`: the record only has the start.
void fill_elapsed(std::vector<JobView>& jobs, WallTime now);

/// The jobs that match, with the time that they have run.
Result<std::vector<JobView>> jobs_matching(const Program& program, const JobFilter& filter);

/// Turns jobs into text, piece by piece as they come, so that a long queue need not be kept. The
/// header comes with the first list only, and rows of later lists keep the widths of earlier ones.
class JobListing {
 public:
  JobListing(const QueueOptions& options, TableStyle style);

  void add(const std::vector<JobView>& jobs);
  /// All that was added since the last time, as one list.
  std::string take();

 private:
  void begin();
  std::string take_table();

  const QueueOptions& options_;
  TableStyle style_;
  std::string text_;
  JsonWriter json_{text_};
  Table table_;
  std::vector<std::size_t> widths_;
  bool begun_ = false;
};

/// The jobs of a watch, kept up to date by what the controller pushes.
class WatchedJobs {
 public:
  explicit WatchedJobs(JobFilter filter) : filter_(std::move(filter)) {}

  /// Takes a reply of the `generation`th session; a new session begins a new list. Returns the jobs
  /// that are new or differ from what was known, in order of their ids.
  std::vector<JobView> take(proto::QueueReply reply, int generation, MonoTime now);

  /// All jobs that match now, running ones with the time that has gone by since they were heard of.
  std::vector<JobView> all(MonoTime now) const;

  /// Whether the first list is all there.
  bool complete() const { return complete_; }

 private:
  struct Known {
    JobView job;
    MonoTime heard;
    int generation = 0;
  };
  bool is_wanted(const JobView& job) const;

  JobFilter filter_;
  std::map<JobId, Known> jobs_;
  int generation_ = 0;
  bool complete_ = false;
};

}  // namespace rota::commands
