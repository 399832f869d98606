// commands/watch.h - follows jobs as the controller pushes their changes.
#pragma once
#include <memory>
#include <optional>

#include "commands/session.h"
#include "model/job.h"
#include "proto/messages.h"

namespace rota::commands {

/// One open watch over the jobs that match a filter. A session that breaks is made again, and the
/// watch begins anew: first all that match, then the changes.
class JobWatch {
 public:
  /// `patience` is how long the controller may be away before the watch is given up.
  JobWatch(net::ConnectOptions options, JobFilter filter, Duration patience);

  /// The next jobs, or timed_out when none came within `limit`; the watch goes on after that.
  awaitable<Result<proto::QueueReply>> next(Duration limit);

  /// Counts the sessions: when it grew, the reply is the first of a new list.
  int generation() const { return generation_; }

 private:
  awaitable<Result<void>> open();

  net::ConnectOptions options_;
  JobFilter filter_;
  Duration patience_;
  std::shared_ptr<net::Connection> connection_;
  int generation_ = 0;
};

/// The one job `id` once `done` says so of it. An error when the controller does not know it.
awaitable<Result<JobView>> wait_for_job(net::ConnectOptions options, JobId id, Duration patience,
                                        bool (*done)(const JobView&));

}  // namespace rota::commands
