// commands/step_pmix.h - the PMIx servers of a step, one on each of its nodes: who is how far, and
// what its tasks are told.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/pmix_words.h"

namespace rota::commands {

/// --mpi.
enum class MpiKind : std::uint8_t {
  automatic,  // pmix where all nodes can
  none,
  pmix,
};

/// Bytes of the servers in, orders and variables out; it sends nothing itself.
class StepPmix {
 public:
  /// `tasks` on each node, in the step's order.
  StepPmix(std::vector<std::string> nodes, std::vector<std::uint32_t> tasks);

  /// What a server wrote; what it says besides hello and ready comes back.
  Result<std::vector<proto::PmixNews>> take(std::size_t place, std::string_view bytes);
  bool have_all_said_hello() const { return hello_count_ == servers_.size(); }
  bool are_all_ready() const { return ready_count_ == servers_.size(); }

  /// Once all have said hello: the bytes for this server. `host` is where the first node is
  /// reached.
  std::string order_for(std::size_t place, const std::string& nspace, const std::string& host,
                        const std::string& secret) const;
  /// Once all are ready.
  const std::vector<std::string>& variables_of(std::size_t place, std::uint32_t local) const;

 private:
  struct Server {
    std::string buffer;
    std::uint16_t port = 0;
    std::vector<proto::PmixTask> tasks;
  };
  std::vector<std::string> nodes_;
  std::vector<std::uint32_t> tasks_;
  std::vector<Server> servers_;
  std::size_t hello_count_ = 0;
  std::size_t ready_count_ = 0;
};

}  // namespace rota::commands
