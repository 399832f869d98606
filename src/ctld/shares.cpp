// ctld/shares.cpp - adds up what jobs hold and wait for.
#include "ctld/shares.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace rota::ctld {
namespace {

void add_to(ShareView& sum, const ShareView& part) {
  sum.held_in_quota += part.held_in_quota;
  sum.held_over_quota += part.held_over_quota;
  sum.waiting += part.waiting;
  sum.usage = sum.usage.value_or(0) + part.usage.value_or(0);
  sum.jobs_running += part.jobs_running;
  sum.jobs_waiting += part.jobs_waiting;
}

/// What stands right below each department.
struct Below {
  std::vector<const Department*> departments;
  std::vector<const Project*> projects;
};
using Tree = std::map<std::string_view, Below>;

}  // namespace

void ShareTally::add(const Job& job, std::int64_t gpus_asked) {
  if (is_final(job.state)) return;
  ProjectTally& project = projects_[job.spec.project];
  UserTally& user = project.users[job.owner.user];
  if (job.state == JobState::pending) {
    if (!job.spec.background) user.waiting += gpus_asked;
    ++user.jobs_waiting;
    return;
  }
  ++user.jobs_running;
  if (job.spec.background) return;  // charged to nobody
  std::int64_t firm = 0, loose = 0;
  for (const NodePart& part : job.last->placement)
    (job.spec.is_firm(part) ? firm : loose) += part.gpu_amount();
  if (firm > 0) project.holdings.push_back({false, job.id, firm, job.owner.user});
  if (loose > 0) project.holdings.push_back({true, job.id, loose, job.owner.user});
}

void ShareTally::add_usage(const std::string& project, const std::string& user,
                           double gpu_seconds) {
  // In hundredths of an hour, so that the lines add up as they are read.
  const std::int64_t hundredths = std::llround(gpu_seconds / 36);
  if (hundredths > 0) projects_[project].users[user].usage = hundredths * (gpu_unit / 100);
}

std::vector<ShareView> ShareTally::project_views(const Project& project) const {
  std::vector<ShareView> views(1);
  views[0].kind = ShareKind::project;
  views[0].name = project.name;
  views[0].parent = project.department;
  views[0].quota = project.quota.gpu_quota;
  views[0].weight = project.quota.weight_or_quota();
  views[0].usage = 0;
  const auto at = projects_.find(project.name);
  if (at == projects_.end()) return views;
  auto users = at->second.users;
  auto holdings = at->second.holdings;
  // What cannot be taken back lies within the quota; of the rest, what came first.
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
    return std::tie(a.preemptible, a.job) < std::tie(b.preemptible, b.job);
  });
  std::int64_t left = project.quota.gpu_quota;
  for (const Holding& holding : holdings) {
    const std::int64_t within = std::min(left, holding.gpus);
    left -= within;
    users[holding.user].in_quota += within;
    users[holding.user].over_quota += holding.gpus - within;
  }
  for (const auto& [name, user] : users) {
    ShareView view;
    view.kind = ShareKind::user;
    view.name = name;
    view.parent = project.name;
    view.weight = gpu_unit;
    for (const UserWeight& weight : project.user_weights)
      if (weight.user == name) view.weight = weight.weight;
    view.held_in_quota = user.in_quota;
    view.held_over_quota = user.over_quota;
    view.waiting = user.waiting;
    view.usage = user.usage;
    view.jobs_running = user.jobs_running;
    view.jobs_waiting = user.jobs_waiting;
    add_to(views[0], view);
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<ShareView> ShareTally::views(const Org& org) const {
  Tree tree;
  for (const Department& department : org.departments)
    tree[department.parent].departments.push_back(&department);
  for (const Project& project : org.projects) tree[project.department].projects.push_back(&project);
  std::vector<ShareView> views;
  const auto walk = [&](const auto& self, const Below& below, ShareView& sum) -> void {
    for (const Department* department : below.departments) {
      const std::size_t place = views.size();
      ShareView view;
      view.kind = ShareKind::department;
      view.name = department->name;
      view.parent = department->parent;
      view.quota = department->quota.gpu_quota;
      view.weight = department->quota.weight_or_quota();
      view.usage = 0;
      views.push_back(view);
      self(self, tree[department->name], view);
      add_to(sum, view);
      views[place] = std::move(view);
    }
    for (const Project* project : below.projects) {
      auto lines = project_views(*project);
      add_to(sum, lines.front());
      std::move(lines.begin(), lines.end(), std::back_inserter(views));
    }
  };
  ShareView total;
  walk(walk, tree[""], total);
  return views;
}

}  // namespace rota::ctld
