// ctld/usage.h - the GPU time that users of projects have used of late.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/time.h"
#include "ctld/rows.h"
#include "model/project.h"
#include "sched/user_turns.h"

namespace rota::ctld {

/// What was used counts half after each half-life of its project, so that the past is forgiven bit
/// by bit. Exact between changes: what is held adds to it all the time. Pure: changes come out as
/// rows.
class UsageBook {
 public:
  /// As it was stored; what jobs have held since then counts once resume() tells of them.
  UsageBook(const std::vector<StoredUsage>& stored, const Org& org, Now now);

  /// From now on with these half-lives; what was used in projects that are gone is forgotten.
  void set_org(const Org& org, Now now);

  /// Its jobs hold so much more from now on, or less: millionths of GPUs.
  void hold(const std::string& project, const std::string& user, std::int64_t gpus, Now now);
  /// The same for what was held already when this was stored.
  void resume(const std::string& project, const std::string& user, std::int64_t gpus, Now now);

  using Line = sched::UserUse;
  std::vector<Line> lines(std::string_view project, MonoTime now) const;

  /// What has changed since the last call.
  void take_rows(std::vector<Row>& rows);

 private:
  struct Account {
    double used = 0;        // GPU seconds, as of `since`
    std::int64_t held = 0;  // since then
    MonoTime since;
    WallTime since_wall;
  };
  struct Accounts {
    std::int64_t half_life_seconds = 0;
    std::map<std::string, Account, std::less<>> users;
  };
  static double used_at(const Account& account, std::int64_t half_life_seconds, MonoTime now);
  static void settle(Account& account, std::int64_t half_life_seconds, Now now);
  static Account& account(Accounts& accounts, const std::string& user, Now now);

  std::map<std::string, Accounts, std::less<>> projects_;
  std::set<std::pair<std::string, std::string>> changed_;
};

}  // namespace rota::ctld
