// sched/line.h - a line of jobs: joined at its end, left at its front or anywhere.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "model/ids.h"

namespace rota::sched {

/// Jobs in the order of their ids, eight bytes each: a million of them wait. Who leaves becomes a
/// gap that is closed once half of the line is gaps, so leaving costs a search, and joining
/// anywhere but at the end (a job that returns) at most a move of what is behind it.
class Line {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = JobId;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = JobId;

    JobId operator*() const { return {*at_}; }
    Iterator& operator++() {
      do ++at_;
      while (at_ != end_ && is_gap(*at_));
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    friend class Line;
    Iterator(const std::uint64_t* at, const std::uint64_t* end) : at_(at), end_(end) {}
    const std::uint64_t* at_;
    const std::uint64_t* end_;
  };

  /// False if it stands there already.
  bool insert(JobId job);
  /// False if it does not.
  bool erase(JobId job);

  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  /// Of a line that is not empty.
  JobId front() const { return {places_[first_]}; }
  Iterator begin() const { return {places_.data() + first_, end_of_places()}; }
  Iterator end() const { return {end_of_places(), end_of_places()}; }

 private:
  static constexpr std::uint64_t gap_mark = std::uint64_t{1} << 63;
  static bool is_gap(std::uint64_t place) { return (place & gap_mark) != 0; }
  static std::uint64_t id_of(std::uint64_t place) { return place & ~gap_mark; }

  const std::uint64_t* end_of_places() const { return places_.data() + places_.size(); }
  std::size_t place_of(JobId job) const;
  void close_gaps();

  std::vector<std::uint64_t> places_;  // ids, ascending; with the mark: a gap where that id stood
  std::size_t first_ = 0;              // the first that is no gap, or the end
  std::size_t count_ = 0;              // of those that are no gaps
};

}  // namespace rota::sched
