// ctld/rpc/job_change.cpp - rota hold, release, requeue, suspend, resume, update, checkpointed.
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

Result<proto::JobChangeReply> job_change(Engine& engine, const Caller& caller,
                                         const proto::JobChangeRequest& request, Now now) {
  return engine.change(caller, request, now);
}

Result<proto::SavedReply> saved(Engine& engine, const Caller& caller,
                                const proto::SavedRequest& request, Now now) {
  return engine.saved(caller, request.job, now);
}

}  // namespace rota::ctld::rpc
