// ctld/rpc/submit.cpp - rsubmit: queue one job.
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

Result<proto::SubmitReply> submit(Engine& engine, const Caller& caller,
                                  proto::SubmitRequest request, Now now) {
  JobSubmitted event{caller.owner, std::move(request.spec), std::move(request.payload),
                     caller.groups};
  ROTA_TRY(const JobId job, engine.submit(std::move(event), now));
  return proto::SubmitReply{job};
}

}  // namespace rota::ctld::rpc
