// ctld/secret_book.h - which secrets each user has: names only. Pure: changes come out as rows.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/result.h"
#include "ctld/rows.h"
#include "proto/messages.h"

namespace rota::ctld {

class SecretBook {
 public:
  explicit SecretBook(std::vector<StoredSecret> stored);

  /// Whether it could be put: its name is one, and the user has room for it.
  Result<void> check_room(std::uint32_t uid, const std::string& name) const;
  /// Whether the user has all that a job asks for; the error names the one that is not there.
  Result<void> check(std::uint32_t uid, const std::vector<SecretUse>& uses) const;

  Result<proto::SecretEntry> put(StoredSecret secret, std::string sealed, std::vector<Row>& rows);
  Result<proto::SecretEntry> remove(std::uint32_t uid, const std::string& name,
                                    std::vector<Row>& rows);
  /// By name.
  std::vector<proto::SecretEntry> list(std::uint32_t uid) const;
  /// Any one, to try the key on; none: there are no secrets.
  const StoredSecret* any() const;

 private:
  std::map<std::uint32_t, std::map<std::string, StoredSecret>> users_;
};

}  // namespace rota::ctld
