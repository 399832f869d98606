// commands/shape.cpp - nodes, tasks and GPUs that fit together.
#include "commands/shape.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/format.h"

namespace rota::commands {
namespace {

constexpr std::uint32_t gpus_total_max = 1'000'000;

Error usage(std::string detail) { return {Errc::usage, std::move(detail)}; }

std::string counted(std::uint64_t count, std::string_view noun) {
  return format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "1, 2, 3 or 6": the numbers that divide `total`, a few of them.
std::string divisors_of(std::uint32_t total) {
  constexpr std::size_t shown_max = 8;
  std::vector<std::uint32_t> found;
  for (std::uint32_t n = 1; n <= total && found.size() < shown_max; ++n)
    if (total % n == 0) found.push_back(n);
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i)
    text += format("{}{}", i == 0 ? "" : i + 1 == found.size() ? " or " : ", ", found[i]);
  return text;
}

/// "4 or 8": the multiples of `step` on both sides of `total`.
std::string multiples_near(std::uint32_t total, std::uint32_t step) {
  const std::uint64_t below = total / step * std::uint64_t{step};
  if (below == 0) return format("{}", step);
  return format("{} or {}", below, below + step);
}

Result<std::uint32_t> product(std::uint64_t nodes, std::uint64_t per_node) {
  const std::uint64_t total = nodes * per_node;  // both are 32-bit numbers
  if (total > JobBounds::task_count_max)
    return usage(format("{} nodes with {} tasks each are {} tasks, at most {} are allowed", nodes,
                        per_node, total, JobBounds::task_count_max));
  return static_cast<std::uint32_t>(total);
}

class Resolver {
 public:
  explicit Resolver(const ShapeRequest& request) : r_(request) {}

  Result<void> resolve(JobSpec& spec) {
    ROTA_CHECK(check_range_of_nodes());
    ROTA_CHECK(find_nodes());
    ROTA_CHECK(find_tasks());
    ROTA_CHECK(check_tasks());
    ROTA_CHECK(find_gpus(spec));
    ROTA_CHECK(find_compute(spec));
    spec.node_count = nodes_;
    spec.node_count_max = r_.nodes_max.value_or(0);
    spec.task_count = tasks_;
    spec.task.cpu_count = r_.cpus_per_task.value_or(1);
    ROTA_CHECK(find_cpus(spec));
    return find_memory(spec);
  }

 private:
  /// What counts the whole job cannot be said of one that grows and shrinks.
  Result<void> check_range_of_nodes() const {
    if (!r_.nodes_max) return {};
    const auto refused = [this](std::string_view option, std::string_view instead) {
      return usage(format("{} counts the whole job, and this one has {} to {} nodes: give {}",
                          option, *r_.nodes, *r_.nodes_max, instead));
    };
    if (r_.gpus) return refused("--gpus", "--gpus-per-node or -g");
    if (r_.tasks) return refused("--ntasks", "--ntasks-per-node");
    return {};
  }

  /// -N; else what two other numbers leave open; else 1 where something is asked per node.
  Result<void> find_nodes() {
    if (r_.nodes) {
      nodes_ = *r_.nodes;
    } else if (r_.gpus.value_or(0) > 0 && r_.gpus_per_node.value_or(0) > 0) {
      ROTA_TRY(nodes_, quotient(*r_.gpus, "GPU", *r_.gpus_per_node, "--gpus-per-node", "--gpus"));
    } else if (r_.tasks && r_.tasks_per_node) {
      ROTA_TRY(nodes_,
               quotient(*r_.tasks, "task", *r_.tasks_per_node, "--ntasks-per-node", "--ntasks"));
    } else if (r_.gpus_per_node || r_.tasks_per_node) {
      nodes_ = 1;
    }
    return {};
  }

  static Result<std::uint32_t> quotient(std::uint32_t total, std::string_view noun,
                                        std::uint32_t per_node, std::string_view per_node_option,
                                        std::string_view total_option) {
    if (total % per_node == 0) return total / per_node;
    return usage(format("{} do not divide into nodes of {} ({}={}); {} {} would",
                        counted(total, noun), per_node, per_node_option, per_node, total_option,
                        multiples_near(total, per_node)));
  }

  /// -n; else from the nodes; else from the GPUs; else 1.
  Result<void> find_tasks() {
    const std::uint32_t nodes = std::max<std::uint32_t>(nodes_, 1);
    if (r_.tasks_per_gpu) return find_tasks_of_gpus(nodes);
    if (r_.tasks) {
      tasks_ = *r_.tasks;
    } else if (r_.tasks_per_node) {
      ROTA_TRY(tasks_, product(nodes, *r_.tasks_per_node));
    } else if (r_.gpus_per_task.value_or(0) > 0 && r_.gpus_per_node.value_or(0) > 0) {
      ROTA_TRY(const std::uint32_t per_node, tasks_from(*r_.gpus_per_node, "--gpus-per-node"));
      ROTA_TRY(tasks_, product(nodes, per_node));
    } else if (r_.gpus_per_task.value_or(0) > 0 && r_.gpus.value_or(0) > 0) {
      ROTA_TRY(tasks_, tasks_from(*r_.gpus, "--gpus"));
    } else {
      tasks_ = nodes;
    }
    return {};
  }

  /// As many tasks as the job's GPUs stand for.
  Result<void> find_tasks_of_gpus(std::uint32_t nodes) {
    if (r_.tasks || r_.tasks_per_node || r_.gpus_per_task)
      return usage(format("--ntasks-per-gpu and {} contradict each other: leave one out",
                          r_.tasks            ? "--ntasks"
                          : r_.tasks_per_node ? "--ntasks-per-node"
                                              : "--gpus-per-task"));
    const std::uint64_t gpus =
        r_.gpus ? *r_.gpus : std::uint64_t{nodes} * r_.gpus_per_node.value_or(0);
    if (gpus == 0)
      return usage(
          "--ntasks-per-gpu counts the job's GPUs: give --gpus or --gpus-per-node with it");
    if (*r_.tasks_per_gpu > 1 && nodes_ == 0)
      return usage(
          "--ntasks-per-gpu: tasks that share GPUs are on one node: give --nodes or "
          "--gpus-per-node with it");
    ROTA_TRY(tasks_, product(gpus, *r_.tasks_per_gpu));
    return {};
  }

  Result<std::uint32_t> tasks_from(std::uint32_t gpus, std::string_view option) const {
    const std::uint32_t per_task = *r_.gpus_per_task;
    if (gpus % per_task == 0) return gpus / per_task;
    return usage(format("{} cannot be shared by tasks of {} (--gpus-per-task={}); {} {} would work",
                        counted(gpus, "GPU"), per_task, per_task, option,
                        multiples_near(gpus, per_task)));
  }

  Result<void> check_tasks() const {
    if (nodes_ > tasks_)
      return usage(
          format("{} need at least {}, there {} {}: give --ntasks={} or more, or fewer --nodes",
                 counted(nodes_, "node"), counted(nodes_, "task"), tasks_ == 1 ? "is" : "are",
                 tasks_, nodes_));
    if (!r_.tasks_per_node) return {};
    const std::uint64_t expected = std::uint64_t{nodes_} * *r_.tasks_per_node;
    if (expected != tasks_)
      return usage(
          format("{} on {} with --ntasks-per-node={} would be {}: the three contradict each "
                 "other, leave one out",
                 counted(tasks_, "task"), counted(nodes_, "node"), *r_.tasks_per_node, expected));
    return {};
  }

  /// A part of each of some GPUs, for every task.
  Result<void> find_parts(JobSpec& spec) const {
    const std::string_view option = r_.gpu_share ? "a share of a GPU" : "--gpu-memory";
    if (r_.gpu_share && r_.gpu_memory_mib)
      return usage("a share of a GPU and --gpu-memory contradict each other: leave one out");
    if (r_.gpus || r_.gpus_per_node || r_.gpus_per_task)
      return usage(
          format("{} is for every task: leave out {}, or say of how many GPUs with "
                 "--gpu-devices",
                 option,
                 r_.gpus            ? "--gpus"
                 : r_.gpus_per_node ? "--gpus-per-node"
                                    : "--gpus-per-task"));
    spec.task.gpu_count = r_.gpu_devices.value_or(1);
    spec.task.gpu_share = r_.gpu_share.value_or(0);
    spec.task.gpu_memory_mib = r_.gpu_memory_mib.value_or(0);
    spec.task.gpu_share_limit = r_.gpu_share_limit;
    spec.task.gpu_memory_limit_mib = r_.gpu_memory_limit_mib;
    return {};
  }

  /// Instances for every task; `auto` only says that its part of a GPU has to be one.
  Result<void> find_instances(JobSpec& spec) const {
    spec.task.mig_profile = *r_.mig;
    if (*r_.mig == TaskRequest::mig_auto) {
      if (r_.gpu_share || r_.gpu_memory_mib) return {};
      return usage(
          "--mig=auto finds the MIG profile for a part of a GPU: give -g 0.5 or --gpu-memory=20G "
          "with it");
    }
    spec.task.mig_count = r_.mig_count.value_or(1);
    const char* const other = r_.gpus             ? "--gpus"
                              : r_.gpus_per_node  ? "--gpus-per-node"
                              : r_.gpus_per_task  ? "--gpus-per-task"
                              : r_.gpu_share      ? "a share of a GPU"
                              : r_.gpu_memory_mib ? "--gpu-memory"
                              : r_.gpu_devices    ? "--gpu-devices"
                                                  : nullptr;
    if (other == nullptr) return {};
    return usage(
        format("--mig={} and {} contradict each other: MIG instances stand in the place "
               "of GPUs, leave one out",
               *r_.mig, other));
  }

  Result<void> find_gpus(JobSpec& spec) const {
    spec.task.gpu_count = 0;
    spec.node.gpu_count = 0;
    if (r_.mig) ROTA_CHECK(find_instances(spec));
    if (spec.task.mig_count > 0) return {};
    if (r_.gpu_share || r_.gpu_memory_mib) return find_parts(spec);
    if (r_.gpu_devices)
      return usage(
          "--gpu-devices says of how many GPUs a part is asked for: give -g 0.5 or "
          "--gpu-memory=20G with it; for whole GPUs -g is enough");
    if (r_.gpus_per_task) {
      spec.task.gpu_count = *r_.gpus_per_task;
      if (r_.gpus_per_node) ROTA_CHECK(agree_per_node());
    } else if (r_.gpus_per_node) {
      spec.node.gpu_count = *r_.gpus_per_node;
    } else {
      return share_total(spec);
    }
    const std::uint64_t total =
        std::uint64_t{tasks_} * spec.task.gpu_count + std::uint64_t{nodes_} * spec.node.gpu_count;
    if (r_.gpus && *r_.gpus != total)
      return usage(
          format("--gpus={} contradicts {} with {} each, which are {}: leave one out", *r_.gpus,
                 spec.task.gpu_count > 0 ? counted(tasks_, "task") : counted(nodes_, "node"),
                 counted(spec.task.gpu_count + spec.node.gpu_count, "GPU"), total));
    return {};
  }

  /// What a node's tasks share is divided among them, rounded up.
  std::uint64_t tasks_of_node() const {
    const std::uint32_t nodes = std::max<std::uint32_t>(nodes_, 1);
    return (std::uint64_t{tasks_} + nodes - 1) / nodes;
  }

  Result<void> find_cpus(JobSpec& spec) const {
    if (!r_.cpus_per_gpu) return {};
    if (r_.cpus_per_task)
      return usage("--cpus-per-gpu and --cpus-per-task contradict each other: leave one out");
    const std::uint64_t gpus = spec.task.gpu_count > 0
                                   ? std::uint64_t{spec.task.gpu_count} * tasks_of_node()
                                   : std::uint64_t{spec.node.gpu_count};
    if (gpus == 0)
      return usage("--cpus-per-gpu counts GPUs, and this job has none: give -G or -g with it");
    const std::uint64_t cpus = gpus * *r_.cpus_per_gpu;
    const std::uint64_t each = (cpus + tasks_of_node() - 1) / tasks_of_node();
    if (each > JobBounds::cpus_per_task_max)
      return usage(format("--cpus-per-gpu={} makes {} CPUs for a task, at most {} are allowed",
                          *r_.cpus_per_gpu, each, JobBounds::cpus_per_task_max));
    spec.task.cpu_count = static_cast<std::uint32_t>(each);
    return {};
  }

  Result<void> find_memory(JobSpec& spec) const {
    spec.task.memory_bytes = 0;
    spec.node.memory_bytes = r_.memory_per_node_bytes.value_or(0);
    if (int{r_.memory_per_node_bytes.has_value()} + int{r_.memory_per_cpu_bytes.has_value()} +
            int{r_.memory_per_gpu_bytes.has_value()} >
        1)
      return usage("--mem, --mem-per-cpu and --mem-per-gpu contradict each other: give one");
    std::uint64_t bytes = 0;
    if (r_.memory_per_cpu_bytes && !times(*r_.memory_per_cpu_bytes, spec.task.cpu_count, bytes))
      return usage("--mem-per-cpu: more memory than any computer has");
    if (r_.memory_per_gpu_bytes) {
      const std::uint32_t gpus = std::max(spec.task.gpu_count, spec.node.gpu_count);
      if (gpus == 0)
        return usage("--mem-per-gpu counts GPUs, and this job has none: give -G or -g with it");
      if (!times(*r_.memory_per_gpu_bytes, gpus, bytes))
        return usage("--mem-per-gpu: more memory than any computer has");
      if (spec.node.gpu_count > 0) {
        spec.node.memory_bytes = bytes;
        return {};
      }
    }
    spec.task.memory_bytes = bytes;
    return {};
  }
  static bool times(std::uint64_t each, std::uint64_t count, std::uint64_t& product) {
    return !__builtin_mul_overflow(each, count, &product);
  }

  /// A program speaks to one MPS daemon, and each of those serves one GPU.
  Result<void> find_compute(JobSpec& spec) const {
    spec.task.mps_percent = 0;
    if (!r_.mps) return {};
    if (r_.mig)
      return usage(
          "--mps and --mig contradict each other: a MIG instance has compute of its own, leave one "
          "out");
    if (spec.node.gpu_count > 0)
      return usage(
          format("--mps is a share of the GPU of each task, and {} of a node would be "
                 "for all of its tasks: give -g 1 or -g 0.5",
                 counted(spec.node.gpu_count, "GPU")));
    if (spec.task.gpu_count == 0)
      return usage(
          "--mps is a share of a GPU's compute: ask for a GPU or a part of one as well, with -g 1, "
          "-g 0.5 or --gpu-memory=20G");
    if (spec.task.gpu_count > 1)
      return usage(
          format("--mps is for at most one GPU per task, and this asks for {}: a program "
                 "speaks to one MPS daemon, and each serves one GPU",
                 spec.task.gpu_count));
    spec.task.mps_percent = r_.mps_percent > 0 ? r_.mps_percent : percent_of_part(spec.task);
    return {};
  }

  /// Rounded up: asking for little is not asking for nothing.
  static std::uint8_t percent_of_part(const TaskRequest& task) {
    if (task.gpu_memory_mib > 0) return TaskRequest::mps_by_memory;
    if (task.gpu_share == 0) return JobBounds::mps_percent_max;
    constexpr std::uint32_t percent = gpu_unit / 100;
    return static_cast<std::uint8_t>((task.gpu_share + percent - 1) / percent);
  }

  /// Both given: a node's GPUs are those of its tasks.
  Result<void> agree_per_node() const {
    const std::uint64_t by_task = std::uint64_t{tasks_} * *r_.gpus_per_task;
    const std::uint64_t by_node = std::uint64_t{nodes_} * *r_.gpus_per_node;
    if (by_task == by_node) return {};
    return usage(
        format("{} with --gpus-per-task={} are {} GPUs, {} with --gpus-per-node={} are {}: "
               "leave one out",
               counted(tasks_, "task"), *r_.gpus_per_task, by_task, counted(nodes_, "node"),
               *r_.gpus_per_node, by_node));
  }

  /// Only a total: equal parts for the tasks, else equal parts for the nodes.
  Result<void> share_total(JobSpec& spec) const {
    const std::uint32_t total = r_.gpus.value_or(0);
    if (total % tasks_ == 0) {
      spec.task.gpu_count = total / tasks_;
    } else if (nodes_ > 0 && total % nodes_ == 0) {
      spec.node.gpu_count = total / nodes_;
    } else if (nodes_ > 0) {
      return usage(
          format("{} cannot be shared equally by {} on {}: --gpus={}, or --nodes {} would work",
                 counted(total, "GPU"), counted(tasks_, "task"), counted(nodes_, "node"),
                 multiples_near(total, tasks_), divisors_of(total)));
    } else {
      return usage(
          format("{} cannot be shared equally by {}: --gpus={}, or --ntasks {} would work; with "
                 "--nodes the tasks of a node share its GPUs",
                 counted(total, "GPU"), counted(tasks_, "task"), multiples_near(total, tasks_),
                 divisors_of(total)));
    }
    return {};
  }

  const ShapeRequest& r_;
  std::uint32_t nodes_ = 0;
  std::uint32_t tasks_ = 1;
};

Result<void> check_range(std::string_view option, std::optional<std::uint32_t> value,
                         std::uint32_t min, std::uint32_t max) {
  if (!value || (*value >= min && *value <= max)) return {};
  return usage(format("{}: {} is out of range, it must be {} to {}", option, *value, min, max));
}

}  // namespace

Result<void> resolve_shape(const ShapeRequest& request, JobSpec& spec) {
  using B = JobBounds;
  ROTA_CHECK(check_range("--nodes", request.nodes, 1, B::node_count_max));
  ROTA_CHECK(check_range("--nodes", request.nodes_max, 1, B::node_count_max));
  ROTA_CHECK(check_range("--ntasks", request.tasks, 1, B::task_count_max));
  ROTA_CHECK(check_range("--ntasks-per-node", request.tasks_per_node, 1, B::task_count_max));
  ROTA_CHECK(check_range("--gpus", request.gpus, 0, gpus_total_max));
  ROTA_CHECK(check_range("--gpus-per-node", request.gpus_per_node, 0, B::gpus_per_task_max));
  ROTA_CHECK(check_range("--gpus-per-task", request.gpus_per_task, 0, B::gpus_per_task_max));
  ROTA_CHECK(check_range("--gpu-devices", request.gpu_devices, 1, B::gpus_per_task_max));
  ROTA_CHECK(check_range("--mig", request.mig_count, 1, B::gpus_per_task_max));
  ROTA_CHECK(check_range("--cpus-per-gpu", request.cpus_per_gpu, 1, B::cpus_per_task_max));
  ROTA_CHECK(check_range("--ntasks-per-gpu", request.tasks_per_gpu, 1, B::task_count_max));
  ROTA_CHECK(check_range("--cpus-per-task", request.cpus_per_task, 1, B::cpus_per_task_max));
  return Resolver(request).resolve(spec);
}

}  // namespace rota::commands
