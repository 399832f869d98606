// testsuite/unit/sched/quota_ledger.cpp - charges up the tree, and the two gates.
#include "unit/sched/quota_ledger.h"

#include <algorithm>

#include "common/format.h"

namespace rota::sched::drawn {

Triple operator+(const Triple& a, const Triple& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
Triple operator-(const Triple& a, const Triple& b) { return a + b * -1; }
Triple operator*(const Triple& a, std::int64_t count) {
  return {a[0] * count, a[1] * count, a[2] * count};
}

bool within(const Triple& a, const Triple& b) {
  return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2];
}

bool within(const Triple& a, const Bound& b) {
  for (std::size_t r = 0; r < a.size(); ++r)
    if (b[r] && a[r] > *b[r]) return false;
  return true;
}

std::vector<std::size_t> line_of(const World& world, std::size_t project) {
  std::vector<std::size_t> line{project};
  while (const auto above = world.projects[line.back()].above) line.push_back(*above);
  return line;
}

std::pair<std::size_t, std::size_t> levelled(const World& world, std::size_t a, std::size_t b) {
  auto mine = line_of(world, a), theirs = line_of(world, b);
  // From the top: the first that differs.
  std::reverse(mine.begin(), mine.end());
  std::reverse(theirs.begin(), theirs.end());
  std::size_t i = 0;
  while (mine[i] == theirs[i]) ++i;
  return {mine[i], theirs[i]};
}

Ledger::Ledger(const World& world, const Stands& stands)
    : held(world.projects.size()), firm(world.projects.size()) {
  for (std::size_t j = 0; j < stands.size(); ++j)
    for (const Stand& stand : stands[j])
      if (is_placed(stand.be)) charge(world, world.jobs[j], 1);
}

void Ledger::charge(const World& world, const Job& job, std::int64_t tasks) {
  for (const std::size_t i : line_of(world, job.project)) {
    held[i] = held[i] + job.charge() * tasks;
    if (!job.preemptible) firm[i] = firm[i] + job.charge() * tasks;
  }
}

namespace {

/// In something that is asked for: nobody is stopped by what others have had too much of.
bool is_beyond(const Triple& held, const Triple& more, const Bound& line) {
  for (std::size_t r = 0; r < held.size(); ++r)
    if (more[r] > 0 && line[r] && held[r] + more[r] > *line[r]) return true;
  return false;
}

}  // namespace

std::string Ledger::gate_for(const World& world, const Job& job, std::int64_t tasks) const {
  const Triple more = job.charge() * tasks;
  for (const std::size_t i : line_of(world, job.project)) {
    const Project& project = world.projects[i];
    if (is_beyond(held[i], more, project.limit)) return format("the limit of {}", project.name);
    if (!job.preemptible && is_beyond(firm[i], more, project.deserved))
      return format("the quota of {}", project.name);
  }
  return "";
}

std::vector<Triple> requested_by(const World& world, const Stands& stands) {
  std::vector<Triple> requested(world.projects.size());
  for (std::size_t j = 0; j < stands.size(); ++j)
    for (const Stand& stand : stands[j]) {
      if (stand.be == Be::leaving) continue;
      for (const std::size_t i : line_of(world, world.jobs[j].project))
        requested[i] = requested[i] + world.jobs[j].charge();
    }
  return requested;
}

}  // namespace rota::sched::drawn
