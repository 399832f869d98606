// model/sources.h - what a job gets from elsewhere before it starts, as people write it.
#pragma once
#include <string_view>

#include "common/result.h"
#include "model/container.h"
#include "model/job.h"

namespace rota {

/// "imagenet", "imagenet:/data", "imagenet:/data:ro" -> a volume of the site's and where it is
/// seen.
Result<DataMount> data_parse(std::string_view text);
Result<void> validate(const DataMount& data);

/// "https://host/team/code.git@v1:/workspace": where from, which revision (default: what is checked
/// out there), and the directory. It may be relative ("./src"): the caller makes it absolute.
Result<GitSource> git_parse(std::string_view text);
/// Whether git would take it for nothing but a repository that it fetches itself: no option, no
/// helper program.
Result<void> validate(const GitSource& git);

struct SourceBounds {
  static constexpr std::size_t git_max = 8;
  static constexpr std::size_t data_max = 64;
  static constexpr std::size_t url_bytes_max = 2048;
  static constexpr std::size_t revision_bytes_max = 256;
};

}  // namespace rota
