// testsuite/unit/commands/job_list_test.cpp - rqueue's options, its lists, and jobs under watch.
#include "commands/job_list.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/format.h"
#include "sample_jobs.h"

namespace rota::commands {
namespace {

std::string ada() { return "ada"; }

Result<QueueOptions> options_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  Arguments arguments;
  if (const auto bad = parse_words(queue_command(), words, arguments))
    return Error{Errc::usage, bad->what};
  return queue_options_from(arguments, ada);
}

/// What the filter of this command line restricts, or the error.
std::string filter_of(const std::string& line) {
  const auto options = options_of(line);
  if (!options) return options.error().detail;
  std::string text;
  for (const JobId id : options->filter.jobs) text += format("job {} ", id.value);
  for (const auto& user : options->filter.users) text += "user " + user + " ";
  for (const auto& project : options->filter.projects) text += "project " + project + " ";
  for (const auto& name : options->filter.names) text += "name " + name + " ";
  for (const JobState state : options->filter.states) text += format("state {} ", name_of(state));
  if (options->filter.ended_too) text += "ended too ";
  return text;
}

TEST(QueueOptions, FiltersAreLists) {
  EXPECT_EQ(filter_of(""), "");
  EXPECT_EQ(filter_of("-u bob,eve --me"), "user bob user eve user ada ");
  EXPECT_EQ(filter_of("-A a --project b,c"), "project a project b project c ");
  EXPECT_EQ(filter_of("-j 3,1 --jobs 3"), "job 1 job 3 ");
  EXPECT_EQ(filter_of("--name x -t pd,RUNNING,OOM"),
            "name x state PENDING state RUNNING state OUT_OF_MEMORY ");
  EXPECT_EQ(filter_of("-t all"), "ended too ");
  EXPECT_EQ(filter_of("-a"), "ended too ");
}

TEST(QueueOptions, BadListsAreNamed) {
  EXPECT_EQ(filter_of("-j 1,x"), "--job: 'x' is no job number");
  EXPECT_EQ(filter_of("-j 0"), "--job: '0' is no job number");
  EXPECT_EQ(filter_of("-u a,,b"), "--user: an entry of the list is empty");
  EXPECT_TRUE(filter_of("-t sleeping")
                  .starts_with("--state: 'sleeping' is no state of a job; known are PENDING"));
  EXPECT_EQ(
      filter_of("-n train"),
      "unexpected argument 'train'; jobs are chosen with --job, --name, --user, --project and "
      "--state");
  EXPECT_TRUE(filter_of("-o %i%").starts_with("--format: column 3: the format ends after %"));
}

std::string listed(const std::string& line, const std::vector<JobView>& jobs) {
  const auto options = options_of(line);
  if (!options) return options.error().detail;
  JobListing listing(*options, {});
  for (const JobView& job : jobs) listing.add({job});
  return listing.take();
}

TEST(JobListing, ComesInTheFormThatWasAskedFor) {
  EXPECT_EQ(listed("", {}),
            "JOBID NAME USER PROJECT KIND PRIORITY STATE TIME GPUS NODES NODELIST(REASON)\n");
  EXPECT_EQ(listed("-n", {}), "");
  EXPECT_EQ(listed("-P -n", {running_job()}),
            "12|train|ada|vision|train|50|RUNNING|01:02:03|2|2|dgx[1-2]\n");
  EXPECT_EQ(listed("-o %i,%T", {running_job(), waiting_job()}),
            "JOBID,STATE\n12,RUNNING\n13,PENDING\n");
  EXPECT_EQ(listed("-n -o %i", {running_job()}), "12\n");
  EXPECT_EQ(listed("--json", {}), "{\"jobs\":[]}\n");
  EXPECT_TRUE(
      listed("--json", {running_job()}).starts_with("{\"jobs\":[{\"id\":12,\"name\":\"train\","));
}

TEST(JobListing, LaterListsHaveNoHeaderAndTheSameColumns) {
  const auto options = options_of("");
  ASSERT_TRUE(options);
  JobListing listing(*options, {});
  JobView wide = running_job();
  wide.spec.name = "a-long-name";
  listing.add({wide});
  listing.take();
  listing.add({running_job()});
  EXPECT_EQ(listing.take(),
            "   12 train       ada  vision  train       50 RUNNING 01:02:03    2     2 dgx[1-2]\n");
}

TEST(JobListing, RunningTimeIsCountedFromTheStart) {
  std::vector<JobView> jobs{running_job(), waiting_job(), failed_job()};
  for (JobView& job : jobs) job.elapsed_ms = 5;
  const std::int64_t start = running_job().start_time.microseconds;
  fill_elapsed(jobs, WallTime{start + 90'500'000});
  EXPECT_EQ(jobs[0].elapsed_ms, 90'500);
  EXPECT_EQ(jobs[1].elapsed_ms, 5) << "it has not started";
  EXPECT_EQ(jobs[2].elapsed_ms, 5) << "its node has measured it";
  fill_elapsed(jobs, WallTime{start - 1});
  EXPECT_EQ(jobs[0].elapsed_ms, 0) << "our clock is behind";
}

proto::QueueReply reply_of(std::vector<JobView> jobs, bool complete) {
  return {.jobs = std::move(jobs), .complete = complete};
}

/// "12 RUNNING; 13 PENDING".
std::string text_of(const std::vector<JobView>& jobs) {
  std::string text;
  for (const JobView& job : jobs)
    text += format("{}{} {}", text.empty() ? "" : "; ", job.id.value, name_of(job.state));
  return text;
}

TEST(WatchedJobs, TellWhatIsNew) {
  WatchedJobs watched{JobFilter{}};
  EXPECT_EQ(text_of(watched.take(reply_of({waiting_job(), running_job()}, false), 1, {})),
            "12 RUNNING; 13 PENDING");
  EXPECT_FALSE(watched.complete());
  EXPECT_EQ(text_of(watched.take(reply_of({}, true), 1, {})), "");
  EXPECT_TRUE(watched.complete());
  JobView started = waiting_job();
  started.state = JobState::running;
  EXPECT_EQ(text_of(watched.take(reply_of({started, running_job()}, true), 1, {})), "13 RUNNING")
      << "job 12 has not changed";
  EXPECT_EQ(text_of(watched.all({})), "12 RUNNING; 13 RUNNING");
}

TEST(WatchedJobs, AnEndIsToldOnceAndThenGone) {
  WatchedJobs watched{JobFilter{}};
  watched.take(reply_of({running_job()}, true), 1, {});
  JobView ended = running_job();
  ended.state = JobState::completed;
  EXPECT_EQ(text_of(watched.take(reply_of({ended}, true), 1, {})), "12 COMPLETED");
  EXPECT_EQ(text_of(watched.all({})), "");

  JobFilter all;
  all.ended_too = true;
  WatchedJobs with_ended{all};
  with_ended.take(reply_of({ended}, true), 1, {});
  EXPECT_EQ(text_of(with_ended.all({})), "12 COMPLETED");
  JobFilter pending;
  pending.states = {JobState::pending};
  WatchedJobs only_pending{pending};
  only_pending.take(reply_of({waiting_job(), running_job()}, true), 1, {});
  EXPECT_EQ(text_of(only_pending.all({})), "13 PENDING");
}

TEST(WatchedJobs, ANewSessionBeginsANewList) {
  WatchedJobs watched{JobFilter{}};
  watched.take(reply_of({running_job(), waiting_job()}, true), 1, {});
  EXPECT_EQ(text_of(watched.take(reply_of({waiting_job()}, false), 2, {})), "");
  EXPECT_EQ(text_of(watched.all({})), "12 RUNNING; 13 PENDING") << "the new list is not all there";
  watched.take(reply_of({}, true), 2, {});
  EXPECT_EQ(text_of(watched.all({})), "13 PENDING") << "job 12 ended while nobody watched";
}

TEST(WatchedJobs, RunningTimesGrow) {
  WatchedJobs watched{JobFilter{}};
  watched.take(reply_of({running_job(), waiting_job()}, true), 1, MonoTime{1'000'000'000});
  const auto jobs = watched.all(MonoTime{3'500'000'000});
  EXPECT_EQ(jobs[0].elapsed_ms, running_job().elapsed_ms + 2500);
  EXPECT_EQ(jobs[1].elapsed_ms, 0);
}

}  // namespace
}  // namespace rota::commands
