// ctld/secret_book.cpp - names put, removed and looked for.
#include "ctld/secret_book.h"

#include "common/escape.h"
#include "common/format.h"
#include "model/secret.h"

namespace rota::ctld {

SecretBook::SecretBook(std::vector<StoredSecret> stored) {
  for (StoredSecret& secret : stored) {
    auto& own = users_[secret.uid];
    std::string name = secret.name;
    own.insert_or_assign(std::move(name), std::move(secret));
  }
}

Result<void> SecretBook::check_room(std::uint32_t uid, const std::string& name) const {
  if (is_login_secret(name)) {
    ROTA_TRY(const std::string registry, registry_parse(name.substr(login_secret("").size())));
    if (login_secret(registry) != name)
      return Error{Errc::invalid_argument, format("{} is written {}", quoted(name), registry)};
  } else {
    ROTA_CHECK(validate_secret_name(name));
  }
  const auto own = users_.find(uid);
  if (own == users_.end() || own->second.contains(name) ||
      own->second.size() < SecretBounds::per_user_max)
    return {};
  return Error{Errc::too_large, format("you have {} secrets, which is the most: delete one first",
                                       own->second.size())};
}

Result<void> SecretBook::check(std::uint32_t uid, const std::vector<SecretUse>& uses) const {
  const auto own = users_.find(uid);
  for (const SecretUse& use : uses)
    if (own == users_.end() || !own->second.contains(use.name))
      return Error{Errc::not_found, format("you have no secret {}: put it first (rsecret put {})",
                                           quoted(use.name), use.name)};
  return {};
}

Result<proto::SecretEntry> SecretBook::put(StoredSecret secret, std::string sealed,
                                           std::vector<Row>& rows) {
  ROTA_CHECK(check_room(secret.uid, secret.name));
  users_[secret.uid][secret.name] = secret;
  const proto::SecretEntry entry{secret.name, secret.changed};
  rows.push_back(SecretPut{std::move(secret), std::move(sealed)});
  return entry;
}

Result<proto::SecretEntry> SecretBook::remove(std::uint32_t uid, const std::string& name,
                                              std::vector<Row>& rows) {
  const auto own = users_.find(uid);
  if (own == users_.end() || !own->second.contains(name)) {
    if (is_login_secret(name))
      return Error{Errc::not_found, format("you are not logged in to {}",
                                           quoted(name.substr(login_secret("").size())))};
    return Error{Errc::not_found, format("you have no secret {}", quoted(name.substr(0, 200)))};
  }
  const auto found = own->second.extract(name);
  if (own->second.empty()) users_.erase(own);
  rows.push_back(SecretDrop{uid, name});
  return proto::SecretEntry{name, found.mapped().changed};
}

std::vector<proto::SecretEntry> SecretBook::list(std::uint32_t uid) const {
  std::vector<proto::SecretEntry> entries;
  const auto own = users_.find(uid);
  if (own == users_.end()) return entries;
  for (const auto& [name, secret] : own->second) entries.push_back({name, secret.changed});
  return entries;
}

const StoredSecret* SecretBook::any() const {
  return users_.empty() ? nullptr : &users_.begin()->second.begin()->second;
}

}  // namespace rota::ctld
