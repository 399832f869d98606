// commands/job_fields.h - everything rqueue can say of a job, each as text.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "common/time.h"
#include "model/job.h"

namespace rota::commands {

/// One thing to know of a job. The name is the JSON's where it is there too; the letter is Slurm's,
/// 0 where Slurm has none.
struct JobField {
  char letter = 0;
  std::string_view name;
  std::string_view header;
  void (*append)(std::string& out, const JobView& job);
};
std::span<const JobField> job_fields();

/// "830J", "12Wh" or "1.5kWh".
std::string energy_text(std::uint64_t millijoules);

/// How long the job has run, as far as `job` tells.
Duration elapsed_of(const JobView& job);
/// The nodes that it has, or the fewest that it asks for.
std::size_t node_count(const JobView& job);
/// The short word while it waits, the sentence about its end afterwards, or "".
std::string_view reason_of(const JobView& job);
/// Its nodes, or in parentheses why it has none, with the numbers behind the word.
void append_nodes_or_story(std::string& out, const JobView& job);

}  // namespace rota::commands
