// testsuite/unit/commands/table_test.cpp - how tables look, on a terminal and in a pipe.
#include "commands/table.h"

#include <gtest/gtest.h>

namespace rota::commands {
namespace {

Table jobs() {
  Table table({{"JOBID", Align::right}, {"NAME", Align::left, true}, {"WHY", Align::left, true}});
  for (const char* cell : {"7", "train", "(Resources)", "1234567", "a", ""}) table.add(cell);
  return table;
}

std::string drawn(const Table& table, TableStyle style = {}) { return "\n" + table.render(style); }

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(drawn(jobs()), R"(
  JOBID NAME  WHY
      7 train (Resources)
1234567 a
)");
}

TEST(Table, TheHeaderCanBeLeftOut) {
  EXPECT_EQ(drawn(jobs(), {.header = false}), R"(
      7 train (Resources)
1234567 a
)");
}

TEST(Table, ParsableHasNoBlanks) {
  EXPECT_EQ(drawn(jobs(), {.separator = '|'}), R"(
JOBID|NAME|WHY
7|train|(Resources)
1234567|a|
)");
}

TEST(Table, NothingIsCutWithoutATerminal) {
  Table table({{"NAME", Align::left, true}});
  table.add(std::string(500, 'x'));
  EXPECT_EQ(table.render({}), "NAME\n" + std::string(500, 'x') + "\n");
}

TEST(Table, TheWidestColumnsGiveWayOnANarrowTerminal) {
  Table table({{"ID", Align::right}, {"NAME", Align::left, true}, {"NODES", Align::left, true}});
  for (const char* cell : {"1", "a-name-of-twenty-one-", "dgx[001-128,200-256]"}) table.add(cell);
  EXPECT_EQ(drawn(table, {.width_max = 30}), R"(
ID NAME          NODES
 1 a-name-of-tw+ dgx[001-128,+
)");
  EXPECT_EQ(drawn(table, {.width_max = 10}), R"(
ID NAME     NODES
 1 a-name-+ dgx[001+
)") << "columns keep eight places, wider than the terminal or not";
}

TEST(Table, ColourOnlyWhereItIsAskedFor) {
  Table table({{"STATE"}, {"N"}});
  table.add("RUNNING", Colour::good);
  table.add("1");
  EXPECT_EQ(table.render({.colour = true}), "\033[1mSTATE   N\033[0m\n\033[32mRUNNING\033[0m 1\n");
  EXPECT_EQ(table.render({}), "STATE   N\nRUNNING 1\n");
}

TEST(Table, WidthsCountCharactersNotBytes) {
  Table table({{"NAME"}, {"N"}});
  for (const char* cell : {"größe", "1", "模型", "2", "e\u0301t\u00e9", "3"}) table.add(cell);
  EXPECT_EQ(drawn(table), "\nNAME  N\ngröße 1\n模型  2\ne\u0301té   3\n");
}

TEST(Table, NoCellCanForgeARowOrSpeakToTheTerminal) {
  Table table({{"NAME"}, {"N"}});
  for (const char* cell : {"a\nb", "1", "\033[2Jx", "2", "\xff\xc2\x9b", "3"}) table.add(cell);
  EXPECT_EQ(drawn(table), R"(
NAME  N
a?b   1
?[2Jx 2
??    3
)");
}

TEST(Table, LaterRowsKeepTheWidthsOfEarlierOnes) {
  Table later({{"ID", Align::right}, {"NAME"}, {"N"}});
  later.widen_to({5, 6, 1});
  for (const char* cell : {"1", "x", "2"}) later.add(cell);
  EXPECT_EQ(later.render({.header = false}), "    1 x      2\n");
  EXPECT_EQ(later.row_count(), 1u);
}

}  // namespace
}  // namespace rota::commands
