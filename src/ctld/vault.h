// ctld/vault.h - the key that users' secrets are sealed with in the store.
#pragma once
#include <cstdint>
#include <string>

#include "common/result.h"

namespace rota::ctld {

/// Seals and opens with the key of one file, which is made when something is first sealed, mode
/// 0600. A secret belongs to its user and name: moved to another row it cannot be opened.
class Vault {
 public:
  explicit Vault(std::string path) : path_(std::move(path)) {}
  ~Vault();
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;

  /// Makes the key if there is none. Fails when the file cannot be made, or is no key.
  Result<std::string> seal(std::uint32_t uid, const std::string& name, const std::string& value);
  /// Fails when the file is missing, is no key, or not the one that it was sealed with.
  Result<std::string> open(std::uint32_t uid, const std::string& name, const std::string& sealed);

 private:
  Result<void> load();
  Result<void> make();

  std::string path_;
  std::string key_;  // "": not read yet
};

}  // namespace rota::ctld
