// ctld/rpc/health.cpp - rinfo --health: what has happened to GPUs and nodes.
#include <algorithm>

#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

namespace {
constexpr std::uint32_t events_max = 10'000;
}  // namespace

Result<proto::HealthReply> health(const Engine& engine, const proto::HealthRequest& request) {
  for (const std::string& name : request.nodes)
    if (engine.find_node(name) == nullptr) return Error{Errc::no_such_node, name};
  const std::size_t count_max = std::min(request.count_max, events_max);
  proto::HealthReply reply;
  const auto& events = engine.health_events();
  for (auto at = events.rbegin(); at != events.rend() && reply.events.size() < count_max; ++at) {
    const auto& names = request.nodes;
    if (!names.empty() && std::find(names.begin(), names.end(), at->event.node) == names.end())
      continue;
    reply.events.push_back(at->event);
  }
  std::reverse(reply.events.begin(), reply.events.end());
  return reply;
}

}  // namespace rota::ctld::rpc
