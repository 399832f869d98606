// sched/job_state.h - the life of a job as one table: state x event -> state.
#pragma once
#include <optional>
#include <string_view>

#include "model/job.h"

namespace rota::sched {

enum class JobEvent : std::uint8_t {
  placed,      // the plan gave it resources
  started,     // every node runs its part
  ending,      // it is over: the parts that are left must go
  displaced,   // it has to make way for another, and comes back
  returned,    // every part is gone, and it may start again
  ended,       // every part is gone, for good
  suspended,   // it holds nothing, and shall not start
  resumed,     // it may again
  handed_out,  // of an array: all of its tasks have started
};

/// What the event makes of a job in `state`; nothing if the event cannot happen there.
/// `final_state` is where `ended` leads.
std::optional<JobState> next_state(JobState state, JobEvent event, JobState final_state);

inline bool ended_well(const RunEnd& end) {
  return end.cause == EndCause::exited && end.exit_code == 0 && end.exit_signal == 0;
}

/// Whether a job's other node tells why the first one to report has exited: an order reached the
/// others earlier, and a script that only waits for its steps ends with them.
bool was_made_to_end(const RunEnd& first, const RunEnd& later, bool cancel_requested);

/// How a job whose run ended like this ends, if it does not start again.
JobState final_state_of(const RunEnd& end, bool cancel_requested);

/// The node could not start it, and it is not the job's mistake.
inline bool start_failed_by_node(const RunEnd& end) {
  return end.cause == EndCause::launch_failed && end.by_node;
}

/// Whether the run was lost through no fault of the job's, so that it may start again.
bool lost_by_node(const RunEnd& end, bool cancel_requested);

}  // namespace rota::sched
