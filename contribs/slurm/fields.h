// contribs/slurm/fields.h - what Slurm's lists can show of a job, by its letters and names.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "model/job.h"

namespace rota::slurm {

struct Field {
  char letter = 0;              // squeue -o %i; 0: it has none
  std::string_view long_name;   // squeue -O JobID; "": none
  std::string_view header;      // squeue's
  std::string_view accounting;  // sacct -o JobID; "": sacct has no such field
  int width = 10;               // sacct's
  std::string (*text)(const JobView& job) = nullptr;
};

/// One column of a list.
struct Column {
  std::string literal;  // squeue -o: what stands before it
  const Field* field = nullptr;
  std::string_view header;
  std::size_t width = 0;  // 0: as wide as the value
  bool right = false;
};

/// squeue -o "%.18i %j".
Result<std::vector<Column>> columns_by_letters(std::string_view format);
/// squeue -O "JobID:20,State".
Result<std::vector<Column>> columns_by_names(std::string_view list);
/// sacct -o "JobID,JobName%30".
Result<std::vector<Column>> accounting_columns(std::string_view list);
/// The names of sacct -e.
std::vector<std::string_view> accounting_names();

/// A value in its width: filled, or cut where `plus` marks it.
std::string fitted(std::string text, std::size_t width, bool right, bool plus = false);

}  // namespace rota::slurm
