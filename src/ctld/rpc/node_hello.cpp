// ctld/rpc/node_hello.cpp - rgpud: a node opens its session.
#include <algorithm>

#include "common/format.h"
#include "common/log.h"
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {
namespace {

/// What a GPU says of how it can be cut, to be counted with.
Result<void> check(const MigGeometry& mig) {
  constexpr std::size_t profiles_max = 64;
  if (mig.profiles.size() > profiles_max)
    return Error{Errc::invalid_argument,
                 format("{} MIG profiles of one GPU, at most {} are possible", mig.profiles.size(),
                        profiles_max)};
  for (const MigProfile& profile : mig.profiles)
    if (!profile.is_possible())
      return Error{Errc::invalid_argument,
                   format("a MIG profile of {} slices that does not lie on an axis of at most {}",
                          profile.size, slices_max)};
  return {};
}

Result<void> check(const proto::NodeHello& hello) {
  const std::string& name = hello.identity.name;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (name.empty() || name.size() > 255 || !std::all_of(name.begin(), name.end(), is_plain))
    return Error{Errc::invalid_argument,
                 "a node's name has 1 to 255 letters, digits, dots, dashes or underscores"};
  if (hello.inventory.gpus.size() > gpus_per_node_max)
    return Error{Errc::invalid_argument, format("{} GPUs on one node, at most {} are possible",
                                                hello.inventory.gpus.size(), gpus_per_node_max)};
  for (const Gpu& gpu : hello.inventory.gpus) ROTA_CHECK(check(gpu.mig));
  if (hello.health.size() > gpus_per_node_max)
    return Error{Errc::invalid_argument, format("the health of {} GPUs on one node, at most {} are "
                                                "possible",
                                                hello.health.size(), gpus_per_node_max)};
  if (hello.ticket_key.size() != 32)
    return Error{Errc::invalid_argument, "the ticket key is not 32 bytes"};
  return {};
}

}  // namespace

Result<proto::NodeWelcome> node_hello(Controller& controller, Session& session,
                                      proto::NodeHello request, Now now) {
  if (!controller.is_trusted(session.caller.owner.uid))
    return Error{Errc::denied, format("uid {} may not be a node", session.caller.owner.uid)};
  if (session.node) return Error{Errc::malformed, "a second NodeHello in one session"};
  ROTA_CHECK(check(request));
  Engine& engine = controller.engine();
  log::info("node {} joins from {}: {} GPUs, {} CPUs, {} runs", request.identity.name,
            session.connection->peer().address, request.inventory.gpus.size(),
            request.inventory.cpu_count, request.runs.size());
  std::string ticket_key = std::move(request.ticket_key);
  NodeJoined event{std::move(request.identity), std::move(request.inventory),
                   std::move(request.runs), std::move(request.health),
                   std::move(request.node_reason)};
  const NodeId id = engine.node_joined(std::move(event), now);
  session.node = id;
  controller.links().attach(
      id, {session.connection, std::move(ticket_key), engine.nodes().at(id).joins});
  return proto::NodeWelcome{id, engine.settings().node};
}

}  // namespace rota::ctld::rpc
