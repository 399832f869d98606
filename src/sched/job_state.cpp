// sched/job_state.cpp - the table, and how the end of a run names the end of a job.
#include "sched/job_state.h"

#include <array>

namespace rota::sched {
namespace {

struct Step {
  JobState from;
  JobEvent event;
  JobState to;
};

/// `ended` is not listed: it leads from the states below to the final state that the end names.
constexpr std::array steps{
    Step{JobState::pending, JobEvent::placed, JobState::starting},
    Step{JobState::starting, JobEvent::started, JobState::running},
    Step{JobState::starting, JobEvent::ending, JobState::completing},
    Step{JobState::running, JobEvent::ending, JobState::completing},
    Step{JobState::completing, JobEvent::returned, JobState::pending},
    Step{JobState::starting, JobEvent::displaced, JobState::preempted},
    Step{JobState::running, JobEvent::displaced, JobState::preempted},
    Step{JobState::preempted, JobEvent::ending, JobState::completing},
    Step{JobState::preempted, JobEvent::returned, JobState::pending},
    Step{JobState::pending, JobEvent::suspended, JobState::suspended},
    Step{JobState::preempted, JobEvent::suspended, JobState::suspended},
    Step{JobState::completing, JobEvent::suspended, JobState::suspended},
    Step{JobState::suspended, JobEvent::resumed, JobState::pending},
    Step{JobState::pending, JobEvent::handed_out, JobState::running},
};

}  // namespace

std::optional<JobState> next_state(JobState state, JobEvent event, JobState final_state) {
  if (event == JobEvent::ended) {
    if (is_final(state) || !is_final(final_state)) return std::nullopt;
    // A job that holds nothing can only be cancelled or be too late; everything else passes through
    // completing first.
    const bool holds_nothing = state == JobState::pending || state == JobState::suspended;
    const bool by_word = final_state == JobState::cancelled || final_state == JobState::deadline;
    if (holds_nothing && by_word) return final_state;
    if (state == JobState::completing) return final_state;
    return std::nullopt;
  }
  for (const Step& step : steps)
    if (step.from == state && step.event == event) return step.to;
  return std::nullopt;
}

bool was_made_to_end(const RunEnd& first, const RunEnd& later, bool cancel_requested) {
  return first.cause == EndCause::exited &&
         (later.cause == EndCause::timeout ||
          (later.cause == EndCause::cancelled && cancel_requested));
}

JobState final_state_of(const RunEnd& end, bool cancel_requested) {
  switch (end.cause) {
    case EndCause::exited:
      // It got there by itself before our order did: what it did is the truth.
      return ended_well(end) ? JobState::completed : JobState::failed;
    case EndCause::timeout:
    case EndCause::idle:
      return JobState::timeout;
    case EndCause::out_of_memory:
      return JobState::out_of_memory;
    case EndCause::gpu_error:
      return JobState::failed;
    case EndCause::launch_failed:
      return JobState::launch_failed;
    case EndCause::deadline:
      return JobState::deadline;
    case EndCause::cancelled:
    case EndCause::node_failed:
    case EndCause::gpu_failed:
      break;
  }
  return cancel_requested ? JobState::cancelled : JobState::node_fail;
}

bool lost_by_node(const RunEnd& end, bool cancel_requested) {
  if (cancel_requested) return false;
  // A run that its node ended although nobody asked was fenced off.
  return end.cause == EndCause::node_failed || end.cause == EndCause::gpu_failed ||
         end.cause == EndCause::cancelled || start_failed_by_node(end);
}

}  // namespace rota::sched
