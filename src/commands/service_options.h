// commands/service_options.h - what rsubmit's options say of a job's ports and who comes to them.
#pragma once
#include "commands/cli.h"
#include "common/result.h"
#include "model/service.h"

namespace rota::commands {

/// "8888" or "8888,6006": beside those that were given before.
Result<void> apply_ports(const Given& given, ServiceWish& service);
/// "container=8888,authusers=alice;bob", as Run:ai has it: both of them in one.
Result<void> apply_external_url(const Given& given, ServiceWish& service);
/// Nothing: the owner alone; "users:alice,bob": these too. A later one wins.
Result<void> apply_url(const Given& given, ServiceWish& service);

}  // namespace rota::commands
