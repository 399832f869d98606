// ctld/rpc/project_change.cpp - rproject: create, update or delete one project.
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

Result<proto::ProjectChangeReply> project_change(Engine& engine, const Caller& caller,
                                                 const proto::ProjectChangeRequest& request) {
  ROTA_TRY(auto outcome,
           engine.change_project(caller, request.verb, request.name, request.settings));
  return proto::ProjectChangeReply{outcome.revision, std::move(outcome.lines),
                                   std::move(outcome.warnings)};
}

}  // namespace rota::ctld::rpc
