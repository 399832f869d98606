// ctld/users.cpp - getpwuid_r and the groups of a user, and a memory of their answers.
#include "ctld/users.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace rota::ctld {
namespace {

constexpr auto entry_lifetime = std::chrono::minutes(10);
constexpr std::size_t users_max = 100'000;
constexpr int groups_max = 65'536;  // as many as Linux gives a process

std::vector<gid_t> group_ids_of(const char* user, gid_t first) {
  std::vector<gid_t> ids(64);
  int count = static_cast<int>(ids.size());
  // Says how many there are when they do not fit.
  while (getgrouplist(user, first, ids.data(), &count) < 0) {
    if (count > groups_max) return {};
    ids.resize(std::max(static_cast<std::size_t>(count), ids.size() * 2));
    count = static_cast<int>(ids.size());
  }
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

std::string name_of_group(gid_t id) {
  std::vector<char> buffer(16 << 10);
  group entry{};
  group* found = nullptr;
  // A group with many members needs much room: its name is still all that is wanted.
  int code = 0;
  while ((code = getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
         buffer.size() < (16u << 20))
    buffer.resize(buffer.size() * 4);
  return code == 0 && found != nullptr ? found->gr_name : "";
}

}  // namespace

UserEntry look_up_user(std::uint32_t uid) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return {std::to_string(uid), {}};
  UserEntry user{found->pw_name, {}};
  for (const gid_t id : group_ids_of(found->pw_name, found->pw_gid))
    if (std::string name = name_of_group(id); !name.empty()) user.groups.push_back(std::move(name));
  return user;
}

const UserEntry* UserCache::find(std::uint32_t uid, MonoTime now) const {
  const auto at = users_.find(uid);
  return at == users_.end() || now - at->second.at > entry_lifetime ? nullptr : &at->second.user;
}

void UserCache::put(std::uint32_t uid, UserEntry user, MonoTime now) {
  if (users_.size() >= users_max) users_.clear();
  users_[uid] = {std::move(user), now};
}

}  // namespace rota::ctld
