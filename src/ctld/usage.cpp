// ctld/usage.cpp - what is used decays while what is held adds to it.
#include "ctld/usage.h"

#include <algorithm>
#include <cmath>

namespace rota::ctld {

UsageBook::UsageBook(const std::vector<StoredUsage>& stored, const Org& org, Now now) {
  for (const Project& project : org.projects)
    projects_[project.name].half_life_seconds = project.half_life_seconds;
  for (const StoredUsage& each : stored) {
    const auto at = projects_.find(each.project);
    if (at == projects_.end()) continue;
    // A clock that was set back in between counts as no time at all.
    const std::int64_t passed =
        std::max<std::int64_t>(0, now.wall.microseconds - each.at.microseconds);
    at->second.users[each.user] = {.used = static_cast<double>(each.gpu_us) / 1e6,
                                   .held = 0,
                                   .since = {now.mono.nanoseconds - passed * 1000},
                                   .since_wall = each.at};
  }
}

void UsageBook::set_org(const Org& org, Now now) {
  for (const Project& project : org.projects) {
    Accounts& accounts = projects_[project.name];
    if (accounts.half_life_seconds == project.half_life_seconds) continue;
    for (auto& [user, account] : accounts.users) {
      settle(account, accounts.half_life_seconds, now);
      changed_.emplace(project.name, user);
    }
    accounts.half_life_seconds = project.half_life_seconds;
  }
  std::erase_if(projects_, [&](const auto& each) {
    if (find_project(org, each.first) != nullptr) return false;
    for (const auto& [user, account] : each.second.users) changed_.emplace(each.first, user);
    return true;
  });
}

double UsageBook::used_at(const Account& account, std::int64_t half_life_seconds, MonoTime now) {
  const double seconds =
      static_cast<double>(std::max<std::int64_t>(0, now.nanoseconds - account.since.nanoseconds)) /
      1e9;
  return sched::used_after({account.used, account.held}, half_life_seconds, seconds);
}

void UsageBook::settle(Account& account, std::int64_t half_life_seconds, Now now) {
  if (now.mono <= account.since) return;
  account.used = used_at(account, half_life_seconds, now.mono);
  account.since = now.mono;
  account.since_wall = now.wall;
}

UsageBook::Account& UsageBook::account(Accounts& accounts, const std::string& user, Now now) {
  return accounts.users
      .try_emplace(user, Account{.used = 0, .held = 0, .since = now.mono, .since_wall = now.wall})
      .first->second;
}

void UsageBook::hold(const std::string& project, const std::string& user, std::int64_t gpus,
                     Now now) {
  Accounts& accounts = projects_[project];
  Account& account = this->account(accounts, user, now);
  settle(account, accounts.half_life_seconds, now);
  account.held += gpus;
  changed_.emplace(project, user);
}

void UsageBook::resume(const std::string& project, const std::string& user, std::int64_t gpus,
                       Now now) {
  account(projects_[project], user, now).held += gpus;
}

std::vector<UsageBook::Line> UsageBook::lines(std::string_view project, MonoTime now) const {
  std::vector<Line> lines;
  if (const auto at = projects_.find(project); at != projects_.end())
    for (const auto& [user, account] : at->second.users)
      lines.push_back({user, used_at(account, at->second.half_life_seconds, now)});
  return lines;
}

void UsageBook::take_rows(std::vector<Row>& rows) {
  for (const auto& [project, user] : changed_) {
    const auto at = projects_.find(project);
    if (at == projects_.end()) {
      rows.push_back(UsageDrop{project, user});
      continue;
    }
    const Account& account = at->second.users.at(user);
    rows.push_back(UsagePut{{project, user, std::llround(account.used * 1e6), account.since_wall}});
  }
  changed_.clear();
}

}  // namespace rota::ctld
