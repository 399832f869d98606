// ctld/engine_health.cpp - GPUs and nodes that take no new jobs: by their health, or by an
// administrator's word.
#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

/// Events kept, of all nodes together.
constexpr std::size_t events_kept = 10'000;
constexpr std::size_t text_bytes_max = 2048;
constexpr std::size_t reason_bytes_max = 256;
constexpr std::size_t nodes_max = 10'000;

void shorten(std::string& text) {
  if (text.size() > text_bytes_max) text.resize(text_bytes_max);
}

const GpuHealth* health_of(const Engine::Node& node, const std::string& uuid) {
  const auto at = std::find_if(node.health.begin(), node.health.end(),
                               [&uuid](const GpuHealth& each) { return each.uuid == uuid; });
  return at == node.health.end() ? nullptr : &*at;
}

const GpuDrain* drain_of(const Engine::Node& node, const std::string& uuid) {
  const auto at = std::find_if(node.gpu_drains.begin(), node.gpu_drains.end(),
                               [&uuid](const GpuDrain& each) { return each.uuid == uuid; });
  return at == node.gpu_drains.end() ? nullptr : &*at;
}

/// By index as the node counts, or UUID.
Result<std::string> gpu_named(const Engine::Node& node, const std::string& name) {
  for (const Gpu& gpu : node.inventory.gpus)
    if (gpu.uuid == name || format("{}", gpu.index) == name) return gpu.uuid;
  return Error{Errc::not_found,
               format("{} has no GPU {}; it has {}, named by index or UUID", node.identity.name,
                      quoted(name), node.inventory.gpus.size())};
}

}  // namespace

StoredNode Engine::stored(const Node& node) const {
  return {node.id, node.identity, node.inventory, node.drain_reason, node.gpu_drains};
}

/// Known, and not for new jobs: not there, not well, or kept back.
std::vector<bool> Engine::closed_gpus(const Node& node) const {
  std::vector<bool> closed = node.gpu_absent;
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const std::string& uuid = node.inventory.gpus[i].uuid;
    const GpuHealth* health = health_of(node, uuid);
    if ((health != nullptr && !takes_jobs(health->condition)) || drain_of(node, uuid) != nullptr)
      closed[i] = true;
  }
  return closed;
}

bool Engine::has_closed_gpus() const {
  const auto is_closed = [](const GpuHealth& gpu) { return !takes_jobs(gpu.condition); };
  for (const auto& [id, node] : nodes_)
    if (!node.gpu_drains.empty() || std::any_of(node.health.begin(), node.health.end(), is_closed))
      return true;
  return false;
}

bool Engine::is_usable(const Node& node) const {
  return node.connected && node.unwanted.empty() && node.drain_reason.empty() &&
         node.node_reason.empty();
}

void Engine::put_in_scheduler(const Node& node) {
  scheduler_.put_node(node.id, node.identity.name, node.inventory, closed_gpus(node),
                      is_usable(node));
  plan_needed_ = true;
}

void Engine::set_health(Node& node, std::vector<GpuHealth> gpus, std::string node_reason) {
  for (GpuHealth& gpu : gpus) shorten(gpu.reason);
  shorten(node_reason);
  node.health = std::move(gpus);
  node.node_reason = std::move(node_reason);
}

void Engine::node_health(NodeId id, proto::GpuHealthReport report, Now now) {
  Node& node = nodes_.at(id);
  node.heard = now.mono;
  const auto closed_before = closed_gpus(node);
  const bool usable_before = is_usable(node);
  if (node.node_reason != report.node_reason) node.since = now.wall;
  set_health(node, std::move(report.gpus), std::move(report.node_reason));
  if (closed_gpus(node) != closed_before)
    put_in_scheduler(node);
  else if (is_usable(node) != usable_before)
    update_usable(node);
  if (report.events.empty()) return;
  for (HealthEvent& event : report.events) {
    if (event.sequence <= node.health_sequence) continue;
    node.health_sequence = event.sequence;
    event.node = node.identity.name;
    shorten(event.text);
    health_events_.push_back({++health_serial_, std::move(event)});
    effects_.rows.push_back(health_events_.back());
  }
  if (health_events_.size() > events_kept) {
    while (health_events_.size() > events_kept) health_events_.pop_front();
    effects_.rows.push_back(HealthDrop{health_events_.front().serial - 1});
  }
  // Leaves behind the rows: then they are on record.
  order(id, proto::GpuHealthTaken{node.health_sequence});
}

// ---- an administrator ----

Result<std::vector<std::string>> Engine::change_nodes(const Caller& caller,
                                                      const proto::NodeChangeRequest& request,
                                                      Now now) {
  using proto::NodeVerb;
  const UserRole role = role_of(caller);
  if (role != UserRole::admin && role != UserRole::editor)
    return Error{Errc::denied, "only an administrator or an editor may change nodes"};
  if (request.nodes.empty() || request.nodes.size() > nodes_max)
    return Error{Errc::usage, format("name 1 to {} nodes", nodes_max)};
  if (request.reason.size() > reason_bytes_max || escaped(request.reason) != request.reason)
    return Error{Errc::invalid_argument,
                 format("the reason is one line of at most {} bytes", reason_bytes_max)};
  const bool is_drain = request.verb == NodeVerb::drain || request.verb == NodeVerb::drain_gpu;
  if (is_drain && request.reason.empty())
    return Error{Errc::usage, "say why, with --reason: whoever looks at the node will ask"};
  // All of it or nothing.
  std::vector<std::pair<Node*, std::string>> chosen;
  for (const std::string& name : request.nodes) {
    const Node* known = find_node(name);
    if (known == nullptr) return Error{Errc::no_such_node, name};
    Node& node = nodes_.at(known->id);
    std::string uuid;
    if (request.verb == NodeVerb::drain_gpu || request.verb == NodeVerb::return_gpu) {
      ROTA_TRY(uuid, gpu_named(node, request.gpu));
    }
    if (request.verb == NodeVerb::return_gpu) ROTA_CHECK(check_returnable(node, uuid));
    chosen.emplace_back(&node, std::move(uuid));
  }
  std::vector<std::string> lines;
  for (auto& [node, uuid] : chosen)
    lines.push_back(change_node(*node, request.verb, uuid,
                                format("{} ({})", request.reason, caller.owner.user.str()), now));
  return lines;
}

Result<void> Engine::check_returnable(const Node& node, const std::string& uuid) const {
  const GpuHealth* health = health_of(node, uuid);
  const bool is_ill = health != nullptr && !takes_jobs(health->condition);
  if (!is_ill && drain_of(node, uuid) == nullptr)
    return Error{Errc::policy_refused,
                 format("{} on {} takes jobs already", uuid, node.identity.name)};
  // The node has the last word on a GPU that is not well, and it has to hear us.
  if (is_ill && !node.connected)
    return Error{Errc::unreachable,
                 format("{} is down, and it has closed {}", node.identity.name, uuid)};
  return {};
}

std::string Engine::change_node(Node& node, proto::NodeVerb verb, const std::string& uuid,
                                std::string reason, Now now) {
  using proto::NodeVerb;
  const std::string& name = node.identity.name;
  std::string line;
  switch (verb) {
    case NodeVerb::drain:
      node.drain_reason = std::move(reason);
      line = format("{} takes no new jobs; it has {}", name, node.jobs.size());
      break;
    case NodeVerb::resume:
      node.drain_reason.clear();
      // What its own health says against it is for the node to withdraw.
      if (!node.node_reason.empty()) order(node.id, proto::HealthOrder{});
      line = node.node_reason.empty() ? format("{} takes jobs again", name)
                                      : format("{} is asked to take jobs again", name);
      break;
    case NodeVerb::drain_gpu:
      std::erase_if(node.gpu_drains, [&uuid](const GpuDrain& each) { return each.uuid == uuid; });
      node.gpu_drains.push_back({uuid, std::move(reason)});
      line = format("{} on {} takes no new jobs", uuid, name);
      break;
    case NodeVerb::return_gpu: {
      std::erase_if(node.gpu_drains, [&uuid](const GpuDrain& each) { return each.uuid == uuid; });
      const GpuHealth* health = health_of(node, uuid);
      const bool is_ill = health != nullptr && !takes_jobs(health->condition);
      if (is_ill) order(node.id, proto::HealthOrder{uuid});
      line = is_ill ? format("{} on {} is tested, and takes jobs again when it is well", uuid, name)
                    : format("{} on {} takes jobs again", uuid, name);
      break;
    }
  }
  node.since = now.wall;
  effects_.rows.push_back(NodePut{stored(node)});
  put_in_scheduler(node);
  return line;
}

/// Those that are not well, in the node's order; one that an administrator keeps back counts.
std::vector<GpuHealth> Engine::health_view(const Node& node) const {
  std::vector<GpuHealth> shown;
  const auto show = [&](const std::string& uuid) {
    GpuHealth each{.uuid = uuid};
    if (const GpuHealth* health = health_of(node, uuid)) each = *health;
    if (const GpuDrain* drain = drain_of(node, uuid); drain != nullptr) {
      if (takes_jobs(each.condition)) each.condition = GpuCondition::draining;
      each.reason += format("{}drained: {}", each.reason.empty() ? "" : "; ", drain->reason);
    }
    if (each.condition != GpuCondition::ok) shown.push_back(std::move(each));
  };
  for (const Gpu& gpu : node.inventory.gpus) show(gpu.uuid);
  return shown;
}

}  // namespace rota::ctld
