// ctld/rpc/rpc.h - one function per request; table.cpp says which message reaches which.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "common/result.h"
#include "common/time.h"
#include "ctld/controller.h"
#include "ctld/engine.h"
#include "net/connection.h"
#include "proto/messages.h"

namespace rota::ctld::rpc {

inline constexpr std::size_t gpus_per_node_max = 1024;

/// One session as the requests see it.
struct Session {
  std::shared_ptr<net::Connection> connection;
  Caller caller;
  std::optional<NodeId> node;  // set by NodeHello: this is a node's session
  bool watches = false;
};

Result<proto::SubmitReply> submit(Engine& engine, const Caller& caller,
                                  proto::SubmitRequest request, Now now);
Result<proto::CancelReply> cancel(Engine& engine, const Caller& caller,
                                  const proto::CancelRequest& request, Now now);
Result<proto::JobChangeReply> job_change(Engine& engine, const Caller& caller,
                                         const proto::JobChangeRequest& request, Now now);
Result<proto::SavedReply> saved(Engine& engine, const Caller& caller,
                                const proto::SavedRequest& request, Now now);
proto::PingReply ping(const Controller& controller, const Engine& engine,
                      const proto::PingRequest& request);
Result<proto::LogsReply> logs(Controller& controller, const Caller& caller,
                              const proto::LogsRequest& request, Now now);
Result<proto::TicketReply> ticket(Controller& controller, const Caller& caller,
                                  const proto::TicketRequest& request, Now now);
Result<proto::UrlReply> url(Controller& controller, const Caller& caller,
                            const proto::UrlRequest& request, Now now);
/// Answers in slices, so that a long queue never holds up the engine.
net::awaitable<void> queue(Controller& controller, std::shared_ptr<net::Connection> connection,
                           std::uint32_t call, proto::QueueRequest request);
net::awaitable<void> nodes(Controller& controller, std::shared_ptr<net::Connection> connection,
                           std::uint32_t call, proto::NodesRequest request);
net::awaitable<void> org_show(Controller& controller, std::shared_ptr<net::Connection> connection,
                              std::uint32_t call, proto::OrgShowRequest request);
Result<proto::OrgApplyReply> org_apply(Engine& engine, const Caller& caller,
                                       proto::OrgApplyRequest request);
Result<proto::ProjectChangeReply> project_change(Engine& engine, const Caller& caller,
                                                 const proto::ProjectChangeRequest& request);
Result<proto::NodeChangeReply> node_change(Engine& engine, const Caller& caller,
                                           const proto::NodeChangeRequest& request, Now now);
Result<proto::HealthReply> health(const Engine& engine, const proto::HealthRequest& request);
Result<proto::SecretReply> secret_change(Controller& controller, const Caller& caller,
                                         proto::SecretRequest request, Now now);
/// Names only; nobody gets more, whoever asks.
Result<proto::SecretReply> secret_list(const Engine& engine, const Caller& caller);
Result<proto::NodeWelcome> node_hello(Controller& controller, Session& session,
                                      proto::NodeHello request, Now now);

/// Decodes the frame, does what it asks and answers. An error ends the session: the peer sent what
/// no peer of ours sends.
Result<void> dispatch(Controller& controller, Session& session, const proto::Frame& frame);

}  // namespace rota::ctld::rpc
