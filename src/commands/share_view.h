// commands/share_view.h - who holds how much, as a tree of rows and as JSON.
#pragma once
#include <string>
#include <vector>

#include "commands/json.h"
#include "commands/table.h"
#include "model/project.h"

namespace rota::commands {

/// The sum of the lines at the top: departments and projects below no department.
ShareView total_of(const std::vector<ShareView>& shares);

/// One row each, names indented below what they belong to, and the total at the end. `flat` leaves
/// the indentation out.
Table share_table(const std::vector<ShareView>& shares, bool flat);

void write_share(JsonWriter& json, const ShareView& share);

}  // namespace rota::commands
