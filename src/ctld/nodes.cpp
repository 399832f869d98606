// ctld/nodes.cpp - one session per node.
#include "ctld/nodes.h"

#include "common/log.h"

namespace rota::ctld {

void NodeLinks::attach(NodeId id, NodeLink link) {
  if (const auto old = links_.find(id); old != links_.end() && old->second.connection->is_open()) {
    log::warning("node {} opened a new session from {} while the one from {} was open", id.value,
                 link.connection->peer().address, old->second.connection->peer().address);
    old->second.connection->close("replaced by a newer session of the same node");
  }
  links_[id] = std::move(link);
}

bool NodeLinks::detach(NodeId id, const net::Connection* connection) {
  const auto at = links_.find(id);
  if (at == links_.end() || at->second.connection.get() != connection) return false;
  links_.erase(at);
  return true;
}

const NodeLink* NodeLinks::find(NodeId id) const {
  const auto at = links_.find(id);
  return at == links_.end() ? nullptr : &at->second;
}

void NodeLinks::close(NodeId id, std::string_view reason) {
  const auto at = links_.find(id);
  if (at == links_.end()) return;
  at->second.connection->close(reason);
  links_.erase(at);
}

void NodeLinks::close_all(std::string_view reason) {
  for (const auto& [id, link] : links_) link.connection->close(reason);
  links_.clear();
}

}  // namespace rota::ctld
