// testsuite/unit/commands/cancel_options_test.cpp - which jobs rcancel means, and how it ends.
#include "commands/cancel_options.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "commands/exit_code.h"
#include "commands/signals.h"
#include "common/format.h"

namespace rota::commands {
namespace {

std::string ada() { return "ada"; }

/// Whom the request of this command line means, or the error.
std::string means(const std::string& line, bool is_root = false) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  Arguments arguments;
  if (const auto bad = parse_words(cancel_command(), words, arguments)) return bad->what;
  const auto options = cancel_options_from(arguments, Me{ada, is_root});
  if (!options) return options.error().detail;
  std::string text;
  for (const JobId id : options->filter.jobs) text += format("job {} ", id.value);
  for (const auto& user : options->filter.users) text += "user " + user + " ";
  for (const auto& project : options->filter.projects) text += "project " + project + " ";
  for (const auto& name : options->filter.names) text += "name " + name + " ";
  for (const JobState state : options->filter.states) text += format("state {} ", name_of(state));
  if (options->signal != 0) text += format("signal {} ", options->signal);
  return text;
}

TEST(CancelOptions, JobsByNumber) {
  EXPECT_EQ(means("12 7,9"), "job 7 job 9 job 12 ");
  EXPECT_EQ(means("12 -s USR1 13"), "job 12 job 13 signal 10 ");
  EXPECT_EQ(means("12 -t PD"), "job 12 state PENDING ");
  EXPECT_EQ(means("x"), "'x' is no job number");
}

TEST(CancelOptions, AFilterMeansOnesOwnJobsUnlessUsersAreNamed) {
  EXPECT_EQ(means("--name x"), "user ada name x ");
  EXPECT_EQ(means("--name x", true), "name x ");
  EXPECT_EQ(means("-t all"), "user ada ");
  EXPECT_EQ(means("-t all", true), "user ada ") << "root may not end everybody's jobs by accident";
  EXPECT_EQ(means("-u bob -t R"), "user bob state RUNNING ");
  EXPECT_EQ(means("--me"), "user ada ");
  EXPECT_EQ(means("-A team"), "user ada project team ");
}

TEST(CancelOptions, NothingNamedIsAnError) {
  EXPECT_EQ(means(""), "name the jobs: their numbers, or --name, --user, --me, --project, --state");
  EXPECT_EQ(means("-s TERM"),
            "name the jobs: their numbers, or --name, --user, --me, --project, --state");
}

/// The number of the signal, or the error.
std::string signal(std::string_view text) {
  const auto number = signal_from(text);
  return number ? std::to_string(*number) : number.error().detail;
}

TEST(CancelOptions, SignalsByNameAndNumber) {
  EXPECT_EQ(signal("TERM"), "15");
  EXPECT_EQ(signal("sigkill"), "9");
  EXPECT_EQ(signal("10"), "10");
  EXPECT_EQ(signal("64"), "64");
  EXPECT_EQ(signal("0"),
            "'0' is no signal; write a name such as TERM or USR1, or a number from 1 to 64");
  EXPECT_EQ(signal("65"),
            "'65' is no signal; write a name such as TERM or USR1, or a number from 1 to 64");
  EXPECT_EQ(signal("HUPP"),
            "'HUPP' is no signal; write a name such as TERM or USR1, or a number from 1 to 64");
}

std::vector<proto::JobRefusal> refused(std::vector<Errc> codes) {
  std::vector<proto::JobRefusal> all;
  for (const Errc code : codes)
    all.push_back({JobId{5}, static_cast<std::uint16_t>(code), "because"});
  return all;
}

TEST(CancelOptions, TheExitCodeSaysWhyJobsWereNotCancelled) {
  EXPECT_EQ(exit_code_of(refused({})), 0);
  EXPECT_EQ(exit_code_of(refused({Errc::no_such_job, Errc::no_such_job})), 3);
  EXPECT_EQ(exit_code_of(refused({Errc::denied})), 4);
  EXPECT_EQ(exit_code_of(refused({Errc::denied, Errc::no_such_job})), 1);
  EXPECT_EQ(exit_code_of(refused({Errc::job_ended})), 1);
  EXPECT_EQ(refusal_text(refused({Errc::denied})[0]), "job 5: permission denied: because");
}

TEST(ExitCodes, OfErrors) {
  EXPECT_EQ(exit_code_of(Errc::internal), 1);
  EXPECT_EQ(exit_code_of(Errc::job_invalid), 1);
  EXPECT_EQ(exit_code_of(Errc::usage), 2);
  EXPECT_EQ(exit_code_of(Errc::no_such_node), 3);
  EXPECT_EQ(exit_code_of(Errc::denied), 4);
  EXPECT_EQ(exit_code_of(Errc::never_fits), 5);
  EXPECT_EQ(exit_code_of(Errc::queue_full), 5);
  EXPECT_EQ(exit_code_of(Errc::unreachable), 69);
  EXPECT_EQ(exit_code_of(Errc::auth_failed), 69);
}

int code_of(JobState state, int exit_code, int exit_signal) {
  JobView job;
  job.state = state;
  job.exit_code = exit_code;
  job.exit_signal = exit_signal;
  return exit_code_of(job);
}

TEST(ExitCodes, OfJobsThatWereWaitedFor) {
  EXPECT_EQ(code_of(JobState::completed, 0, 0), 0);
  EXPECT_EQ(code_of(JobState::failed, 3, 0), 3);
  EXPECT_EQ(code_of(JobState::failed, 0, SIGKILL), 137);
  EXPECT_EQ(code_of(JobState::cancelled, 0, 0), 1) << "never a success";
  EXPECT_EQ(code_of(JobState::timeout, 0, SIGTERM), 143);
  EXPECT_EQ(code_of(JobState::failed, 256, 0), 1) << "what a parent sees of 256 is 0";
}

}  // namespace
}  // namespace rota::commands
