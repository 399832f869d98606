// model/output_path.cpp - expands the % letters of an output pattern.
#include "model/output_path.h"

#include "common/format.h"

namespace rota {
namespace {

constexpr std::uint32_t padding_max = 10;  // Slurm's bound, and enough for any 32-bit number

std::string padded(std::uint64_t number, std::uint32_t width) {
  return format("{:0{}}", number, width);
}

/// A name may hold a slash; in a path it would be a directory that nobody meant.
std::string without_slash(std::string_view text) {
  std::string word(text);
  for (char& c : word)
    if (c == '/') c = '_';
  return word;
}

}  // namespace

std::string_view stdout_pattern(const JobPayload& payload, bool in_array) {
  if (!payload.stdout_pattern.empty()) return payload.stdout_pattern;
  return in_array ? "rota-%A_%a.out" : "rota-%j.out";
}

std::string_view stderr_pattern(const JobPayload& payload, bool in_array) {
  return payload.stderr_pattern.empty() ? stdout_pattern(payload, in_array)
                                        : payload.stderr_pattern;
}

Result<std::string> output_path(std::string_view pattern, const OutputContext& context,
                                std::string_view working_directory) {
  if (pattern.find('\0') != std::string_view::npos)
    return Error{Errc::job_invalid, "the path has a NUL byte"};
  std::string path;
  if (pattern.empty() || pattern.front() != '/') {
    path = working_directory;
    if (path.empty() || path.back() != '/') path += '/';
  }
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const std::size_t start = i++;
    std::uint32_t width = 0;
    while (i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && width <= padding_max)
      width = width * 10 + static_cast<std::uint32_t>(pattern[i++] - '0');
    if (width > padding_max)
      return Error{Errc::job_invalid, format("padding in '{}' at column {} is over {}", pattern,
                                             start + 1, padding_max)};
    switch (i < pattern.size() ? pattern[i] : '\0') {
      case 'j':
        path += padded(context.job.value, width);
        break;
      case 't':
        path += padded(context.task, width);
        break;
      case 'r':
        path += padded(context.restart, width);
        break;
      case 'A':
        path += padded((context.array ? context.array : context.job).value, width);
        break;
      case 'a':
        path += padded(context.index, width);
        break;
      case 'x':
        path += without_slash(context.name);
        break;
      case 'u':
        path += without_slash(context.user);
        break;
      case 'N':
        path += without_slash(context.node);
        break;
      case '%':
        path += '%';
        break;
      default:
        return Error{
            Errc::job_invalid,
            format("unknown pattern in '{}' at column {}; known are %j (job), %x (name), %u "
                   "(user), %N (node), %t (task), %r (restart), %A (array), %a (task of the "
                   "array), %%",
                   pattern, start + 1)};
    }
  }
  return path;
}

}  // namespace rota
