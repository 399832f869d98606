// gpud/container/host.h - what this node has to run containers with.
#pragma once
#include "common/config.h"
#include "common/result.h"
#include "gpud/container/plan.h"

namespace rota::gpud {

/// From the configuration and from what is installed; makes enroot's directories. Fails when the
/// configuration names what cannot be used.
Result<ContainerFacts> container_facts(const Config& config, const std::string& spool_dir);

}  // namespace rota::gpud
