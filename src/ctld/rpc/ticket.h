// ctld/rpc/ticket.h - where a task of a job is, and the ticket that opens its node to a command.
#pragma once
#include <cstdint>
#include <string_view>

#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {

/// The job, if it is there and the caller may look into it: its owner and administrators may.
Result<const Job*> job_of(const Engine& engine, const Caller& caller, JobId id);

/// A ticket for the node that has this task of the job, or had it. It is signed by sign_ticket()
/// when its other fields are in place.
struct TicketDraft {
  const Job& job;
  const NodeLink& link;
  proto::TicketReply reply;
};
Result<TicketDraft> draft_ticket(Controller& controller, const Caller& caller, const Job& job,
                                 std::uint32_t task, std::string_view purpose, Now now);
void sign_ticket(TicketDraft& draft);

/// A ticket for one port of a job, for who shows a token of UrlReply's (url.cpp).
Result<proto::TicketReply> port_ticket(Controller& controller, const Caller& caller,
                                       const proto::TicketRequest& request, Now now);

}  // namespace rota::ctld::rpc
