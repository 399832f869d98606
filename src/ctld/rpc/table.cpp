// ctld/rpc/table.cpp - which message reaches which function, and who may send it.
#include <boost/asio/co_spawn.hpp>

#include "common/clock.h"
#include "common/format.h"
#include "ctld/rpc/rpc.h"
#include "net/log_end.h"

namespace rota::ctld::rpc {
namespace {

using proto::Frame;

/// What every handler gets.
struct Call {
  Controller& controller;
  Session& session;
  const Frame& frame;

  Engine& engine() const { return controller.engine(); }
  template <class Reply>
  void answer(const Result<Reply>& reply) const {
    if (reply)
      controller.answer(session.connection, *reply, frame.call);
    else
      controller.answer_error(session.connection, reply.error(), frame.call);
  }
};

/// A change: refused while nothing can be stored; a repeat is answered from the record.
template <class Request, class Function>
Result<void> change(const Call& call, Function function) {
  ROTA_TRY(auto request, proto::decode<Request>(call.frame.body));
  using Reply = typename std::invoke_result_t<Function, Request>::value_type;
  if (!call.controller.trouble().empty()) {
    call.answer(Result<Reply>(Error{Errc::store_unavailable, call.controller.trouble()}));
    return {};
  }
  const RequestId id = request.request;
  const std::uint32_t uid = call.session.caller.owner.uid;
  if (!id) {
    call.answer(Result<Reply>(Error{Errc::invalid_argument, "the request has no id"}));
    return {};
  }
  if (const auto* before = call.engine().answer_to(uid, id)) {
    call.controller.answer(
        Answer{call.session.connection, before->reply_type, call.frame.call, 0, before->reply});
    return {};
  }
  const Result<Reply> reply = function(std::move(request));
  if (reply)
    call.engine().record_answer({.uid = uid,
                                 .request = id,
                                 .reply_type = Reply::number,
                                 .reply = proto::encode(*reply),
                                 .at = wall_now()},
                                now());
  call.answer(reply);
  return {};
}

Result<void> on_ping(const Call& call) {
  ROTA_TRY(const auto request, proto::decode<proto::PingRequest>(call.frame.body));
  call.answer(Result<proto::PingReply>(ping(call.controller, call.engine(), request)));
  return {};
}

Result<void> on_submit(const Call& call) {
  return change<proto::SubmitRequest>(call, [&call](proto::SubmitRequest request) {
    return submit(call.engine(), call.session.caller, std::move(request), now());
  });
}

Result<void> on_cancel(const Call& call) {
  return change<proto::CancelRequest>(call, [&call](proto::CancelRequest request) {
    return cancel(call.engine(), call.session.caller, request, now());
  });
}

Result<void> on_job_change(const Call& call) {
  return change<proto::JobChangeRequest>(call, [&call](const proto::JobChangeRequest& request) {
    return job_change(call.engine(), call.session.caller, request, now());
  });
}

Result<void> on_saved(const Call& call) {
  return change<proto::SavedRequest>(call, [&call](const proto::SavedRequest& request) {
    return saved(call.engine(), call.session.caller, request, now());
  });
}

Result<void> on_queue(const Call& call) {
  ROTA_TRY(auto request, proto::decode<proto::QueueRequest>(call.frame.body));
  if (request.watch) call.session.watches = true;
  const auto executor = boost::asio::any_io_executor(call.controller.executor());
  boost::asio::co_spawn(
      executor,
      queue(call.controller, call.session.connection, call.frame.call, std::move(request)),
      net::log_end("queue"));
  return {};
}

Result<void> on_nodes(const Call& call) {
  ROTA_TRY(auto request, proto::decode<proto::NodesRequest>(call.frame.body));
  const auto executor = boost::asio::any_io_executor(call.controller.executor());
  boost::asio::co_spawn(
      executor,
      nodes(call.controller, call.session.connection, call.frame.call, std::move(request)),
      net::log_end("nodes"));
  return {};
}

Result<void> on_logs(const Call& call) {
  ROTA_TRY(const auto request, proto::decode<proto::LogsRequest>(call.frame.body));
  call.answer(logs(call.controller, call.session.caller, request, now()));
  return {};
}

Result<void> on_ticket(const Call& call) {
  ROTA_TRY(const auto request, proto::decode<proto::TicketRequest>(call.frame.body));
  call.answer(ticket(call.controller, call.session.caller, request, now()));
  return {};
}

Result<void> on_url(const Call& call) {
  ROTA_TRY(const auto request, proto::decode<proto::UrlRequest>(call.frame.body));
  call.answer(url(call.controller, call.session.caller, request, now()));
  return {};
}

Result<void> on_org_show(const Call& call) {
  ROTA_TRY(auto request, proto::decode<proto::OrgShowRequest>(call.frame.body));
  const auto executor = boost::asio::any_io_executor(call.controller.executor());
  boost::asio::co_spawn(
      executor,
      org_show(call.controller, call.session.connection, call.frame.call, std::move(request)),
      net::log_end("org_show"));
  return {};
}

Result<void> on_org_apply(const Call& call) {
  ROTA_TRY(auto request, proto::decode<proto::OrgApplyRequest>(call.frame.body));
  if (request.dry_run) {  // changes nothing: nothing to put on record
    call.answer(org_apply(call.engine(), call.session.caller, std::move(request)));
    return {};
  }
  return change<proto::OrgApplyRequest>(call, [&call](proto::OrgApplyRequest wanted) {
    return org_apply(call.engine(), call.session.caller, std::move(wanted));
  });
}

Result<void> on_project_change(const Call& call) {
  return change<proto::ProjectChangeRequest>(call, [&call](proto::ProjectChangeRequest request) {
    return project_change(call.engine(), call.session.caller, request);
  });
}

Result<void> on_hello(const Call& call) {
  ROTA_TRY(auto request, proto::decode<proto::NodeHello>(call.frame.body));
  if (!call.controller.trouble().empty())
    return Error{Errc::store_unavailable, call.controller.trouble()};
  auto reply = node_hello(call.controller, call.session, std::move(request), now());
  call.answer(reply);
  if (!reply) return reply.error();
  return {};
}

Result<NodeId> node_of(const Call& call) {
  if (!call.session.node) return Error{Errc::denied, "only a node may say this, after NodeHello"};
  // While the store fails the engine is not the one that this node joined.
  const auto* link = call.controller.links().find(*call.session.node);
  if (link == nullptr || link->connection != call.session.connection)
    return Error{Errc::peer_lost, "the node has another session"};
  return *call.session.node;
}

Result<void> on_heartbeat(const Call& call) {
  ROTA_TRY(auto beat, proto::decode<proto::Heartbeat>(call.frame.body));
  ROTA_TRY(const NodeId node, node_of(call));
  call.engine().node_heard(node, std::move(beat.usage), now());
  if (call.engine().runs_heard(node, beat.runs, now())) call.controller.wake();
  call.session.connection->send(proto::HeartbeatReply{}, call.frame.call);
  return {};
}

Result<void> on_run_started(const Call& call) {
  ROTA_TRY(const auto message, proto::decode<proto::RunStarted>(call.frame.body));
  ROTA_TRY(const NodeId node, node_of(call));
  call.engine().run_image(node, message.run, message.image_digest);
  call.engine().run_started(node, message.run, message.start_time, now());
  call.controller.wake();
  return {};
}

Result<void> on_run_progress(const Call& call) {
  ROTA_TRY(auto message, proto::decode<proto::RunProgress>(call.frame.body));
  ROTA_TRY(const NodeId node, node_of(call));
  call.engine().run_image(node, message.run, message.image_digest);
  const bool is_news = call.engine().run_progress(node, message.run, std::move(message.text));
  if (is_news || !message.image_digest.empty()) call.controller.wake();
  return {};
}

Result<void> on_node_images(const Call& call) {
  ROTA_TRY(auto message, proto::decode<proto::NodeImages>(call.frame.body));
  ROTA_TRY(const NodeId node, node_of(call));
  call.engine().node_images(node, std::move(message.images));
  return {};
}

Result<void> on_run_ended(const Call& call) {
  ROTA_TRY(auto message, proto::decode<proto::RunEnded>(call.frame.body));
  ROTA_TRY(const NodeId node, node_of(call));
  call.engine().run_ended(node, message.run, std::move(message.end), message.start_time, now());
  call.controller.wake();
  return {};
}

Result<void> on_gpu_health(const Call& call) {
  ROTA_TRY(auto report, proto::decode<proto::GpuHealthReport>(call.frame.body));
  ROTA_TRY(const NodeId node, node_of(call));
  if (report.gpus.size() > gpus_per_node_max)
    return Error{Errc::malformed, format("the health of {} GPUs of one node", report.gpus.size())};
  call.engine().node_health(node, std::move(report), now());
  call.controller.wake();
  return {};
}

Result<void> on_health(const Call& call) {
  ROTA_TRY(const auto request, proto::decode<proto::HealthRequest>(call.frame.body));
  call.answer(health(call.engine(), request));
  return {};
}

Result<void> on_node_change(const Call& call) {
  return change<proto::NodeChangeRequest>(call, [&call](const proto::NodeChangeRequest& request) {
    return node_change(call.engine(), call.session.caller, request, now());
  });
}

Result<void> on_secret(const Call& call) {
  ROTA_TRY(const auto request, proto::decode<proto::SecretRequest>(call.frame.body));
  if (request.verb == proto::SecretVerb::list) {
    call.answer(secret_list(call.engine(), call.session.caller));
    return {};
  }
  return change<proto::SecretRequest>(call, [&call](proto::SecretRequest wanted) {
    return secret_change(call.controller, call.session.caller, std::move(wanted), now());
  });
}

struct Entry {
  std::uint16_t number;
  Result<void> (*handle)(const Call&);
};
constexpr Entry table[] = {
    {proto::PingRequest::number, on_ping},
    {proto::SubmitRequest::number, on_submit},
    {proto::CancelRequest::number, on_cancel},
    {proto::JobChangeRequest::number, on_job_change},
    {proto::SavedRequest::number, on_saved},
    {proto::QueueRequest::number, on_queue},
    {proto::NodesRequest::number, on_nodes},
    {proto::LogsRequest::number, on_logs},
    {proto::TicketRequest::number, on_ticket},
    {proto::UrlRequest::number, on_url},
    {proto::NodeHello::number, on_hello},
    {proto::Heartbeat::number, on_heartbeat},
    {proto::RunStarted::number, on_run_started},
    {proto::RunProgress::number, on_run_progress},
    {proto::NodeImages::number, on_node_images},
    {proto::RunEnded::number, on_run_ended},
    {proto::OrgShowRequest::number, on_org_show},
    {proto::OrgApplyRequest::number, on_org_apply},
    {proto::ProjectChangeRequest::number, on_project_change},
    {proto::GpuHealthReport::number, on_gpu_health},
    {proto::HealthRequest::number, on_health},
    {proto::NodeChangeRequest::number, on_node_change},
    {proto::SecretRequest::number, on_secret},
};

}  // namespace

Result<void> dispatch(Controller& controller, Session& session, const Frame& frame) {
  const Call call{controller, session, frame};
  for (const Entry& entry : table)
    if (entry.number == frame.type) return entry.handle(call);
  return Error{Errc::malformed, format("message type {} is not for rctld", frame.type)};
}

}  // namespace rota::ctld::rpc
