// sched/job_row.h - jobs that wait in one class, in the order in which they are served.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/assert.h"

namespace rota::sched {

/// Four bytes a job: a million of them wait. Joining at the end and leaving at the front are cheap;
/// anywhere else, what is behind moves by one. `before` must order them the same way every time.
class JobRow {
 public:
  bool empty() const { return first_ == jobs_.size(); }
  /// Of a row that is not empty.
  std::uint32_t front() const { return jobs_[first_]; }

  template <class Before>
  void insert(std::uint32_t job, Before before) {
    if (empty() || before(jobs_.back(), job)) {
      jobs_.push_back(job);
    } else if (first_ > 0 && before(job, front())) {
      jobs_[--first_] = job;
    } else {
      jobs_.insert(place_of(job, before), job);
    }
  }

  /// It must be there.
  template <class Before>
  void erase(std::uint32_t job, Before before) {
    const auto at = place_of(job, before);
    ROTA_ASSERT(at != jobs_.end() && *at == job);
    if (at != begin()) {
      jobs_.erase(at);
      return;
    }
    ++first_;
    if (first_ > slack_max && first_ > jobs_.size() / 2) {
      jobs_.erase(jobs_.begin(), begin());
      first_ = 0;
    }
  }

 private:
  static constexpr std::size_t slack_max = 64;
  std::vector<std::uint32_t>::iterator begin() {
    return jobs_.begin() + static_cast<std::ptrdiff_t>(first_);
  }
  template <class Before>
  std::vector<std::uint32_t>::iterator place_of(std::uint32_t job, Before before) {
    return std::lower_bound(begin(), jobs_.end(), job, before);
  }

  std::vector<std::uint32_t> jobs_;
  std::size_t first_ = 0;  // those before it have left
};

}  // namespace rota::sched
