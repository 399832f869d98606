// testsuite/unit/commands/project_options_test.cpp - rproject's words become settings.
#include "commands/project_options.h"

#include <gtest/gtest.h>

#include <sstream>

#include "common/format.h"
#include "model/org_keys.h"

namespace rota::commands {
namespace {

/// "create team-a quota=4 users=ada,bob", or the error.
std::string read(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  Arguments arguments;
  if (const auto bad = parse_words(project_command(), words, arguments)) return bad->what;
  const auto options = project_options_from(arguments);
  if (!options) return options.error().detail;
  constexpr std::array<const char*, 5> verbs{"create", "update", "delete", "list", "show"};
  std::string text = verbs[static_cast<std::size_t>(options->command)];
  if (!options->name.empty()) text += " " + options->name;
  for (const OrgSetting& setting : options->settings)
    text += format(" {}={}", setting.key, words_text(setting.words));
  return text + (options->json ? " json" : "");
}

TEST(ProjectOptions, AreKeysOfTheFile) {
  EXPECT_EQ(read("create team-a --quota 4 --users ada,bob --over-quota=off"),
            "create team-a quota=4 users=ada,bob over_quota=off");
  EXPECT_EQ(read("update team-a --cpu-quota none --user-weights ada=2,bob=0.5 --half-life 0"),
            "update team-a cpu_quota=none user_weights=ada=2,bob=0.5 half_life=0");
  EXPECT_EQ(read("--json list"), "list json");
  EXPECT_EQ(read("show x"), "show x");
  EXPECT_EQ(read("delete x"), "delete x");
}

TEST(ProjectOptions, MistakesAreTold) {
  EXPECT_EQ(read(""), "what to do? list, show NAME, create NAME, update NAME, delete NAME");
  EXPECT_EQ(read("delte x"), "unknown command 'delte'; did you mean 'delete'?");
  EXPECT_EQ(read("create"), "create needs the name of one project");
  EXPECT_EQ(read("list x"), "list takes no names");
  EXPECT_EQ(read("show x --quota 1"), "show changes no settings; create and update do");
  EXPECT_EQ(read("update x"), "nothing to change: give an option such as --quota");
  EXPECT_EQ(read("create x --quota=-1"),
            "--quota: '-1' is no number; write digits, such as 4 or 1.5");
  EXPECT_EQ(read("create x --qouta 1"), "unknown option '--qouta'; did you mean '--quota'?");
  EXPECT_EQ(read("create x --users a,,b"),
            "--users: an entry of the list is empty; 'none' empties the list");
  EXPECT_EQ(read("create x --user-weights ada"),
            "--user-weights: 'ada' is not a user and a number, such as ada=2");
}

TEST(ProjectOptions, EveryKeyHasOne) {
  for (const auto& key : org_keys<Project>()) {
    std::string name(key.name);
    for (char& c : name) c = c == '_' ? '-' : c;
    EXPECT_EQ(nearest_option(project_command(), name), name);
  }
}

}  // namespace
}  // namespace rota::commands
