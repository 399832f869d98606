// ctld/users.cpp - getpwuid_r, and a memory of its answers.
#include "ctld/users.h"

#include <pwd.h>

#include <chrono>
#include <vector>

namespace rota::ctld {
namespace {
constexpr auto name_lifetime = std::chrono::minutes(10);
constexpr std::size_t names_max = 100'000;
}  // namespace

std::string look_up_user(std::uint32_t uid) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return std::to_string(uid);
}

const std::string* UserCache::find(std::uint32_t uid, MonoTime now) const {
  const auto at = names_.find(uid);
  return at == names_.end() || now - at->second.at > name_lifetime ? nullptr : &at->second.name;
}

void UserCache::put(std::uint32_t uid, std::string name, MonoTime now) {
  if (names_.size() >= names_max) names_.clear();
  names_[uid] = {std::move(name), now};
}

}  // namespace rota::ctld
