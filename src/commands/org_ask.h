// commands/org_ask.h - asks the controller for projects, departments, queues and who holds what.
#pragma once
#include <cstdint>
#include <vector>

#include "commands/session.h"
#include "common/result.h"
#include "model/project.h"

namespace rota::commands {

struct OrgAnswer {
  std::uint64_t revision = 0;
  Org org;
  std::vector<ShareView> shares;  // in the order of a tree
};

/// All of it; the shares only when they are asked for.
Result<OrgAnswer> ask_org(const net::ConnectOptions& controller, bool shares);

}  // namespace rota::commands
