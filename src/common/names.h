// common/names.h - users and hosts by name, as the system's databases have them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace rota {

// There are two of these, and a program is linked with one. names_libc.cpp asks the C library,
// which loads what nsswitch.conf names. names_getent.cpp is for programs that are linked whole, and
// cannot load anything. Both block for as long as the databases take. Nothing is not there; an
// error is a database that did not answer.

Result<std::optional<std::uint32_t>> uid_of_user(const std::string& user);
Result<std::optional<std::string>> user_of_uid(std::uint32_t uid);
/// Literal addresses, the best first; never an empty list. The error says why there is none.
Result<std::vector<std::string>> addresses_of_host(const std::string& host);

}  // namespace rota
