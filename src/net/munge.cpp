// net/munge.cpp - libmunge's calls, with its errors in words that say what to check.
#include "net/munge.h"

#include <munge.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "common/assert.h"
#include "common/format.h"

namespace rota::net {
namespace {

struct FreeContext {
  void operator()(munge_ctx_t context) const { munge_ctx_destroy(context); }
};
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Context = std::unique_ptr<munge_ctx, FreeContext>;

Context make_context(const std::string& socket) {
  Context context(munge_ctx_create());
  ROTA_ASSERT(context != nullptr);
  if (!socket.empty())
    ROTA_ASSERT(munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str()) == EMUNGE_SUCCESS);
  return context;
}

Error munged_failed(const Context& context, munge_err_t error) {
  char* socket = nullptr;
  munge_ctx_get(context.get(), MUNGE_OPT_SOCKET, &socket);
  const char* detail = munge_ctx_strerror(context.get());
  return Error{Errc::io_failed,
               format("munged at {}: {}; is munged running?", socket != nullptr ? socket : "?",
                      detail != nullptr ? detail : munge_strerror(error))};
}

/// Seconds from the credential's making to its reading, by the two hosts' clocks.
std::int64_t age_seconds(const Context& context) {
  time_t made = 0;
  time_t read = 0;
  munge_ctx_get(context.get(), MUNGE_OPT_ENCODE_TIME, &made);
  munge_ctx_get(context.get(), MUNGE_OPT_DECODE_TIME, &read);
  return std::int64_t{read} - std::int64_t{made};
}

Error decode_failed(const Context& context, munge_err_t error) {
  switch (error) {
    case EMUNGE_CRED_EXPIRED:
      return Error{Errc::auth_failed, format("stale credential: {} s old by this host's clock; "
                                             "check the clocks of both hosts",
                                             age_seconds(context))};
    case EMUNGE_CRED_REWOUND:
      return Error{Errc::auth_failed, format("credential from the future: made {} s ahead of this "
                                             "host's clock; check the clocks of both hosts",
                                             -age_seconds(context))};
    case EMUNGE_CRED_REPLAYED:
      return Error{Errc::auth_failed, "replayed credential: it has been used before"};
    case EMUNGE_CRED_UNAUTHORIZED:
      return Error{
          Errc::auth_failed,
          format("credential meant for another uid: this process runs as uid {}", geteuid())};
    case EMUNGE_CRED_INVALID:
      return Error{Errc::auth_failed,
                   "credential made with another MUNGE key: is munge.key the same on both hosts?"};
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_REALM:
    case EMUNGE_BAD_LENGTH:
      return Error{Errc::malformed,
                   format("not a credential that munged can read: {}", munge_strerror(error))};
    default:
      return munged_failed(context, error);
  }
}

}  // namespace

Result<std::string> munge_encode(const std::string& socket, std::string_view payload,
                                 std::uint32_t reader_uid, std::chrono::seconds lifetime) {
  // To MUNGE this number means everybody; to us it is nobody's.
  if (reader_uid == static_cast<std::uint32_t>(MUNGE_UID_ANY))
    return Error{Errc::invalid_argument, format("uid {} is nobody's", reader_uid)};
  const Context context = make_context(socket);
  const auto set = [&context](munge_opt_t option, auto value) {
    ROTA_ASSERT(munge_ctx_set(context.get(), option, value) == EMUNGE_SUCCESS);
  };
  set(MUNGE_OPT_TTL, static_cast<int>(lifetime.count()));
  set(MUNGE_OPT_UID_RESTRICTION, static_cast<uid_t>(reader_uid));
  set(MUNGE_OPT_ZIP_TYPE, static_cast<int>(MUNGE_ZIP_NONE));  // random bytes do not shrink
  char* credential = nullptr;
  const munge_err_t error =
      munge_encode(&credential, context.get(), payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, Free> owner(credential);
  if (error != EMUNGE_SUCCESS) return munged_failed(context, error);
  return std::string(credential);
}

Result<Credential> munge_decode(const std::string& socket, const std::string& credential) {
  // Looked at before munged is asked, so that garbage costs no round trip.
  if (!credential.starts_with("MUNGE:") || credential.find('\0') != std::string::npos)
    return Error{Errc::malformed, "no MUNGE credential where one was due"};
  const Context context = make_context(socket);
  void* payload = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const munge_err_t error =
      munge_decode(credential.c_str(), context.get(), &payload, &size, &uid, &gid);
  const std::unique_ptr<void, Free> owner(payload);
  if (error != EMUNGE_SUCCESS) return decode_failed(context, error);
  Credential read;
  if (payload != nullptr) read.payload.assign(static_cast<char*>(payload), size);
  read.uid = uid;
  read.gid = gid;
  return read;
}

}  // namespace rota::net
