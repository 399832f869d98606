// common/config_table.h - the table behind config.h: which keys there are and what each may hold.
#pragma once
#include <string>
#include <string_view>

#include "common/config.h"

namespace rota {

/// The key called `name` ("nodes.heartbeat"), or nullptr.
const ConfigKey* config_find(std::string_view name);

/// Checks `text` and puts it into the member that the known key `name` stands for. The error says
/// which key, and what would be right.
Result<void> config_assign(Config& config, std::string_view name, const std::string& text);

/// Whether a group of nodes may be called so; the error says what would be right.
Result<void> config_check_group_name(std::string_view name);
/// The same of anything that the site gives a name to: "a level".
Result<void> config_check_name(std::string_view what, std::string_view name);
/// Adds a group of nodes: a checked name that is not there yet, and a host list.
Result<void> config_add_group(Config& config, const std::string& name, const std::string& hosts);

}  // namespace rota
