// commands/template.cpp - finds and reads templates.
#include "commands/template.h"

#include <unistd.h>

#include "commands/directives.h"
#include "commands/payload.h"
#include "commands/submit_options.h"
#include "common/config.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

constexpr std::size_t name_bytes_max = 64;

/// A file in the directory, and nothing else.
bool is_name(std::string_view name) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.size() <= name_bytes_max && name.front() != '.' &&
         name.find_first_not_of(plain) == std::string_view::npos;
}

}  // namespace

Result<std::vector<Given>> template_parse(const std::string& text, const std::string& path) {
  // A line of options is one of a script's that lacks its keyword.
  std::string lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines += std::string(rota_lines) + " " + text.substr(start, end - start) + "\n";
    start = end + 1;
  }
  ROTA_TRY(const auto directives, directives_parse(lines, path));
  ROTA_TRY(auto given, directive_options(directives, path));
  for (const Given& one : given)
    if (one.option->name == "template")
      return Error{Errc::usage, format("{}: a template cannot name another", one.origin)};
  return given;
}

Result<std::vector<Given>> template_options(const std::string& name, const std::string& project) {
  if (!is_name(name))
    return Error{Errc::usage, format("--template: {} is no name of a template; letters, digits, "
                                     "'-', '.' and '_' make one",
                                     quoted(name))};
  ROTA_TRY(const Config config, config_default());
  const std::string& directory = config.jobs_template_dir;
  if (directory.empty()) return Error{Errc::usage, "--template: this site has no templates"};
  for (const std::string& path :
       {is_name(project) ? format("{}/{}/{}", directory, project, name) : std::string(),
        format("{}/{}", directory, name)}) {
    if (path.empty() || ::access(path.c_str(), F_OK) != 0) continue;
    ROTA_TRY(const std::string text, read_script(path));
    return template_parse(text, path);
  }
  return Error{Errc::usage, format("--template: there is no {} in {}", quoted(name), directory)};
}

}  // namespace rota::commands
