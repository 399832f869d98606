// ctld/users.h - names of users by uid, from the host's user database.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "common/time.h"
#include "model/job.h"

namespace rota::ctld {

/// The user's name, or the number itself for a uid without one. May block for as long as the host's
/// user database (LDAP, SSSD) does.
std::string look_up_user(std::uint32_t uid);

/// Names that were looked up, for ten minutes each.
class UserCache {
 public:
  const std::string* find(std::uint32_t uid, MonoTime now) const;
  void put(std::uint32_t uid, std::string name, MonoTime now);

 private:
  struct Entry {
    std::string name;
    MonoTime at;
  };
  std::map<std::uint32_t, Entry> names_;
};

}  // namespace rota::ctld
