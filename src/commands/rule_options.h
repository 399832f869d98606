// commands/rule_options.h - rsubmit's options about when a job starts, how often, and whom it
// tells.
#pragma once
#include "commands/cli.h"
#include "common/result.h"
#include "common/time.h"
#include "model/job_rules.h"

namespace rota::commands {

/// The options, in rsubmit's table.
enum : int {
  id_array = option_own + 300,
  id_runs,
  id_parallelism,
  id_dependency,
  id_kill_on_invalid,
  id_begin,
  id_deadline,
  id_hold,
  id_nice,
  id_comment,
  id_label,
  id_retries,
  id_mail_type,
  id_mail_user,
  id_webhook,
  id_exclusive,
  id_last_rule,
};

/// Whether the option is one of them.
inline bool is_rule(const Option& option) {
  return option.id >= id_array && option.id < id_last_rule;
}
/// Takes one of them over. Labels are added to those that were given before; of the others the last
/// wins. Dates are in the local time zone.
Result<void> apply_rule(const Given& given, JobRules& rules, WallTime now);

}  // namespace rota::commands
