// sched/workload.cpp - minimums of nested groups: what to place next, what to give up first.
#include "sched/workload.h"

#include <algorithm>

#include "common/assert.h"

namespace rota::sched {
namespace {

bool is_to_place(const SchedJob& job, std::uint32_t task, Which which) {
  if (which == Which::waiting) return job.waits(task);
  return !is_placed(job.state(task)) && !job.tasks.empty() && job.tasks[task].evicted;
}

/// How far a task set or group is filled.
struct Standing {
  std::uint32_t placed = 0;
  std::uint32_t minimum = 0;

  bool is_satisfied() const { return placed >= minimum; }
};

/// Counts per task set and per group, from the leaves up.
class Census {
 public:
  /// `taken`: tasks that count as gone; empty: none.
  explicit Census(const SchedJob& job, const std::vector<bool>& taken = {})
      : gang_(job.shape->gang), sets_(gang_.sets.size()), groups_(gang_.groups.size()) {
    for (std::size_t i = 0; i < sets_.size(); ++i) sets_[i].minimum = gang_.sets[i].minimum;
    for (std::size_t i = 0; i < job.tasks.size(); ++i)
      if (is_placed(job.tasks[i].state) && (taken.empty() || !taken[i]))
        ++sets_[job.shape->tasks[i].set].placed;
    count_group(0);
  }

  const Standing& of(Member child) const {
    return child.is_group ? groups_[child.index] : sets_[child.index];
  }
  const Standing& of_set(std::size_t set) const { return sets_[set]; }
  bool is_satisfied() const { return groups_[0].is_satisfied(); }

  std::vector<Member> children_of(std::uint32_t group) const {
    std::vector<Member> children;
    for (const auto set : gang_.groups[group].sets) children.push_back({false, set});
    for (const auto sub : gang_.groups[group].groups) children.push_back({true, sub});
    return children;
  }

  /// Those that need most first: below minimum, then those with a minimum by how full they are,
  /// then those without by how much they have.
  std::vector<Member> children_in_order(std::uint32_t group) const {
    auto children = children_of(group);
    std::stable_sort(children.begin(), children.end(), [this](Member a, Member b) {
      const Standing &x = of(a), &y = of(b);
      if (x.is_satisfied() != y.is_satisfied()) return !x.is_satisfied();
      if ((x.minimum == 0) != (y.minimum == 0)) return x.minimum != 0;
      if (x.is_satisfied()) {
        const auto full_x = std::uint64_t{x.placed} * std::max(y.minimum, 1U);
        const auto full_y = std::uint64_t{y.placed} * std::max(x.minimum, 1U);
        if (full_x != full_y) return full_x < full_y;
      }
      return name_of(a) < name_of(b);
    });
    return children;
  }

 private:
  const std::string& name_of(Member child) const {
    return child.is_group ? gang_.groups[child.index].name : gang_.sets[child.index].name;
  }

  void count_group(std::uint32_t index) {
    const Group& group = gang_.groups[index];
    Standing standing;
    const auto children = static_cast<std::uint32_t>(group.sets.size() + group.groups.size());
    standing.minimum = std::min(group.minimum.value_or(children), children);
    for (const auto set : group.sets) standing.placed += sets_[set].is_satisfied();
    for (const auto sub : group.groups) {
      count_group(sub);
      standing.placed += groups_[sub].is_satisfied();
    }
    groups_[index] = standing;
  }

  const Gang& gang_;
  std::vector<Standing> sets_;
  std::vector<Standing> groups_;
};

/// Waiting tasks of each set, in order.
class Supply {
 public:
  Supply(const SchedJob& job, Which which) : waiting_(job.shape->gang.sets.size()) {
    for (std::uint32_t i = 0; i < job.task_count(); ++i)
      if (is_to_place(job, i, which)) waiting_[job.shape->tasks[i].set].push_back(i);
  }
  const std::vector<std::uint32_t>& of(std::uint32_t set) const { return waiting_[set]; }

 private:
  std::vector<std::vector<std::uint32_t>> waiting_;
};

class NextStep {
 public:
  NextStep(const SchedJob& job, Which which) : census_(job), supply_(job, which) {}

  std::vector<std::uint32_t> tasks() {
    if (!census_.is_satisfied())
      fill_group(0);
    else
      grow_group(0);
    return std::move(tasks_);
  }

 private:
  void fill(Member child) {
    if (child.is_group)
      fill_group(child.index);
    else
      fill_set(child.index);
  }

  void fill_set(std::uint32_t set) {
    const Standing& standing = census_.of_set(set);
    const auto& waiting = supply_.of(set);
    for (std::size_t i = 0; i < waiting.size() && standing.placed + i < standing.minimum; ++i)
      tasks_.push_back(waiting[i]);
  }

  void fill_group(std::uint32_t group) {
    const auto children = census_.children_in_order(group);
    const std::uint32_t needed = census_.of({true, group}).minimum;
    for (std::uint32_t i = 0; i < needed; ++i)
      if (!census_.of(children[i]).is_satisfied()) fill(children[i]);
  }

  /// One more step below a group that has its minimum. True when there was one.
  bool grow_group(std::uint32_t group) {
    for (const Member child : census_.children_in_order(group)) {
      const std::size_t before = tasks_.size();
      if (!census_.of(child).is_satisfied())
        fill(child);
      else if (child.is_group)
        grow_group(child.index);
      else if (const auto& waiting = supply_.of(child.index); !waiting.empty())
        tasks_.push_back(waiting.front());
      if (tasks_.size() > before) return true;
    }
    return false;
  }

  Census census_;
  Supply supply_;
  std::vector<std::uint32_t> tasks_;
};

/// What can be given up while the rest keeps its minimums: the deepest and least needed first.
class NextLoss {
 public:
  NextLoss(const SchedJob& job, const std::vector<bool>& taken)
      : census_(job, taken), placed_(job.shape->gang.sets.size()) {
    for (std::uint32_t i = 0; i < job.tasks.size(); ++i)
      if (is_placed(job.tasks[i].state) && (taken.empty() || !taken[i]))
        placed_[job.shape->tasks[i].set].push_back(i);
  }

  EvictionUnit unit() {
    EvictionUnit unit;
    if (surplus_task(0, unit) || surplus_child(0, unit)) return unit;
    for (const auto& set : placed_) unit.tasks.insert(unit.tasks.end(), set.begin(), set.end());
    unit.is_whole = true;
    return unit;
  }

 private:
  /// Of a group in which nothing is complete there is nothing to spare.
  bool surplus_task(std::uint32_t group, EvictionUnit& unit) {
    if (census_.of({true, group}).placed == 0) return false;
    auto children = census_.children_in_order(group);
    std::reverse(children.begin(), children.end());
    for (const Member child : children) {
      if (child.is_group) {
        if (surplus_task(child.index, unit)) return true;
      } else if (census_.of(child).placed > census_.of(child).minimum) {
        unit.tasks.push_back(placed_[child.index].back());
        return true;
      }
    }
    return false;
  }

  bool surplus_child(std::uint32_t group, EvictionUnit& unit) {
    auto children = census_.children_in_order(group);
    std::reverse(children.begin(), children.end());
    for (const Member child : children)
      if (child.is_group && census_.of(child).is_satisfied() && surplus_child(child.index, unit))
        return true;
    if (census_.of({true, group}).placed <= census_.of({true, group}).minimum) return false;
    for (const Member child : children) {
      if (!census_.of(child).is_satisfied()) continue;
      collect(child, unit);
      if (!unit.tasks.empty()) return true;
    }
    return false;
  }

  void collect(Member child, EvictionUnit& unit) {
    if (!child.is_group) {
      const auto& set = placed_[child.index];
      unit.tasks.insert(unit.tasks.end(), set.begin(), set.end());
      return;
    }
    for (const Member below : census_.children_of(child.index)) collect(below, unit);
  }

  Census census_;
  std::vector<std::vector<std::uint32_t>> placed_;
};

}  // namespace

const TaskShape& place_of_all(const JobShape& shape) {
  static const TaskShape anywhere;
  const TaskShape& first = shape.tasks.front();
  const bool same = std::all_of(shape.tasks.begin(), shape.tasks.end(),
                                [&](const TaskShape& task) { return task.nodes == first.nodes; });
  return same ? first : anywhere;
}

Gang Gang::simple(std::uint32_t minimum, std::optional<TopologyWish> topology) {
  Gang gang;
  gang.sets.push_back({"default", minimum, std::nullopt});
  gang.groups.push_back({"", {0}, {}, std::nullopt, topology});
  return gang;
}

Fill fill_of(const SchedJob& job, const std::vector<bool>& gone) {
  const auto& sets = job.shape->gang.sets;
  std::vector<std::uint32_t> placed(sets.size());
  for (std::size_t i = 0; i < job.tasks.size(); ++i)
    if (is_placed(job.tasks[i].state) && (gone.empty() || !gone[i]))
      ++placed[job.shape->tasks[i].set];
  bool above = false;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (placed[i] < sets[i].minimum) return Fill::below;
    above = above || placed[i] > sets[i].minimum;
  }
  return above ? Fill::above : Fill::exact;
}

bool is_firm_step(const SchedJob& job, const std::vector<std::uint32_t>& tasks) {
  if (!job.semi) return !job.preemptible;
  // Whichever tasks make its minimum, they become the first ones.
  return fill_of(job) == Fill::below ||
         std::any_of(tasks.begin(), tasks.end(), [&](auto task) { return job.is_firm(task); });
}

bool has_waiting(const SchedJob& job) {
  for (std::uint32_t i = 0; i < job.task_count(); ++i)
    if (job.waits(i)) return true;
  return false;
}

bool has_placed(const SchedJob& job) {
  return std::any_of(job.tasks.begin(), job.tasks.end(),
                     [](const Task& task) { return is_placed(task.state); });
}

namespace {

bool group_could_form(const Gang& gang, std::uint32_t index,
                      const std::vector<std::uint32_t>& live) {
  const Group& group = gang.groups[index];
  std::uint32_t good = 0;
  for (const auto set : group.sets) good += live[set] >= gang.sets[set].minimum;
  for (const auto sub : group.groups) good += group_could_form(gang, sub, live);
  const auto children = static_cast<std::uint32_t>(group.sets.size() + group.groups.size());
  return good >= std::min(group.minimum.value_or(children), children);
}

}  // namespace

bool is_ready(const SchedJob& job) {
  std::vector<std::uint32_t> live(job.shape->gang.sets.size());
  for (std::uint32_t i = 0; i < job.task_count(); ++i)
    if (job.waits(i) || is_placed(job.state(i))) ++live[job.shape->tasks[i].set];
  return group_could_form(job.shape->gang, 0, live);
}

std::vector<Member> members_in_order(const SchedJob& job, std::uint32_t group) {
  const Group& g = job.shape->gang.groups[group];
  if (g.groups.empty() && g.sets.size() == 1) return {{false, g.sets.front()}};
  return Census(job).children_in_order(group);
}

bool is_stale(const SchedJob& job) {
  bool any_active = false;
  std::vector<std::uint32_t> there(job.shape->gang.sets.size());
  for (std::uint32_t i = 0; i < job.tasks.size(); ++i) {
    const TaskState state = job.tasks[i].state;
    if (state == TaskState::succeeded) return false;
    any_active = any_active || is_active(state);
    // One that leaves is still there, and one that is promised its place is about to be.
    if (is_placed(state) || state == TaskState::leaving || state == TaskState::stuck)
      ++there[job.shape->tasks[i].set];
  }
  return any_active && !group_could_form(job.shape->gang, 0, there);
}

namespace {

/// One set of tasks and no groups below: most jobs. The same answers without the census.
bool is_plain(const SchedJob& job) {
  return job.shape->gang.sets.size() == 1 && job.shape->gang.groups.size() == 1;
}

std::vector<std::uint32_t> plain_tasks_to_place(const SchedJob& job, Which which) {
  std::uint32_t placed = 0;
  for (const Task& task : job.tasks) placed += is_placed(task.state);
  const std::uint32_t minimum = job.shape->gang.sets[0].minimum;
  const std::uint32_t wanted = placed < minimum ? minimum - placed : 1;
  std::vector<std::uint32_t> tasks;
  for (std::uint32_t i = 0; i < job.task_count() && tasks.size() < wanted; ++i)
    if (is_to_place(job, i, which)) tasks.push_back(i);
  return tasks;
}

EvictionUnit plain_tasks_to_evict(const SchedJob& job, const std::vector<bool>& gone) {
  EvictionUnit unit;
  for (std::uint32_t i = 0; i < job.tasks.size(); ++i)
    if (is_placed(job.tasks[i].state) && (gone.empty() || !gone[i])) unit.tasks.push_back(i);
  unit.is_whole = unit.tasks.size() <= job.shape->gang.sets[0].minimum;
  if (!unit.is_whole) unit.tasks = {unit.tasks.back()};
  return unit;
}

}  // namespace

std::vector<std::uint32_t> tasks_to_place(const SchedJob& job, Which which) {
  return is_plain(job) ? plain_tasks_to_place(job, which) : NextStep(job, which).tasks();
}

EvictionUnit tasks_to_evict(const SchedJob& job, const std::vector<bool>& gone) {
  return is_plain(job) ? plain_tasks_to_evict(job, gone) : NextLoss(job, gone).unit();
}

}  // namespace rota::sched
