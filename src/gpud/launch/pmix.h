// gpud/launch/pmix.h - the only door to libpmix: a server for the tasks of one step on one node.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "proto/pmix_words.h"

namespace rota::gpud {

/// There is one in a process. Its events come on libpmix's own thread, and what they are answered
/// with may come from any.
class PmixServer {
 public:
  /// 0, or an error of PMIx's.
  using Done = std::function<void(int status, std::string data)>;
  struct Events {
    /// All local tasks of this fence are there, with what they bring. `ranks` are all that take
    /// part, none: every task. It ends with what all nodes bring, one behind the other.
    std::function<void(std::vector<std::uint32_t> ranks, std::string data, Done done)> fence;
    /// A task asks for what another one, elsewhere, has to say of itself.
    std::function<void(std::uint32_t rank, Done done)> fetch;
    /// A task wants the whole step to end.
    std::function<void(std::uint32_t rank, int status, std::string text)> abort;
  };
  /// `directory` is for its files, and is the caller's to remove.
  static Result<std::unique_ptr<PmixServer>> open(const proto::PmixOrder& order,
                                                  const std::string& directory, Events events);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  /// What a local task finds the server by.
  Result<std::vector<std::string>> variables_of(std::uint32_t rank) const;
  /// What a local task has to say of itself, as soon as it has said it.
  void local(std::uint32_t rank, Done done) const;

 private:
  PmixServer(const proto::PmixOrder& order, Events events);
  Result<void> start(const std::string& directory);
  Result<void> register_tasks();

  proto::PmixOrder order_;
  Events events_;
};

/// What PMIx says of an error of its own.
std::string pmix_error_text(int status);
/// An error of PMIx's for a fence or a fetch that will not be.
int pmix_lost();

}  // namespace rota::gpud
