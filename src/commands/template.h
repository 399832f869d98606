// commands/template.h - rsubmit --template: options that a site or a project keeps in a file.
#pragma once
#include <string>
#include <vector>

#include "commands/cli.h"
#include "common/result.h"

namespace rota::commands {

/// The options in the file of this name: the project's, else the site's.
Result<std::vector<Given>> template_options(const std::string& name, const std::string& project);

/// Lines of options as on the command line, with comments; `path` is for errors.
Result<std::vector<Given>> template_parse(const std::string& text, const std::string& path);

}  // namespace rota::commands
