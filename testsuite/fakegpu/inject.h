// testsuite/fakegpu/inject.h - rota-fakegpu's verbs that make a GPU ill, and well again.
#pragma once
#include <string>
#include <vector>

#include "common/result.h"
#include "description.h"
#include "state.h"

namespace rota::fakegpu {

using Arguments = std::vector<std::string>;

struct Node {
  FakeDescription machine{};
  FakeState* state = nullptr;
};

Error usage_error(std::string detail);
/// The GPUs that an index, a UUID or 'all' names.
Result<std::vector<std::uint32_t>> gpus_named(const Node& node, const std::string& name);

Result<void> inject_xid(Node& node, const Arguments& arguments);
Result<void> inject_ecc(Node& node, const Arguments& arguments);
Result<void> inject_remap(Node& node, const Arguments& arguments);
Result<void> set_link(Node& node, const Arguments& arguments);
Result<void> reset(Node& node, const Arguments& arguments);
/// One key of `set` that is about health; false when it is none of those.
Result<bool> set_health(FakeHealth& health, const std::string& key, const std::string& value);
/// Puts in place what `set` has made of a GPU, and tells what the driver would tell of it.
void replace_gpu(Node& node, std::uint32_t gpu, const FakeGpuState& changed);

/// What `show` says of a GPU that is not well: " remap-pending", or "".
std::string health_text(const FakeHealth& health);

}  // namespace rota::fakegpu
