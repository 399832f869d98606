// sched/topology_wish.cpp - names of levels become their numbers.
#include "sched/topology_wish.h"

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

}  // namespace

Result<void> check(const TopologyRequest& request, const Topology& topology) {
  if (request.empty()) return {};
  if (topology.levels().empty())
    return Error{Errc::unsupported,
                 format("rota.yaml of the controller says nothing of a topology, so no job can ask "
                        "for {}",
                        quoted(text_of(request)))};
  ROTA_TRY(const std::uint32_t required, level_of(request.required, topology, 0));
  ROTA_TRY(const std::uint32_t preferred, level_of(request.preferred, topology, required));
  if (preferred < required)
    return Error{
        Errc::job_invalid,
        format("a job in one {} is in one {} as well, so {} says nothing; prefer a level "
               "that is narrower than the one required: {}",
               request.required, request.preferred, quoted("preferred:" + request.preferred),
               fmt::join(topology.levels(), " > "))};
  return {};
}

std::optional<TopologyWish> wish_of(const TopologyRequest& request, const Topology& topology) {
  TopologyWish wish;
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
