// ctld/nodes.h - the live link to each node's rgpud.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"
#include "net/connection.h"

namespace rota::ctld {

struct NodeLink {
  std::shared_ptr<net::Connection> connection;
  std::string ticket_key;  // what the node checks our tickets with
  std::uint64_t join = 0;  // which of the node's sessions this is, by the engine's count
};

/// Which session belongs to which node: at most one each, the newest.
class NodeLinks {
 public:
  /// An older session of the same node is closed: it is dead, or somebody uses its name.
  void attach(NodeId id, NodeLink link);
  /// True if `connection` was the node's session; an older one that ends late is no news.
  bool detach(NodeId id, const net::Connection* connection);
  const NodeLink* find(NodeId id) const;
  void close(NodeId id, std::string_view reason);
  void close_all(std::string_view reason);

 private:
  std::map<NodeId, NodeLink> links_;
};

}  // namespace rota::ctld
