// commands/job_view.h - a job as a row of rqueue's table and as JSON.
#pragma once
#include "commands/json.h"
#include "commands/table.h"
#include "model/job.h"

namespace rota::commands {

/// rqueue's own columns; `is_long`: and what the jobs do with their GPUs.
Table job_table(bool is_long = false);
void add_row(Table& table, const JobView& job, bool is_long = false);

/// All that is known of a job, a line each: "name: value".
std::string job_text(const JobView& job);

/// One job as an object, as doc/json.md describes it.
void write_job(JsonWriter& json, const JobView& job);

}  // namespace rota::commands
