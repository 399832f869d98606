// testsuite/unit/commands/cli_test.cpp - words and variables to options; help and usage from the
// table.
#include "commands/cli.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

namespace rota::commands {
namespace {

constexpr auto table = std::to_array<Option>({
    {10, 'n', "number", "N", "how many", Scope::script},
    {11, 'o', "output", "FILE", "where to", Scope::script, "out"},
    {12, 'w', "wait", "", "wait for the end"},
    {13, 0, "colour-scheme", "NAME",
     "a help text that is long enough to be carried over to a second line of the help, and to a "
     "third",
     Scope::command_line},
    verbose_option,
    help_option,
});
constexpr std::array<std::string_view, 2> synopses{"[OPTION...] FILE...", "[OPTION...] -- WORD"};
constexpr Command anywhere{.name = "rtest",
                           .synopses = synopses,
                           .summary = "Does nothing.",
                           .options = table,
                           .environment_prefix = "ROTA_TEST_"};
constexpr Command leading{.name = "rtest",
                          .synopses = synopses,
                          .summary = "Does nothing.",
                          .options = table,
                          .environment_prefix = {},
                          .options_anywhere = false};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word == "''" ? "" : word);
  return words;
}

std::string text_of(const Arguments& arguments) {
  std::string text;
  for (const Given& given : arguments.options) {
    text += std::string(given.option->name);
    if (!given.option->argument.empty()) text += "=" + given.value;
    text += " ";
  }
  text += arguments.after_dashes ? "-- " : "| ";
  for (const std::string& operand : arguments.operands) text += operand + " ";
  text.pop_back();
  return text;
}

/// The options in order, then "|" and the operands ("--" where dashes led them in), or the error.
std::string parsed(const Command& command, const std::string& line) {
  const auto words = words_of(line);
  Arguments arguments;
  if (const auto bad = parse_words(command, words, arguments))
    return "word " + std::to_string(bad->word) + ": " + bad->what;
  return text_of(arguments);
}

TEST(CliParse, TakesEverySpellingOfAnOption) {
  EXPECT_EQ(parsed(anywhere, "-n 3"), "number=3 |");
  EXPECT_EQ(parsed(anywhere, "-n3"), "number=3 |");
  EXPECT_EQ(parsed(anywhere, "--number 3"), "number=3 |");
  EXPECT_EQ(parsed(anywhere, "--number=3"), "number=3 |");
  EXPECT_EQ(parsed(anywhere, "--number="), "number= |");
  EXPECT_EQ(parsed(anywhere, "--number ''"), "number= |");
  EXPECT_EQ(parsed(anywhere, "--out=x"), "output=x |");
  EXPECT_EQ(parsed(anywhere, "--output=a=b"), "output=a=b |");
}

TEST(CliParse, LettersWithoutArgumentStandTogether) {
  EXPECT_EQ(parsed(anywhere, "-wvn3"), "wait verbose number=3 |");
  EXPECT_EQ(parsed(anywhere, "-vv -wn 3"), "verbose verbose wait number=3 |");
}

TEST(CliParse, AnArgumentMayLookLikeAnOption) {
  EXPECT_EQ(parsed(anywhere, "-o -w"), "output=-w |");
  EXPECT_EQ(parsed(anywhere, "--number -5"), "number=-5 |");
}

TEST(CliParse, OptionsMayFollowOperandsWhereTheCommandSaysSo) {
  EXPECT_EQ(parsed(anywhere, "a -w b - -n 1"), "wait number=1 | a b -");
  EXPECT_EQ(parsed(leading, "-w a -n 1"), "wait | a -n 1");
  EXPECT_EQ(parsed(leading, "a -- b"), "| a -- b");
}

TEST(CliParse, DashesEndTheOptions) {
  EXPECT_EQ(parsed(leading, "-w -- -n 1"), "wait -- -n 1");
  EXPECT_EQ(parsed(anywhere, "a -- -w"), "| a -w");
  EXPECT_EQ(parsed(leading, "-w --"), "wait --");
}

TEST(CliParse, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(parsed(anywhere, "a -x"), "word 1: unknown option '-x'");
  EXPECT_EQ(parsed(anywhere, "-wx"), "word 0: unknown option '-x'");
  EXPECT_EQ(parsed(anywhere, "--wait=1"), "word 0: option '--wait' takes no argument");
  EXPECT_EQ(parsed(anywhere, "-w -n"), "word 1: option '-n' needs an argument: N");
  EXPECT_EQ(parsed(anywhere, "--output"), "word 0: option '--output' needs an argument: FILE");
}

TEST(CliParse, SuggestsTheNearestOption) {
  EXPECT_EQ(parsed(anywhere, "--numbr=3"),
            "word 0: unknown option '--numbr'; did you mean '--number'?");
  EXPECT_EQ(parsed(anywhere, "--ouptut=3"),
            "word 0: unknown option '--ouptut'; did you mean '--output'?");
  EXPECT_EQ(parsed(anywhere, "--colour"),
            "word 0: unknown option '--colour'; did you mean '--colour-scheme'?");
  EXPECT_EQ(parsed(anywhere, "--xyzzy"), "word 0: unknown option '--xyzzy'");
  EXPECT_EQ(parsed(anywhere, "-wait"), "word 0: unknown option '-a'; did you mean '--wait'?");
}

/// The options that the variables stand for, each with where it came from, or the error.
std::string from_environment(const Command& command, std::vector<const char*> variables) {
  const auto arguments = parse_environment(command, variables);
  if (!arguments) return arguments.error().detail;
  std::string text;
  for (const Given& given : arguments->options)
    text += std::string(given.option->name) + "=" + given.value + " from " + given.origin + "; ";
  return text;
}

TEST(CliEnvironment, VariablesStandForOptions) {
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_OUTPUT=a=b", "HOME=/", "ROTA_TEST_NUMBER=3"}),
            "number=3 from ROTA_TEST_NUMBER; output=a=b from ROTA_TEST_OUTPUT; ");
  EXPECT_EQ(from_environment(leading, {"ROTA_TEST_NUMBER=3"}), "") << "it has no prefix";
}

TEST(CliEnvironment, OtherVariablesAreNotOurs) {
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_NUMBERS=3", "ROTA_TEST_DIR=x", "ROTA_TEST_",
                                        "ROTA_TEST_COLOUR_SCHEME=x", "ROTA_TEST_HELP=1"}),
            "");
}

TEST(CliEnvironment, FlagsAreYesOrNo) {
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_WAIT=1"}), "wait= from ROTA_TEST_WAIT; ");
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_WAIT=yes"}), "wait= from ROTA_TEST_WAIT; ");
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_WAIT=0"}), "");
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_WAIT="}), "");
  EXPECT_EQ(from_environment(anywhere, {"ROTA_TEST_WAIT=maybe"}),
            "ROTA_TEST_WAIT: 'maybe' is neither yes nor no; use 1, yes, true, 0, no or false");
}

TEST(CliHelp, ComesFromTheTable) {
  EXPECT_EQ(help_text(anywhere), R"(Usage: rtest [OPTION...] FILE...
  or:  rtest [OPTION...] -- WORD
Does nothing.

  -n, --number=N              how many
  -o, --output, --out=FILE    where to
  -w, --wait                  wait for the end
      --colour-scheme=NAME    a help text that is long enough to be carried
                              over to a second line of the help, and to a third
  -v, --verbose               say on standard error what is done; may be
                              repeated
  -h, --help                  show this help and end

See rtest(1) for the whole story.
)");
}

TEST(CliHelp, UsageKeepsAnOptionAndItsArgumentTogether) {
  EXPECT_EQ(usage_text(anywhere),
            "Usage: rtest [-wvh] [-n N] [-o FILE] [--colour-scheme=NAME] FILE...\n"
            "  or:  rtest [OPTION...] -- WORD\n");
}

TEST(CliHelp, ErrorsNameThePlaceAndTheOption) {
  const Given on_line{.option = &table[0], .value = "x", .origin = "", .word = 0};
  const Given in_script{.option = &table[0], .value = "x", .origin = "job.sh:3:8", .word = 0};
  EXPECT_EQ(bad_value(on_line, "no number").detail, "--number: no number");
  EXPECT_EQ(bad_value(in_script, "no number").detail, "job.sh:3:8: --number: no number");
  EXPECT_EQ(bad_value(on_line, "no number").code, Errc::usage);
}

TEST(CliParse, AnArgumentThatMayBeLeftOutStandsBehindAnEqualsSign) {
  static constexpr auto options = std::to_array<Option>({
      {10, 0, "level", "[N]", "how much", Scope::script},
      verbose_option,
  });
  static constexpr std::array<std::string_view, 1> forms{"[OPTION...] FILE..."};
  static constexpr Command command{.name = "rtest",
                                   .synopses = forms,
                                   .summary = "Does nothing.",
                                   .options = options,
                                   .environment_prefix = "ROTA_TEST_"};
  EXPECT_EQ(parsed(command, "--level 5"), "level= | 5");
  EXPECT_EQ(parsed(command, "--level=5 x"), "level=5 | x");
  EXPECT_NE(help_text(command).find("      --level[=N]"), std::string::npos) << help_text(command);
  EXPECT_NE(usage_text(command).find("[--level[=N]]"), std::string::npos) << usage_text(command);
}

}  // namespace
}  // namespace rota::commands
