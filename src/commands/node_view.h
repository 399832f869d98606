// commands/node_view.h - nodes and GPUs as rows of rinfo's tables and as JSON.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "commands/json.h"
#include "commands/table.h"
#include "model/node.h"

namespace rota::commands {

/// "up", "down" and "drained".
std::string_view name_of(NodeState state);

/// n2 before n10.
void sort_by_name(std::vector<NodeView>& nodes);

/// One row per node, and one row per GPU.
Table node_table(const std::vector<NodeView>& nodes);
Table gpu_table(const std::vector<NodeView>& nodes);

/// All that is known of a node and its GPUs, "key: value", one a line.
std::string node_text(const NodeView& node);

/// One node as an object, as doc/json.md describes it.
void write_node(JsonWriter& json, const NodeView& node);

}  // namespace rota::commands
