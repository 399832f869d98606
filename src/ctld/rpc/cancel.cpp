// ctld/rpc/cancel.cpp - rcancel: end or signal jobs.
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

Result<proto::CancelReply> cancel(Engine& engine, const Caller& caller,
                                  const proto::CancelRequest& request, Now now) {
  return engine.cancel(caller, request.filter, request.signal, now);
}

}  // namespace rota::ctld::rpc
