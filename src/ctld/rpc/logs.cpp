// ctld/rpc/logs.cpp - rlogs: where a job's output is, and a ticket to read it.
#include "common/format.h"
#include "ctld/rpc/ticket.h"
#include "ctld/secrets.h"
#include "model/output_path.h"

namespace rota::ctld::rpc {

Result<proto::LogsReply> logs(Controller& controller, const Caller& caller,
                              const proto::LogsRequest& request, Now now) {
  ROTA_TRY(const Job* job, job_of(controller.engine(), caller, request.job));
  ROTA_TRY(auto draft, draft_ticket(controller, caller, *job, request.task, "logs", now));
  if (job->mode == LaunchMode::hold)
    return Error{Errc::not_found,
                 format("job {} is an allocation: it writes no output of its own", job->id.value)};
  ROTA_TRY(const auto payload,
           controller.store().payload(job->array->of ? job->array->of : job->id));
  if (!payload)
    return Error{Errc::not_found, format("the record of job {} is gone", job->id.value)};
  const OutputContext context{job->id,          job->restarts, job->spec.name, job->owner.user,
                              draft.reply.node, request.task,  job->array->of, job->array->index};
  const bool in_array = bool(job->array->of);
  proto::Ticket& ticket = draft.reply.ticket;
  ROTA_TRY(ticket.stdout_path,
           output_path(stdout_pattern(*payload, in_array), context, payload->working_directory));
  ROTA_TRY(ticket.stderr_path,
           output_path(stderr_pattern(*payload, in_array), context, payload->working_directory));
  ROTA_TRY(ticket.masks, masks_for(controller.store(), controller.vault(), *job, *payload,
                                   draft.link.ticket_key));
  sign_ticket(draft);
  proto::LogsReply reply;
  reply.node = std::move(draft.reply.node);
  reply.address = std::move(draft.reply.address);
  reply.node_uid = draft.reply.node_uid;
  reply.ticket = std::move(ticket);
  return reply;
}

}  // namespace rota::ctld::rpc
