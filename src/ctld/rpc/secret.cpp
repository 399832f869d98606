// ctld/rpc/secret.cpp - rsecret: put and delete secrets, and list their names.
#include "model/secret.h"

#include "common/format.h"
#include "ctld/rpc/rpc.h"
#include "net/seal.h"

namespace rota::ctld::rpc {

/// What it says is sealed before the engine gets it. The answer, which is put on record for a
/// repeat, has the name only.
Result<proto::SecretReply> secret_change(Controller& controller, const Caller& caller,
                                         proto::SecretRequest request, Now now) {
  Engine& engine = controller.engine();
  if (request.verb == proto::SecretVerb::remove) {
    ROTA_TRY(auto entry, engine.remove_secret(caller, request.name));
    return proto::SecretReply{{std::move(entry)}};
  }
  if (request.verb != proto::SecretVerb::put)
    return Error{Errc::unsupported, "this rctld does not know what to do with the secret"};
  ROTA_CHECK(engine.secrets().check_room(caller.owner.uid, request.name));
  if (request.value.empty()) return Error{Errc::invalid_argument, "an empty secret is none"};
  if (request.value.size() > SecretBounds::value_bytes_max)
    return Error{Errc::too_large, format("the secret has {} bytes, at most {} are possible",
                                         request.value.size(), SecretBounds::value_bytes_max)};
  auto sealed = controller.vault().seal(caller.owner.uid, request.name, request.value);
  net::wipe(request.value);
  if (!sealed) return std::move(sealed).error();
  ROTA_TRY(auto entry, engine.put_secret(caller, request.name, *std::move(sealed), now));
  return proto::SecretReply{{std::move(entry)}};
}

Result<proto::SecretReply> secret_list(const Engine& engine, const Caller& caller) {
  return proto::SecretReply{engine.secrets().list(caller.owner.uid)};
}

}  // namespace rota::ctld::rpc
