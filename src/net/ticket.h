// net/ticket.h - the controller's signed word to a node, good for one user, job and purpose.
#pragma once
#include <string>

#include "common/result.h"
#include "common/time.h"
#include "model/mask_list.h"
#include "proto/messages.h"

namespace rota::net {

/// 32 random bytes from the operating system.
std::string make_ticket_key();
void sign(proto::Ticket& ticket, const std::string& key);
/// Good for `uid` at `now`, and signed with `key`: or denied, with the reason.
Result<void> verify(const proto::Ticket& ticket, const std::string& key, std::uint32_t uid,
                    WallTime now);

/// What is not to be shown of the job's output, for the node that has this key.
std::string seal_masks(const MaskList& masks, const std::string& key, JobId job);
Result<MaskList> open_masks(const proto::Ticket& ticket, const std::string& key);

}  // namespace rota::net
