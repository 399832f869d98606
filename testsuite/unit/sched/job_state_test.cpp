// testsuite/unit/sched/job_state_test.cpp - the whole table, and how ends are named.
#include "sched/job_state.h"

#include <gtest/gtest.h>

#include <string>

namespace rota::sched {
namespace {

// Every state against every event; a dot is "cannot happen".
TEST(JobStateTable, Whole) {
  std::string table;
  for (const JobState state : {JobState::pending, JobState::starting, JobState::running,
                               JobState::completing, JobState::completed}) {
    table += std::string(code_of(state)) + ":";
    for (const JobEvent event : {JobEvent::placed, JobEvent::started, JobEvent::ending,
                                 JobEvent::returned, JobEvent::ended}) {
      const auto next = next_state(state, event, JobState::failed);
      table += " " + std::string(next ? code_of(*next) : ".");
    }
    table += "\n";
  }
  EXPECT_EQ(table,
            "PD: CF . . . .\n"
            "CF: . R CG . .\n"
            "R: . . CG . .\n"
            "CG: . . . PD F\n"
            "CD: . . . . .\n");
}

// What people ask for: suspend, resume; and an array whose tasks have all started.
TEST(JobStateTable, OfPeople) {
  std::string table;
  for (const JobState state :
       {JobState::pending, JobState::starting, JobState::running, JobState::completing,
        JobState::preempted, JobState::suspended, JobState::completed}) {
    table += std::string(code_of(state)) + ":";
    for (const JobEvent event : {JobEvent::displaced, JobEvent::suspended, JobEvent::resumed,
                                 JobEvent::handed_out, JobEvent::ended}) {
      const auto next = next_state(state, event, JobState::deadline);
      table += " " + std::string(next ? code_of(*next) : ".");
    }
    table += "\n";
  }
  EXPECT_EQ(table,
            "PD: . S . R DL\n"
            "CF: PR . . . .\n"
            "R: PR . . . .\n"
            "CG: . S . . DL\n"
            "PR: . S . . .\n"
            "S: . . PD . DL\n"
            "CD: . . . . .\n");
}

TEST(JobStateTable, AWaitingJobCanOnlyBeCancelled) {
  EXPECT_EQ(next_state(JobState::pending, JobEvent::ended, JobState::cancelled),
            JobState::cancelled);
  EXPECT_EQ(next_state(JobState::pending, JobEvent::ended, JobState::completed), std::nullopt);
}

TEST(FinalState, ByCause) {
  const auto ends = [](EndCause cause, int code, int signal, bool cancelled) {
    RunEnd end;
    end.cause = cause;
    end.exit_code = code;
    end.exit_signal = signal;
    return std::string(name_of(final_state_of(end, cancelled)));
  };
  EXPECT_EQ(ends(EndCause::exited, 0, 0, false), "COMPLETED");
  EXPECT_EQ(ends(EndCause::exited, 0, 0, true), "COMPLETED");  // it was quicker than the order
  EXPECT_EQ(ends(EndCause::exited, 3, 0, false), "FAILED");
  EXPECT_EQ(ends(EndCause::exited, 0, 9, false), "FAILED");
  EXPECT_EQ(ends(EndCause::cancelled, 0, 15, true), "CANCELLED");
  EXPECT_EQ(ends(EndCause::cancelled, 0, 15, false), "NODE_FAIL");  // fenced off by its node
  EXPECT_EQ(ends(EndCause::timeout, 0, 15, false), "TIMEOUT");
  EXPECT_EQ(ends(EndCause::out_of_memory, 0, 9, false), "OUT_OF_MEMORY");
  EXPECT_EQ(ends(EndCause::launch_failed, 0, 0, false), "LAUNCH_FAILED");
  EXPECT_EQ(ends(EndCause::node_failed, 0, 0, false), "NODE_FAIL");
  EXPECT_EQ(ends(EndCause::node_failed, 0, 0, true), "CANCELLED");
}

}  // namespace
}  // namespace rota::sched
