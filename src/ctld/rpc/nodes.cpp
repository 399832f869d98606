// ctld/rpc/nodes.cpp - rinfo: the nodes, in slices.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/format.h"
#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {
namespace {
constexpr std::size_t nodes_per_slice = 200;
constexpr std::size_t backlog_high = 4u << 20;
}  // namespace

net::awaitable<void> nodes(Controller& controller, std::shared_ptr<net::Connection> connection,
                           std::uint32_t call, proto::NodesRequest request) {
  std::vector<NodeId> ids;
  for (const auto& name : request.names) {
    const auto* node = controller.engine().find_node(name);
    if (node == nullptr) {
      const Error error{Errc::no_such_node, format("{}", name)};
      controller.answer_error(connection, error, call);
      co_return;
    }
    ids.push_back(node->id);
  }
  if (request.names.empty())
    for (const auto& [id, node] : controller.engine().nodes()) ids.push_back(id);
  for (std::size_t at = 0;;) {
    proto::NodesReply reply;
    for (; at < ids.size() && reply.nodes.size() < nodes_per_slice; ++at) {
      const auto node = controller.engine().nodes().find(ids[at]);
      if (node != controller.engine().nodes().end())
        reply.nodes.push_back(controller.engine().view(node->second));
    }
    const bool done = at >= ids.size();
    controller.answer(connection, reply, call, done ? 0 : proto::frame_more);
    if (done || !connection->is_open()) co_return;
    co_await connection->backlog_below(backlog_high);
    co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                               boost::asio::use_awaitable);
  }
}

}  // namespace rota::ctld::rpc
