// model/secret.h - the names of secrets, and what a job may ask for.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/job.h"

namespace rota {

struct SecretBounds {
  static constexpr std::size_t name_bytes_max = 128;
  static constexpr std::size_t value_bytes_max = 128 << 10;
  static constexpr std::size_t per_user_max = 256;
  static constexpr std::size_t per_job_max = 32;
  /// A variable with its name and its end: the kernel takes no longer one.
  static constexpr std::size_t variable_bytes_max = 128 << 10;
};

/// A name that a person may give: one of a variable, and none that a job's surroundings have.
Result<void> validate_secret_name(std::string_view name);
/// The secrets of one job: names, places, and neither twice. `in_image`: it has a file system of
/// its own, in which they may lie anywhere.
Result<void> validate_secrets(const std::vector<SecretUse>& secrets, bool in_image);

/// "TOKEN", "TOKEN:/etc/token" or "TOKEN:token.txt".
Result<SecretUse> secret_use_parse(std::string_view text);

/// Logins are secrets under names that no person can give: "registry/ghcr.io".
std::string login_secret(std::string_view registry);
bool is_login_secret(std::string_view name);
/// "localhost:5000" of "localhost:5000/team/torch:2"; "docker.io" of a name without a host.
std::string registry_of(std::string_view image);
/// HOST or HOST:PORT as a person writes it, in the form that registry_of() has.
Result<std::string> registry_parse(std::string_view text);

}  // namespace rota
