// ctld/rpc/org_apply.cpp - radmin apply: all of the organisation, or nothing of it.
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

Result<proto::OrgApplyReply> org_apply(Engine& engine, const Caller& caller,
                                       proto::OrgApplyRequest request) {
  ROTA_TRY(auto outcome,
           engine.apply_org(caller, std::move(request.desired), request.dry_run, request.revision));
  return proto::OrgApplyReply{outcome.revision, std::move(outcome.lines), outcome.line_count,
                              std::move(outcome.warnings)};
}

}  // namespace rota::ctld::rpc
