// net/ticket.cpp - HMAC-SHA256 over the ticket's own encoding.
#include "net/ticket.h"

#include "common/format.h"
#include "net/seal.h"
#include "net/seal_text.h"
#include "proto/codec.h"

namespace rota::net {
namespace {

constexpr std::size_t ticket_key_size = 32;

std::string signature_of(const proto::Ticket& ticket, const std::string& key) {
  proto::Ticket bare = ticket;
  bare.signature.clear();
  return hmac_sha256(key, proto::encode(bare));
}

std::string masks_of(JobId job) { return format("masks {}", job.value); }

}  // namespace

std::string make_ticket_key() { return random_bytes(ticket_key_size); }

void sign(proto::Ticket& ticket, const std::string& key) {
  ticket.signature = signature_of(ticket, key);
}

Result<void> verify(const proto::Ticket& ticket, const std::string& key, std::uint32_t uid,
                    WallTime now) {
  // An empty key is one that was never agreed on: nothing signed with it means anything.
  if (key.empty() || !same_secret(ticket.signature, signature_of(ticket, key)))
    return Error{Errc::denied, "the ticket was not signed by this node's controller"};
  if (ticket.uid != uid)
    return Error{Errc::denied,
                 format("the ticket is for uid {} and was shown by uid {}", ticket.uid, uid)};
  if (ticket.expires <= now)
    return Error{Errc::denied,
                 "the ticket has expired: ask the controller for a new one, and check "
                 "the clocks if it does so again"};
  return {};
}

std::string seal_masks(const MaskList& masks, const std::string& key, JobId job) {
  return seal_text(key, proto::encode(masks), masks_of(job));
}

Result<MaskList> open_masks(const proto::Ticket& ticket, const std::string& key) {
  if (ticket.masks.empty()) return MaskList();
  ROTA_TRY(const std::string bytes, open_text(key, ticket.masks, masks_of(ticket.job)));
  return proto::decode<MaskList>(bytes);
}

}  // namespace rota::net
