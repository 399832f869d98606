// model/ids.h - identities as types, so that a job is never mistaken for a node.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <tuple>

namespace rota {

/// A number that means one kind of thing. 0 is "none".
template <class Tag, class Number>
struct Id {
  using number_type = Number;
  Number value = 0;

  friend auto operator<=>(const Id&, const Id&) = default;
  explicit operator bool() const { return value != 0; }
};

using JobId = Id<struct JobTag, std::uint64_t>;
using NodeId = Id<struct NodeTag, std::uint32_t>;

/// One start of one job: a job that is requeued keeps its id and gets the next restart number; what
/// it grows by while it runs gets the next growth number. Nodes key everything they run by this, so
/// a stale order can never touch what came later.
struct RunId {
  JobId job;
  std::uint32_t restart = 0;
  std::uint32_t growth = 0;  // 0: what it started with

  friend auto operator<=>(const RunId&, const RunId&) = default;
  static auto fields(auto& m) { return std::tie(m.job, m.restart, m.growth); }
};

/// Made by the client for each mutating call (random, 128 bits): a retry after a lost answer is
/// answered from the record, not done again.
struct RequestId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const RequestId&, const RequestId&) = default;
  explicit operator bool() const { return high != 0 || low != 0; }
  static auto fields(auto& m) { return std::tie(m.high, m.low); }
};

}  // namespace rota

template <class Tag, class Number>
struct std::hash<rota::Id<Tag, Number>> {
  std::size_t operator()(rota::Id<Tag, Number> id) const noexcept {
    return std::hash<Number>()(id.value);
  }
};
