// testsuite/unit/commands/directives_test.cpp - #ROTA lines: text in, words with their places out.
#include "commands/directives.h"

#include <gtest/gtest.h>

namespace rota::commands {
namespace {

/// "2: -N@7 4@10; ..." with line and columns, each word in <>, or the error.
std::string read(std::string_view script) {
  const auto directives = directives_parse(script, "job.sh");
  if (!directives) return directives.error().detail;
  std::string text;
  for (const DirectiveLine& line : directives->lines) {
    text += std::to_string(line.line) + ":";
    for (const DirectiveWord& word : line.words)
      text += " <" + word.text + ">@" + std::to_string(word.column);
    text += "; ";
  }
  if (directives->ignored_line != 0)
    text += "line " + std::to_string(directives->ignored_line) + " ignored; ";
  if (!text.empty()) text.resize(text.size() - 2);
  return text;
}

TEST(Directives, AreReadUntilTheFirstCommand) {
  EXPECT_EQ(read("#!/bin/sh\n"
                 "#ROTA -N 2\n"
                 "# a comment\n"
                 "\n"
                 "   \t\n"
                 "  # an indented comment\n"
                 "#ROTA --gpus=4\n"
                 "module load cuda\n"
                 "#ROTA -N 9\n"),
            "2: <-N>@7 <2>@10; 7: <--gpus=4>@7; line 9 ignored");
}

TEST(Directives, TheLastLineNeedsNoNewline) {
  EXPECT_EQ(read("#!/bin/sh\n#ROTA -N 2"), "2: <-N>@7 <2>@10");
}

TEST(Directives, OnlyTheExactKeywordAtTheStartOfALine) {
  EXPECT_EQ(read("#ROTAX -N 1\n # ROTA -N 1\n##ROTA -N 1\n #ROTA -N 1\n#rota -N 1\n#SBATCH -N 1\n"),
            "");
  EXPECT_EQ(read("#ROTA\n#ROTA\t-N\t1\n"), "1:; 2: <-N>@7 <1>@10");
}

TEST(Directives, QuotesAndBackslashesAreTakenAwayAsAShellDoes) {
  EXPECT_EQ(read(R"(#ROTA -J 'two words' -o "a \"b\" \\ \$x \y".out)"),
            R"(1: <-J>@7 <two words>@10 <-o>@22 <a "b" \ $x \y.out>@25)");
  EXPECT_EQ(read(R"(#ROTA a\ b c\'d '' "" e''f 'x\y')"),
            R"(1: <a b>@7 <c'd>@12 <>@17 <>@20 <ef>@23 <x\y>@28)");
  EXPECT_EQ(read("#ROTA $HOME `id` *\n"), "1: <$HOME>@7 <`id`>@13 <*>@18") << "nothing is expanded";
}

TEST(Directives, AHashBeginsACommentAtTheStartOfAWordOnly) {
  EXPECT_EQ(read("#ROTA -N 2 # two nodes 'unclosed\n"), "1: <-N>@7 <2>@10");
  EXPECT_EQ(read("#ROTA -J a#b \\#c '#d'\n"), "1: <-J>@7 <a#b>@10 <#c>@14 <#d>@18");
}

TEST(Directives, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(read("#!/bin/sh\n#ROTA -J 'open\n"),
            "job.sh:2:10: this ' has no second one on its line");
  EXPECT_EQ(read("#ROTA a\"b\n"), "job.sh:1:8: this \" has no second one on its line");
  EXPECT_EQ(
      read("#ROTA -N \\\n#ROTA 2\n"),
      "job.sh:1:10: a backslash at the end of the line; a #ROTA line cannot be continued, write "
      "a second one");
}

TEST(Directives, AScriptWithoutAnyIsFine) {
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("#!/bin/sh\necho #ROTA -N 2\n"), "");
  EXPECT_EQ(read("\n\n\n"), "");
}

}  // namespace
}  // namespace rota::commands
