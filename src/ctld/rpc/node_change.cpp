// ctld/rpc/node_change.cpp - radmin: keep new jobs off nodes and GPUs, or let them return.
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

Result<proto::NodeChangeReply> node_change(Engine& engine, const Caller& caller,
                                           const proto::NodeChangeRequest& request, Now now) {
  ROTA_TRY(auto lines, engine.change_nodes(caller, request, now));
  return proto::NodeChangeReply{std::move(lines)};
}

}  // namespace rota::ctld::rpc
