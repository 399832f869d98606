// commands/job_format.h - squeue's -o: a line of text with a job's fields in it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "commands/job_fields.h"
#include "common/result.h"
#include "model/job.h"

namespace rota::commands {

/// Fields are "%[.][WIDTH]LETTER" or "%[.][WIDTH]{name}". A width is
/// exact: shorter values are filled, on the left after a '.', longer ones are cut.
class JobFormat {
 public:
  static Result<JobFormat> parse(std::string_view text);

  /// One line with its newline.
  void append_header(std::string& out) const;
  void append_row(std::string& out, const JobView& job) const;

 private:
  struct Part {
    std::string literal;  // before the field
    const JobField* field = nullptr;
    std::size_t width = 0;  // 0: as wide as the value
    bool right = false;
  };
  std::vector<Part> parts_;
};

}  // namespace rota::commands
