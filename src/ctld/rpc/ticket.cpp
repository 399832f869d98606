// ctld/rpc/ticket.cpp - rexec and its sisters: which node, and a ticket to get into the job there.
#include "ctld/rpc/ticket.h"

#include "common/format.h"
#include "net/ticket.h"

namespace rota::ctld::rpc {
namespace {

constexpr std::int64_t ticket_lifetime_us = 15'000'000;

/// The part that has the task, or had it.
struct TaskPlace {
  NodeId node;
  std::uint32_t growth = 0;
};

/// Which of the job's nodes has this task.
Result<TaskPlace> place_of_task(const Job& job, std::uint32_t task) {
  const std::uint32_t count = job.spec.is_elastic()
                                  ? job.spec.tasks_per_node() * job.spec.node_count_max
                                  : job.spec.task_count;
  if (task >= count)
    return Error{Errc::invalid_argument, format("task {} of {}; they count from 0", task, count)};
  if (job.mode != LaunchMode::tasks) return TaskPlace{job.last->nodes.front()};
  for (const NodePart& part : job.last->placement)
    if (task >= part.task_first && task < part.task_first + part.task_count)
      return TaskPlace{part.node, part.growth};
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < job.last->tasks_per_node.size(); ++i) {
    before += job.last->tasks_per_node[i];
    if (task < before) return TaskPlace{job.last->nodes[i]};
  }
  return Error{Errc::not_found, format("task {} is on no node", task)};
}

Result<void> check_running(const Job& job) {
  if (job.state == JobState::running) return {};
  const bool early = job.state == JobState::pending || job.state == JobState::starting;
  return Error{early ? Errc::job_not_started : Errc::job_ended,
               format("job {} is {}", job.id.value, name_of(job.state))};
}

/// All that the ticket says but what it is for.
void fill_ticket(proto::Ticket& ticket, const Caller& caller, const Job& job, std::uint32_t growth,
                 Now now) {
  ticket.uid = caller.owner.uid;
  ticket.job = job.id;
  ticket.restart = job.restarts;
  ticket.growth = growth;
  ticket.owner = job.owner;
  ticket.expires = {now.wall.microseconds + ticket_lifetime_us};
}

/// A ticket for each of the job's nodes. One that is out of reach only matters to who wants it.
Result<proto::TicketReply> step_tickets(Controller& controller, const Caller& caller,
                                        const Job& job, Now now) {
  proto::TicketReply reply;
  reply.job_name = job.spec.name;
  for (const NodePart& part : job.last->placement) {
    if (part.leaving) continue;
    const auto& node = controller.engine().nodes().at(part.node);
    proto::NodeTicket& each = reply.nodes.emplace_back();
    each.node = node.identity.name;
    each.task_count = part.task_count;
    each.cpu_count = part.cpu_count;
    each.gpu_count = static_cast<std::uint32_t>(part.gpus_used().size());
    const NodeLink* link = controller.links().find(node.id);
    if (link == nullptr) continue;
    each.address = node.identity.address;
    each.node_uid = link->connection->peer().uid;
    fill_ticket(each.ticket, caller, job, part.growth, now);
    each.ticket.purpose = "exec";
    net::sign(each.ticket, link->ticket_key);
  }
  return reply;
}

}  // namespace

Result<const Job*> job_of(const Engine& engine, const Caller& caller, JobId id) {
  const Job* job = engine.find(id);
  if (job == nullptr) return Error{Errc::no_such_job, format("{}", id.value)};
  if (!engine.is_admin(caller) && caller.owner.uid != job->owner.uid)
    return Error{Errc::denied, format("job {} belongs to {}", job->id.value, job->owner.user)};
  return job;
}

Result<TicketDraft> draft_ticket(Controller& controller, const Caller& caller, const Job& job,
                                 std::uint32_t task, std::string_view purpose, Now now) {
  if (job.last->nodes.empty())
    return Error{Errc::job_not_started, format("job {} is {}", job.id.value, name_of(job.state))};
  ROTA_TRY(const TaskPlace place, place_of_task(job, task));
  const auto& node = controller.engine().nodes().at(place.node);
  const NodeLink* link = controller.links().find(node.id);
  if (link == nullptr) return Error{Errc::node_unreachable, node.identity.name};
  TicketDraft draft{job, *link, {}};
  draft.reply.node = node.identity.name;
  draft.reply.address = node.identity.address;
  draft.reply.node_uid = link->connection->peer().uid;
  proto::Ticket& ticket = draft.reply.ticket;
  fill_ticket(ticket, caller, job, place.growth, now);
  ticket.purpose = purpose;
  return draft;
}

void sign_ticket(TicketDraft& draft) { net::sign(draft.reply.ticket, draft.link.ticket_key); }

Result<proto::TicketReply> ticket(Controller& controller, const Caller& caller,
                                  const proto::TicketRequest& request, Now now) {
  if (request.purpose == "port") return port_ticket(controller, caller, request, now);
  if (request.purpose != "exec" && request.purpose != "step")
    return Error{Errc::unsupported,
                 format("this rctld gives no tickets for '{}'", request.purpose.substr(0, 40))};
  ROTA_TRY(const Job* job, job_of(controller.engine(), caller, request.job));
  ROTA_CHECK(check_running(*job));
  if (request.purpose == "step") return step_tickets(controller, caller, *job, now);
  ROTA_TRY(auto draft, draft_ticket(controller, caller, *job, request.task, "exec", now));
  sign_ticket(draft);
  return std::move(draft.reply);
}

}  // namespace rota::ctld::rpc
