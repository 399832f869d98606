// commands/shape.h - from the options that say how large a job is to what the scheduler is asked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// What the user wrote; nothing where the user wrote nothing.
struct ShapeRequest {
  std::optional<std::uint32_t> nodes;                  // -N; of a range the smaller
  std::optional<std::uint32_t> nodes_max;              // -N 4-8: the larger
  std::optional<std::uint32_t> tasks;                  // -n
  std::optional<std::uint32_t> tasks_per_node;         // --ntasks-per-node
  std::optional<std::uint32_t> gpus;                   // -G: of the whole job
  std::optional<std::uint32_t> gpus_per_node;          // --gpus-per-node
  std::optional<std::uint32_t> gpus_per_task;          // --gpus-per-task, -g
  std::optional<std::uint32_t> gpu_share;              // -g 0.5: millionths of each GPU
  std::optional<std::uint32_t> gpu_memory_mib;         // --gpu-memory: of each GPU
  std::uint32_t gpu_share_limit = 0;                   // -g 0.25:0.8: the second; 0: none
  std::uint32_t gpu_memory_limit_mib = 0;              // --gpu-memory 20G:30G: the second
  std::optional<std::uint32_t> gpu_devices;            // --gpu-devices: how many, with one of those
  std::optional<std::string> mig;                      // --mig: a profile, or auto
  std::optional<std::uint32_t> mig_count;              // --mig=3g.20gb:2
  bool mps = false;                                    // --mps
  std::uint8_t mps_percent = 0;                        // --mps=50; 0: as the part of the GPU is
  std::optional<std::uint32_t> cpus_per_task;          // -c
  std::optional<std::uint64_t> memory_per_node_bytes;  // --mem
  std::optional<std::uint64_t> memory_per_cpu_bytes;   // --mem-per-cpu
  std::optional<std::uint64_t> memory_per_gpu_bytes;   // --mem-per-gpu
  std::optional<std::uint32_t> cpus_per_gpu;           // --cpus-per-gpu
  std::optional<std::uint32_t> tasks_per_gpu;          // --ntasks-per-gpu
  std::string gpu_type;                                // -G a100:4
};

/// Fills the counts of `spec`. Numbers that contradict each other are a usage error that says
/// which, and which numbers would work.
Result<void> resolve_shape(const ShapeRequest& request, JobSpec& spec);

}  // namespace rota::commands
