// ctld/rpc/ping.cpp - rota ping: who is there, and how it is.
#include "common/version.h"
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

proto::PingReply ping(const Controller& controller, const Engine& engine,
                      const proto::PingRequest& request) {
  proto::PingReply reply;
  reply.token = request.token;
  reply.version = version();
  reply.cluster_name = controller.config().cluster_name;
  reply.trouble = controller.trouble();
  reply.up_since = controller.up_since();
  reply.jobs_waiting = engine.waiting_count();
  reply.jobs_running = engine.live_count() - engine.waiting_count();
  for (const auto& [id, node] : engine.nodes())
    ++(node.connected ? reply.nodes_up : reply.nodes_down);
  return reply;
}

}  // namespace rota::ctld::rpc
