// testsuite/unit/sched/played_pass.h - one pass over a drawn world, told as plain data.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "unit/sched/drawn_world.h"

namespace rota::sched::drawn {

/// How a task stands.
enum class Be : std::uint8_t { waiting, running, starting, promised, leaving };
inline bool is_placed(Be be) { return be != Be::waiting && be != Be::leaving; }
inline bool is_active(Be be) { return be == Be::running || be == Be::starting; }

struct Spot {
  std::size_t node = 0;
  std::vector<std::uint32_t> gpus;    // whole ones, by number
  std::vector<std::uint32_t> shared;  // ids of the GPUs it has a part of

  friend bool operator==(const Spot&, const Spot&) = default;
};

struct Stand {
  Be be = Be::waiting;
  std::optional<Spot> at;    // nowhere while it waits
  std::optional<Spot> from;  // what it is leaving while it is promised another place

  friend bool operator==(const Stand&, const Stand&) = default;
};
/// By job and task.
using Stands = std::vector<std::vector<Stand>>;

/// One task changed.
struct Step {
  std::size_t job = 0, task = 0;
  Stand before, after;

  friend bool operator==(const Step&, const Step&) = default;
};

enum class Did : std::uint8_t { allocate, consolidate, reclaim, preempt, evict_stale };
inline constexpr std::size_t did_count = 5;
const char* name_of(Did action);

/// What a node says of itself at the end.
struct NodeSays {
  std::int64_t gpus_idle = 0, gpus_leaving = 0;
  std::int64_t cpu_idle = 0, cpu_leaving = 0;
  std::int64_t memory_idle = 0, memory_leaving = 0;
  std::size_t residents = 0;
  std::map<std::uint32_t, std::optional<std::uint32_t>> shared;  // ids that are used, GPU numbers
};

struct PlayedPass {
  Stands first, last;                          // before and after
  std::vector<Step> steps;                     // all that was decided and kept, in order
  std::array<std::size_t, did_count> ended{};  // steps that there were when an action ended
  std::vector<Triple> fair_share;              // by project
  std::vector<Triple> held, held_firm;         // by project, at the end
  std::vector<NodeSays> nodes;
  Stands settled;  // when the pass is over: nothing is promised any more
  std::vector<NodeSays> settled_nodes;
};

/// Builds the world and runs one pass of all actions, with the policy as it is by default.
PlayedPass play(const World& world);

}  // namespace rota::sched::drawn
