// commands/project_options.h - rproject's options: every key of a project, as projects.yaml has it.
#pragma once
#include <string>
#include <vector>

#include "commands/cli.h"
#include "common/result.h"
#include "model/project.h"

namespace rota::commands {

enum class ProjectCommand : std::uint8_t { create, update, remove, list, show };

struct ProjectOptions {
  ProjectCommand command = ProjectCommand::list;
  std::string name;
  std::vector<OrgSetting> settings;
  bool json = false;
  bool header = true;
  bool parsable = false;
  bool quiet = false;
};

const Command& project_command();

Result<ProjectOptions> project_options_from(const Arguments& arguments);

}  // namespace rota::commands
