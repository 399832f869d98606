// common/names_getent.h - names for programs that cannot load what nsswitch.conf names.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace rota {

/// Reads the system's own files where nsswitch.conf asks them first, as nearly everywhere, and runs
/// getent(1), which every system with the GNU C library has, for all that they do not have.
struct NameSources {
  std::string nsswitch = "/etc/nsswitch.conf";
  std::string passwd = "/etc/passwd";
  std::string hosts = "/etc/hosts";
  std::string getent = "/usr/bin/getent";

  Result<std::optional<std::uint32_t>> uid_of(const std::string& user) const;
  Result<std::optional<std::string>> user_of(std::uint32_t uid) const;
  Result<std::vector<std::string>> addresses_of(const std::string& host) const;

 private:
  bool files_first(std::string_view database) const;
  /// The first line of passwd whose field `index` is `value`; "" when there is none.
  Result<std::string> passwd_line(std::size_t index, const std::string& value) const;
  /// What `getent DATABASE KEY` prints; "" when it finds nothing.
  Result<std::string> ask_getent(const std::string& database, const std::string& key) const;
};

}  // namespace rota
