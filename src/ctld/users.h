// ctld/users.h - names and groups of users by uid, from the host's user database.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/time.h"
#include "model/job.h"

namespace rota::ctld {

struct UserEntry {
  std::string name;                 // or the number itself for a uid without one
  std::vector<std::string> groups;  // Unix groups by name
};

/// What the host's user database knows. May block for as long as that (LDAP, SSSD) does.
UserEntry look_up_user(std::uint32_t uid);

/// What was looked up, for ten minutes each.
class UserCache {
 public:
  const UserEntry* find(std::uint32_t uid, MonoTime now) const;
  void put(std::uint32_t uid, UserEntry user, MonoTime now);

 private:
  struct Entry {
    UserEntry user;
    MonoTime at;
  };
  std::map<std::uint32_t, Entry> users_;
};

}  // namespace rota::ctld
