// gpud/launch/pmix_book.h - what the PMIx servers of a step say to each other, and which fence is
// complete when.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace rota::gpud {

/// Between the server of the first node, through which all goes, and another.
struct PmixWord {
  enum class Kind : std::uint8_t {
    bring = 1,    // to the first: ranks, data: what this node brings to a fence
    brought = 2,  // from it: ranks, data: what all bring
    ask = 3,      // rank, number, place: what has this task to say of itself?
    told = 4,     // number, place: the answer: status, data
  };
  Kind kind = Kind::bring;
  std::vector<std::uint32_t> ranks;  // of a fence; none: all
  std::uint32_t rank = 0;
  std::uint64_t number = 0;  // of a question, among those of its place
  std::uint32_t place = 0;   // who asks
  std::int32_t status = 0;
  std::string data;

  friend bool operator==(const PmixWord&, const PmixWord&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.ranks, m.rank, m.number, m.place, m.status, m.data);
  }
};

/// Where the tasks of a step are.
class PmixMap {
 public:
  explicit PmixMap(const std::vector<std::uint32_t>& tasks);
  /// None: there is no such task.
  std::optional<std::uint32_t> place_of(std::uint32_t rank) const;
  /// Those with a task in the fence; none when one of the ranks is nobody's.
  std::optional<std::vector<std::uint32_t>> places_of(
      const std::vector<std::uint32_t>& ranks) const;
  std::uint32_t first(std::uint32_t place) const { return first_[place]; }
  std::uint32_t place_count() const { return static_cast<std::uint32_t>(first_.size() - 1); }

 private:
  std::vector<std::uint32_t> first_;  // and behind the last the number of all
};

/// On the first node: what has come for each fence. A fence is known by who takes part; the same
/// ones begin another only when they have the outcome of the last.
class PmixBook {
 public:
  explicit PmixBook(const PmixMap& map) : map_(map) {}
  struct Outcome {
    std::vector<std::uint32_t> places;
    std::string data;  // of all, one behind the other
  };
  /// The outcome, when this was the last. `is_good`: false when the place has no part in it, or has
  /// brought something already.
  std::optional<Outcome> bring(const std::vector<std::uint32_t>& ranks, std::uint32_t place,
                               std::string data, bool& is_good);

 private:
  const PmixMap& map_;
  std::map<std::vector<std::uint32_t>, std::map<std::uint32_t, std::string>> open_;
};

}  // namespace rota::gpud
