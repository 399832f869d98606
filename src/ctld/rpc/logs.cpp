// ctld/rpc/logs.cpp - rlogs: where a job's output is, and a ticket to read it.
#include "common/format.h"
#include "ctld/rpc/rpc.h"
#include "model/output_path.h"
#include "net/ticket.h"

namespace rota::ctld::rpc {
namespace {

constexpr std::int64_t ticket_lifetime_us = 15'000'000;

/// Which of the job's nodes wrote the output of this task.
/// The part that has the task, or had it.
struct TaskPlace {
  NodeId node;
  std::uint32_t growth = 0;
};

Result<TaskPlace> place_of_task(const Job& job, std::uint32_t task) {
  const std::uint32_t count = job.spec.is_elastic()
                                  ? job.spec.tasks_per_node() * job.spec.node_count_max
                                  : job.spec.task_count;
  if (task >= count)
    return Error{Errc::invalid_argument, format("task {} of {}; they count from 0", task, count)};
  if (job.mode == LaunchMode::batch) return TaskPlace{job.last->nodes.front()};
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

}  // namespace

Result<proto::LogsReply> logs(Controller& controller, const Caller& caller,
                              const proto::LogsRequest& request, Now now) {
  const Engine& engine = controller.engine();
  const Job* job = engine.find(request.job);
  if (job == nullptr) return Error{Errc::no_such_job, format("{}", request.job.value)};
  if (!engine.is_admin(caller) && caller.owner.uid != job->owner.uid)
    return Error{Errc::denied, format("job {} belongs to {}", job->id.value, job->owner.user)};
  if (job->last->nodes.empty())
    return Error{Errc::job_not_started, format("job {} is {}", job->id.value, name_of(job->state))};
  ROTA_TRY(const TaskPlace place, place_of_task(*job, request.task));
  const auto& node = engine.nodes().at(place.node);
  const NodeLink* link = controller.links().find(node.id);
  if (link == nullptr) return Error{Errc::node_unreachable, node.identity.name};
  ROTA_TRY(const auto payload, controller.store().payload(job->id));
  if (!payload)
    return Error{Errc::not_found, format("the record of job {} is gone", job->id.value)};
  OutputContext context{job->id,         job->restarts,      job->spec.name,
                        job->owner.user, node.identity.name, request.task};
  proto::LogsReply reply;
  reply.node = node.identity.name;
  reply.address = node.identity.address;
  reply.node_uid = link->connection->peer().uid;
  reply.ticket.uid = caller.owner.uid;
  reply.ticket.job = job->id;
  reply.ticket.restart = job->restarts;
  reply.ticket.growth = place.growth;
  reply.ticket.purpose = "logs";
  reply.ticket.owner = job->owner;
  ROTA_TRY(reply.ticket.stdout_path,
           output_path(stdout_pattern(*payload), context, payload->working_directory));
  ROTA_TRY(reply.ticket.stderr_path,
           output_path(stderr_pattern(*payload), context, payload->working_directory));
  reply.ticket.expires = {now.wall.microseconds + ticket_lifetime_us};
  net::sign(reply.ticket, link->ticket_key);
  return reply;
}

}  // namespace rota::ctld::rpc
