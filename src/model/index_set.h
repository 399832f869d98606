// model/index_set.h - which tasks of an array: numbers in ranges, so that a hundred thousand of
// them take the room of a few.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"

namespace rota {

struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  friend bool operator==(const IndexRange&, const IndexRange&) = default;
  static auto fields(auto& m) { return std::tie(m.first, m.last); }
};

/// Ranges ascend and do not touch. What came over the wire may be otherwise: ask is_sound() first.
class IndexSet {
 public:
  static constexpr std::uint32_t index_max = 4'000'000;
  static constexpr std::size_t ranges_max = 65'536;

  /// "0-99", "1,3,5", "0-15:4" (every fourth).
  static Result<IndexSet> parse(std::string_view text);
  static IndexSet of(std::uint32_t first, std::uint32_t last);

  bool empty() const { return ranges_.empty(); }
  std::uint64_t size() const;
  bool contains(std::uint32_t index) const;
  /// Of a set that is not empty.
  std::uint32_t front() const { return ranges_.front().first; }
  std::uint32_t back() const { return ranges_.back().last; }
  void insert(std::uint32_t index);
  /// False: it was not there.
  bool erase(std::uint32_t index);
  void erase_all(const IndexSet& others);
  /// Those of this set that are in the other one, too.
  IndexSet common_with(const IndexSet& other) const;
  bool is_sound() const;
  /// "0-3,7"; longer ones end with "...".
  std::string text(std::size_t bytes_max = 200) const;
  const std::vector<IndexRange>& ranges() const { return ranges_; }

  friend bool operator==(const IndexSet&, const IndexSet&) = default;
  static auto fields(auto& m) { return std::tie(m.ranges_); }

 private:
  std::vector<IndexRange>::const_iterator find(std::uint32_t index) const;

  std::vector<IndexRange> ranges_;
};

}  // namespace rota
