// commands/project_options.cpp - makes rproject's options from the keys of a project, and reads
// them.
#include "commands/project_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>

#include "commands/job_filter.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "model/org_keys.h"

namespace rota::commands {
namespace {

enum : int { id_no_header = option_own, id_parsable, id_json, id_quiet, id_key_first };

constexpr std::array<std::string_view, 5> synopses{
    "[OPTION...] list",        "[OPTION...] show NAME",   "[OPTION...] create NAME",
    "[OPTION...] update NAME", "[OPTION...] delete NAME",
};
constexpr std::array<std::string_view, 5> verbs{"create", "update", "delete", "list", "show"};

std::string_view argument_of(OrgType type) {
  switch (type) {
    case OrgType::gpus:
    case OrgType::cpus:
    case OrgType::number:
      return "N";
    case OrgType::size:
      return "SIZE";
    case OrgType::flag:
      return "on|off";
    case OrgType::duration:
      return "TIME";
    case OrgType::list:
      return "LIST";
    case OrgType::weights:
      return "LIST";
    default:
      return "NAME";
  }
}

/// The words of the options live as long as the program.
const std::vector<Option>& options() {
  static std::deque<std::string> words;
  static const std::vector<Option> all = [] {
    std::vector<Option> made;
    int id = id_key_first;
    for (const OrgKey<Project>& key : org_keys<Project>()) {
      std::string& name = words.emplace_back(key.name);
      std::replace(name.begin(), name.end(), '_', '-');
      std::string& help = words.emplace_back(key.help);
      for (std::size_t at = help.find("[]"); at != std::string::npos; at = help.find("[]"))
        help.replace(at, 2, "none");
      if (!help.starts_with("CPU") && !help.starts_with("GPU") && !help.starts_with("SIG"))
        help[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(help[0])));
      made.push_back({id++, 0, name, argument_of(key.type), help, Scope::command_line});
    }
    made.push_back({id_no_header, 'n', "noheader", "", "list: print no header line"});
    made.push_back(
        {id_parsable, 'P', "parsable", "", "list: print columns separated by '|', without blanks"});
    made.push_back(
        {id_json, 0, "json", "", "list and show: print JSON, as doc/json.md describes it"});
    made.push_back({id_quiet, 'Q', "quiet", "", "print only errors"});
    for (const Option& option : {verbose_option, help_option, usage_option, version_option})
      made.push_back(option);
    return made;
  }();
  return all;
}

Result<ProjectCommand> command_from(const std::string& verb) {
  for (std::size_t i = 0; i < verbs.size(); ++i)
    if (verb == verbs[i]) return static_cast<ProjectCommand>(i);
  const auto meant = nearest(verb, verbs);
  return Error{Errc::usage, format("unknown command {}; {}", quoted(verb),
                                   meant.empty() ? format("known are {}", fmt::join(verbs, ", "))
                                                 : format("did you mean '{}'?", meant))};
}

/// The words that an option's value stands for: of a list those between the commas.
Result<std::vector<std::string>> words_of(const Given& given, const OrgKey<Project>& key) {
  if (!key.is_list()) return std::vector<std::string>{given.value};
  auto words = list_from(given.value);
  if (!words) return bad_value(given, format("{}; 'none' empties the list", words.error().detail));
  return words;
}

Result<void> take_setting(const Given& given, ProjectOptions& result) {
  const auto& key = org_keys<Project>()[static_cast<std::size_t>(given.option->id - id_key_first)];
  OrgSetting setting{std::string(key.name), {}};
  ROTA_TRY(setting.words, words_of(given, key));
  Project scratch;  // what is wrong with a value is told here, with the option's name
  if (auto good = key.set(scratch, setting.words); !good)
    return bad_value(given, good.error().detail);
  result.settings.push_back(std::move(setting));
  return {};
}

}  // namespace

const Command& project_command() {
  static const Command command{
      .name = "rproject",
      .synopses = synopses,
      .summary = "List and show projects, and create, change or delete one.",
      .options = options(),
      .environment_prefix = "ROTA_PROJECT_",
  };
  return command;
}

Result<ProjectOptions> project_options_from(const Arguments& arguments) {
  if (arguments.operands.empty())
    return Error{Errc::usage, "what to do? list, show NAME, create NAME, update NAME, delete NAME"};
  ProjectOptions result;
  const std::string& verb = arguments.operands.front();
  ROTA_TRY(result.command, command_from(verb));
  const bool named = result.command != ProjectCommand::list;
  if (arguments.operands.size() != (named ? 2u : 1u))
    return Error{Errc::usage,
                 named ? format("{} needs the name of one project", verb) : "list takes no names"};
  if (named) result.name = arguments.operands[1];
  for (const Given& given : arguments.options) {
    const int id = given.option->id;
    if (id >= id_key_first) ROTA_CHECK(take_setting(given, result));
    if (id == id_no_header) result.header = false;
    if (id == id_parsable) result.parsable = true;
    if (id == id_json) result.json = true;
    if (id == id_quiet) result.quiet = true;
  }
  const bool sets =
      result.command == ProjectCommand::create || result.command == ProjectCommand::update;
  if (!sets && !result.settings.empty())
    return Error{Errc::usage, format("{} changes no settings; create and update do", verb)};
  if (result.command == ProjectCommand::update && result.settings.empty())
    return Error{Errc::usage, "nothing to change: give an option such as --quota"};
  return result;
}

}  // namespace rota::commands
