// ctld/secrets.cpp - the only place where a secret is plain text in the controller.
#include "ctld/secrets.h"

#include "common/escape.h"
#include "common/format.h"
#include "model/mask_list.h"
#include "model/secret.h"
#include "net/seal.h"
#include "net/ticket.h"

namespace rota::ctld {
namespace {

Error not_started(const std::string& name, std::string_view why) {
  return {Errc::launch_failed, format("its secret {} {}", quoted(name), why)};
}

/// None: there is no such secret.
Result<std::optional<std::string>> value_of(Store& store, Vault& vault, std::uint32_t uid,
                                            const std::string& name) {
  ROTA_TRY(const auto sealed, store.secret(uid, name));
  if (!sealed) return std::optional<std::string>();
  ROTA_TRY(auto value, vault.open(uid, name, *sealed));
  return std::optional<std::string>(std::move(value));
}

}  // namespace

Result<proto::RegistryLogin> login_for(Store& store, Vault& vault, const Owner& owner,
                                       const std::string& image) {
  const std::string registry = registry_of(image);
  auto value = value_of(store, vault, owner.uid, login_secret(registry));
  if (!value)
    return Error{Errc::launch_failed,
                 format("the login to {} cannot be used: {}", registry, value.error().detail)};
  proto::RegistryLogin login;
  if (!*value) return login;
  const std::size_t colon = (*value)->find(':');
  login.user = (*value)->substr(0, colon);
  if (colon != std::string::npos) login.password = (*value)->substr(colon + 1);
  net::wipe(**value);
  return login;
}

Result<void> add_secrets(Store& store, Vault& vault, proto::LaunchRun& launch) {
  for (const SecretUse& use : launch.payload.secrets) {
    auto value = value_of(store, vault, launch.owner.uid, use.name);
    if (!value) return not_started(use.name, format("cannot be opened: {}", value.error().detail));
    if (!*value) return not_started(use.name, "has been deleted since it was submitted");
    if (use.target.empty()) {
      if ((*value)->find('\0') != std::string::npos)
        return not_started(use.name, format("has a NUL byte, which no variable can have: ask for a "
                                            "file (--secret {}:FILE)",
                                            use.name));
      if (use.name.size() + (*value)->size() + 2 > SecretBounds::variable_bytes_max)
        return not_started(use.name, format("is too long for a variable: ask for a file (--secret "
                                            "{}:FILE)",
                                            use.name));
    }
    launch.secrets.push_back({use.name, **std::move(value)});
  }
  if (launch.spec.image.empty()) return {};
  ROTA_TRY(launch.login, login_for(store, vault, launch.owner, launch.spec.image));
  return {};
}

Result<std::string> masks_for(Store& store, Vault& vault, const Job& job, const JobPayload& payload,
                              const std::string& ticket_key) {
  MaskList masks;
  for (const SecretUse& use : payload.secrets) {
    auto value = value_of(store, vault, job.owner.uid, use.name);
    if (!value)
      return Error{value.error().code,
                   format("secret {} of job {} could not be hidden in its "
                          "output: {}",
                          quoted(use.name), job.id.value, value.error().detail)};
    if (!*value) continue;
    masks.add(**value);
    net::wipe(**value);
  }
  if (masks.masks.empty()) return std::string();
  if (!masks.fits())
    return Error{
        Errc::too_large,
        format("the secrets of job {} have too many lines to be hidden in its output: read "
               "the file itself",
               job.id.value)};
  return net::seal_masks(masks, ticket_key, job.id);
}

std::string vault_trouble(Store& store, Vault& vault, const SecretBook& book) {
  const StoredSecret* secret = book.any();
  if (secret == nullptr) return {};
  auto value = value_of(store, vault, secret->uid, secret->name);
  if (!value) return value.error().detail;
  if (*value) net::wipe(**value);
  return {};
}

}  // namespace rota::ctld
