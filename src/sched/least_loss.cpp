// sched/least_loss.cpp - nodes and requests in packing's terms.
#include "sched/least_loss.h"

#include <algorithm>

namespace rota::sched {
namespace {

PackState state_of(const FleetNode& node) {
  PackState state;
  state.usable = node.usable && node.mig_mode == FleetNode::Mig::none &&
                 node.gpu_count <= static_cast<std::uint32_t>(pack_gpus_max);
  state.task_count = static_cast<std::int64_t>(node.residents.size());
  state.total = {.cpu_milli = std::min(node.cpu_milli, pack_amount_max),
                 .memory_bytes = std::min(node.memory_bytes, pack_amount_max << 20)};
  state.cpu_milli = std::clamp<std::int64_t>(node.cpu_idle, 0, state.total.cpu_milli);
  state.memory_bytes = std::clamp<std::int64_t>(node.memory_idle, 0, state.total.memory_bytes);
  if (!state.usable) return state;
  state.total.gpu_count = static_cast<std::int32_t>(node.gpu_count);
  for (std::uint32_t gpu = 0; gpu < node.gpu_count; ++gpu)
    state.gpu_free[gpu] = node.gpu_taken[gpu] ? 0 : whole_gpu;
  for (const SharedGpu& gpu : node.shared)
    if (gpu.gpu && gpu.members > 0 && !node.is_absent(*gpu.gpu))
      state.gpu_free[*gpu.gpu] = free_part(node, gpu);
  return state;
}

}  // namespace

std::optional<PackRequest> LeastLoss::request_of(const Demand& demand) {
  PackRequest request{.cpu_milli = demand.cpu_milli, .memory_bytes = demand.memory_bytes};
  switch (demand.gpu) {
    case Demand::Gpu::none:
      break;
    case Demand::Gpu::whole:
      if (demand.devices > static_cast<std::uint32_t>(pack_gpus_max)) return std::nullopt;
      request.gpu_count = static_cast<std::int32_t>(demand.devices);
      request.gpu_share = whole_gpu;
      break;
    case Demand::Gpu::portion:
      if (demand.devices != 1) return std::nullopt;
      request.gpu_count = 1;
      request.gpu_share = static_cast<std::int32_t>(demand.portion);
      break;
    case Demand::Gpu::memory:  // is another part of every GPU
    case Demand::Gpu::cut:
      return std::nullopt;
  }
  if (!demand.mig.empty() || demand.whole_node || !request.is_valid()) return std::nullopt;
  return request;
}

void LeastLoss::observe(const JobShape& shape) {
  for (std::size_t i = 0; i < shape.tasks.size();) {
    const std::size_t first = i;
    while (i < shape.tasks.size() && shape.tasks[i].demand == shape.tasks[first].demand) ++i;
    if (const auto request = request_of(*shape.tasks[first].demand))
      packing_.observe(*request, static_cast<std::int64_t>(i - first));
  }
}

void LeastLoss::follow(Fleet& fleet) {
  for (const NodeIndex node : fleet.take_changed()) packing_.set(node, state_of(fleet.at(node)));
}

}  // namespace rota::sched
