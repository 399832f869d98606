// commands/forward.h - rota port-forward: ports of this host that lead into a job.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "commands/program.h"
#include "commands/session.h"
#include "model/ids.h"

namespace rota::commands {

struct ForwardPort {
  std::uint16_t here = 0;  // 0: any that is free
  std::uint16_t there = 0;
};
/// "8888:80", or "80" for the same on both sides.
Result<ForwardPort> forward_port_from(std::string_view text);

struct ForwardOptions {
  JobId job;
  std::uint32_t task = 0;
  std::string address = "127.0.0.1";  // of this host, where to listen
  std::vector<ForwardPort> ports;
};

/// Listens, says where, and connects whoever comes, until an interrupt or the end of the job.
awaitable<Result<int>> forward_ports(net::ConnectOptions controller, ForwardOptions options,
                                     const Program& program);

}  // namespace rota::commands
