// commands/job_list.cpp - prints lists of jobs, keeps watched ones.
#include "commands/job_list.h"

#include <algorithm>
#include <utility>

#include "commands/job_view.h"
#include "commands/session.h"
#include "common/clock.h"

namespace rota::commands {

void fill_elapsed(std::vector<JobView>& jobs, WallTime now) {
  for (JobView& job : jobs) {
    if (is_final(job.state) || !job.start_time) continue;
    const std::int64_t passed = now.microseconds - job.start_time.microseconds;
    job.elapsed_ms = std::max<std::int64_t>(0, passed) / 1000;
  }
}

Result<std::vector<JobView>> jobs_matching(const Program& program, const JobFilter& filter) {
  ROTA_TRY(const auto controller, controller_options(program));
  std::vector<JobView> jobs;
  const proto::QueueRequest request{.filter = filter, .watch = false};
  ROTA_CHECK(ask_stream<proto::QueueReply>(controller, request, [&](proto::QueueReply reply) {
    fill_elapsed(reply.jobs, wall_now());
    std::move(reply.jobs.begin(), reply.jobs.end(), std::back_inserter(jobs));
  }));
  return jobs;
}

JobListing::JobListing(const QueueOptions& options, TableStyle style)
    : options_(options), style_(style), table_(job_table(options.is_long)) {
  style_.header = options.header;
  if (options.parsable) style_.separator = '|';
}

void JobListing::begin() {
  begun_ = true;
  if (options_.json) {
    json_.begin_object();
    json_.key("jobs");
    json_.begin_array();
  } else if (options_.format && style_.header) {
    options_.format->append_header(text_);
  }
}

void JobListing::add(const std::vector<JobView>& jobs) {
  if (!begun_) begin();
  for (const JobView& job : jobs) {
    // An array that is handed out says nothing that its tasks do not say, unless it is asked for.
    if (job.spec.is_array() && job.waiting.empty() && !options_.filter.names_jobs()) continue;
    if (options_.json)
      write_job(json_, job);
    else if (options_.format)
      options_.format->append_row(text_, job);
    else
      add_row(table_, job, options_.is_long);
  }
}

std::string JobListing::take() {
  if (!begun_) begin();
  if (options_.json) {
    json_.end_array();
    json_.end_object();
    text_ += '\n';
  }
  std::string text = options_.json || options_.format ? std::exchange(text_, {}) : take_table();
  style_.header = false;
  begun_ = false;
  return text;
}

std::string JobListing::take_table() {
  if (!widths_.empty()) table_.widen_to(widths_);
  widths_ = table_.widths();
  return std::exchange(table_, job_table(options_.is_long)).render(style_);
}

bool WatchedJobs::is_wanted(const JobView& job) const {
  if (!filter_.states.empty())
    return std::find(filter_.states.begin(), filter_.states.end(), job.state) !=
           filter_.states.end();
  return filter_.ended_too || filter_.names_jobs() || !is_final(job.state);
}

std::vector<JobView> WatchedJobs::take(proto::QueueReply reply, int generation, MonoTime now) {
  generation_ = generation;
  std::vector<JobView> changed;
  for (JobView& job : reply.jobs) {
    Known& known = jobs_[job.id];
    // Only what a job does counts as news, not that it has grown older.
    JobView same_age = known.job;
    same_age.elapsed_ms = job.elapsed_ms;
    if (same_age != job) changed.push_back(job);
    known = {std::move(job), now, generation};
    if (!is_wanted(known.job)) jobs_.erase(known.job.id);
  }
  if (reply.complete) {
    // What an earlier session knew and this one's list does not name has gone in between.
    std::erase_if(jobs_, [&](const auto& entry) { return entry.second.generation != generation; });
    complete_ = true;
  }
  std::sort(changed.begin(), changed.end(),
            [](const JobView& a, const JobView& b) { return a.id < b.id; });
  return changed;
}

std::vector<JobView> WatchedJobs::all(MonoTime now) const {
  std::vector<JobView> jobs;
  jobs.reserve(jobs_.size());
  for (const auto& [id, known] : jobs_) {
    jobs.push_back(known.job);
    if (known.job.state != JobState::running && known.job.state != JobState::preempted) continue;
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - known.heard);
    jobs.back().elapsed_ms += passed.count();
  }
  return jobs;
}

}  // namespace rota::commands
