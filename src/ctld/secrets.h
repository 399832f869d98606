// ctld/secrets.h - secrets on their way out: to the job that starts, and to who hides them in logs.
#pragma once
#include <string>

#include "common/result.h"
#include "ctld/engine.h"
#include "ctld/store/store.h"
#include "ctld/vault.h"

namespace rota::ctld {

/// Opens what the job asks for, and the owner's login for its image, into the launch. Fails with
/// launch_failed and the secret's name when one is not there any more or cannot be opened.
Result<void> add_secrets(Store& store, Vault& vault, proto::LaunchRun& launch);
/// The owner's login at the registry of the image; an empty one: there is none.
Result<proto::RegistryLogin> login_for(Store& store, Vault& vault, const Owner& owner,
                                       const std::string& image);

/// What a node hides in the output of the job, sealed for that node (net/ticket.h); "": nothing.
/// Of secrets that have been deleted nothing is known any more.
Result<std::string> masks_for(Store& store, Vault& vault, const Job& job, const JobPayload& payload,
                              const std::string& ticket_key);

/// For the log, once the store is read: why no secret can be opened. "": they can, or there are
/// none.
std::string vault_trouble(Store& store, Vault& vault, const SecretBook& book);

}  // namespace rota::ctld
