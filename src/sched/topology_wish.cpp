// sched/topology_wish.cpp - names of levels become their numbers.
#include "sched/topology_wish.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"

namespace rota::sched {
namespace {

/// The number of a level that is asked for; `unasked` where none is.
Result<std::uint32_t> level_of(const std::string& name, const Topology& topology,
                               std::uint32_t unasked) {
  if (name.empty()) return unasked;
  if (const auto level = topology.level_named(name)) return *level;
  const std::vector<std::string_view> known(topology.levels().begin(), topology.levels().end());
  return Error{Errc::not_found,
               format("the topology has no level {}; {}", quoted(name), suggestion(name, known))};
}

std::size_t nodes_most(const Topology& topology, std::uint32_t level) {
  std::size_t most = 0;
  for (const std::uint32_t place : topology.places_of(level))
    most = std::max(most, topology.at(place).nodes.size() + topology.at(place).to_come);
  return most;
}

/// The narrowest level with a place of so many nodes; as many as there are levels: none has.
std::uint32_t level_with(const Topology& topology, std::uint32_t nodes) {
  const auto levels = static_cast<std::uint32_t>(topology.levels().size());
  for (std::uint32_t level = levels; level-- > 0;)
    if (nodes_most(topology, level) >= nodes) return level;
  return levels;
}

/// Places for segments that have to lie in one.
Result<void> check_segment(const TopologyRequest& request, const Topology& topology) {
  const bool is_required = request.preferred.empty();
  if (request.segment == 0 || !is_required) return {};
  const auto named = topology.level_named(request.required);
  const std::uint32_t level = named ? *named : level_with(topology, request.segment);
  const std::uint32_t shown = level < topology.levels().size() ? level : 0;
  const std::size_t most = nodes_most(topology, shown);
  if (most >= request.segment) return {};
  return Error{Errc::never_fits,
               format("a segment of {} nodes must lie in one {}, and the largest has {}",
                      request.segment, topology.levels()[shown], most)};
}

}  // namespace

Result<void> check(const TopologyRequest& request, const Topology& topology) {
  if (request.empty()) return {};
  if (topology.levels().empty())
    return Error{Errc::unsupported,
                 format("rota.yaml of the controller says nothing of a topology, so no job can ask "
                        "for {}",
                        request.names_levels() ? quoted(text_of(request)) : "segments")};
  ROTA_TRY(const std::uint32_t required, level_of(request.required, topology, 0));
  ROTA_TRY(const std::uint32_t preferred, level_of(request.preferred, topology, required));
  if (preferred < required)
    return Error{
        Errc::job_invalid,
        format("a job in one {} is in one {} as well, so {} says nothing; prefer a level "
               "that is narrower than the one required: {}",
               request.required, request.preferred, quoted("preferred:" + request.preferred),
               fmt::join(topology.levels(), " > "))};
  return check_segment(request, topology);
}

std::optional<Segments> segments_of(const TopologyRequest& request, const Topology& topology) {
  if (request.segment == 0) return std::nullopt;
  TopologyRequest own = request;
  own.segment = 0;
  if (!own.preferred.empty()) own.required.clear();  // that is the whole job's
  Segments segments{request.segment, {}};
  if (own.names_levels())
    segments.wish = wish_of(own, topology).value_or(TopologyWish{});
  else
    segments.wish.required = level_with(topology, request.segment);
  return segments;
}

std::optional<TopologyWish> wish_of(const TopologyRequest& request, const Topology& topology) {
  TopologyWish wish;
  if (request.segment > 0) {  // of two levels its groups have the narrower one
    if (request.required.empty() || request.preferred.empty()) return std::nullopt;
    return wish_of({.required = request.required}, topology);
  }
  if (!request.preferred.empty()) wish.preferred = topology.level_named(request.preferred);
  if (!request.required.empty()) {
    const auto beyond = static_cast<std::uint32_t>(topology.levels().size());
    wish.required = topology.level_named(request.required).value_or(beyond);
    if (wish.preferred && *wish.preferred <= *wish.required) wish.preferred.reset();
  }
  if (!wish.required && !wish.preferred) return std::nullopt;
  return wish;
}

}  // namespace rota::sched
