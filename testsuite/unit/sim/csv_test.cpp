// testsuite/unit/sim/csv_test.cpp - the CSV reader: fields, places, and every way to be wrong.
#include "sim/csv.h"

#include <gtest/gtest.h>

#include <array>

namespace rota::sim {
namespace {

/// Records as "[a][b]", one after the other, or the error.
std::string records(std::string text, std::size_t fields_max = 8) {
  CsvReader reader("f.csv", std::move(text), fields_max);
  std::string all;
  for (;;) {
    const auto more = reader.next();
    if (!more) return more.error().detail;
    if (!*more) return all;
    if (!all.empty()) all += " ";
    for (std::size_t i = 0; i < reader.size(); ++i) all += "[" + std::string(reader.field(i)) + "]";
  }
}

/// The columns b and a of every row, or the error.
std::string rows(std::string text) {
  constexpr std::array<std::string_view, 2> columns{"beta", "alpha"};
  auto table = CsvTable::open("f.csv", std::move(text), columns);
  if (!table) return table.error().detail;
  std::string all;
  for (;;) {
    const auto more = table->next();
    if (!more) return more.error().detail;
    if (!*more) return all;
    const auto number = table->number(0, 1, 100);
    if (!number) return number.error().detail;
    all += std::to_string(*number) + std::string(table->field(1)) + ";";
  }
}

TEST(Csv, FieldsAndLines) {
  EXPECT_EQ(records(""), "");
  EXPECT_EQ(records("a,b\nc,d\n"), "[a][b] [c][d]");
  EXPECT_EQ(records("a,b\r\nc,d"), "[a][b] [c][d]") << "CRLF, and no end to the last line";
  EXPECT_EQ(records(",\n"), "[][]");
  EXPECT_EQ(records("a,"), "[a][]");
  EXPECT_EQ(records("\n"), "[]") << "an empty line is a record with one empty field";
  EXPECT_EQ(records(" a , b "), "[ a ][ b ]") << "spaces belong to the field";
}

TEST(Csv, Quotes) {
  EXPECT_EQ(records("\"a,b\",\"c\"\"d\"\n"), "[a,b][c\"d]");
  EXPECT_EQ(records("\"a\nb\",c\n"), "[a\nb][c]");
  EXPECT_EQ(records("\"\",\"\"\"\"\r\n"), "[][\"]");
  EXPECT_EQ(records("\"a\""), "[a]");
}

TEST(Csv, SaysWhereAQuoteIsWrong) {
  EXPECT_EQ(records("x\na,b\"c\n"),
            "f.csv:2:4: a quote inside a field: put all of the field in quotes, and write the "
            "quote twice");
  EXPECT_EQ(records("x\na,\"b\"c\n"),
            "f.csv:2:6: expected a comma or the end of the line behind the closing quote");
  EXPECT_EQ(records("a,\"b\nc"), "f.csv:1:3: a quote is opened here and never closed");
  EXPECT_EQ(records("\"a\nb\",c\"\n"),
            "f.csv:2:5: a quote inside a field: put all of the field in quotes, and write the "
            "quote twice")
      << "lines are counted inside quotes too";
  EXPECT_EQ(records("a\rb\n"), "f.csv:1:2: a carriage return without a line feed");
}

TEST(Csv, EverythingHasALimit) {
  EXPECT_EQ(records("a,b,c", 2), "f.csv:1:5: more than 2 fields in one record");
  const std::string most(CsvReader::field_size_max, 'a');
  EXPECT_EQ(records(most), "[" + most + "]");
  EXPECT_EQ(records("x," + most + "a"), "f.csv:1:3: a field of more than 65536 bytes");
}

TEST(CsvTable, ColumnsAreFoundByName) {
  EXPECT_EQ(rows("alpha,beta\nx,1\ny,22\n"), "1x;22y;");
  EXPECT_EQ(rows("beta,gamma,alpha\n1,?,x\n"), "1x;") << "others are passed over";
  EXPECT_EQ(rows("alpha,beta"), "");
}

TEST(CsvTable, SaysWhichColumnIsMissing) {
  EXPECT_EQ(rows(""), "f.csv:1:1: empty; expected a line with the columns");
  EXPECT_EQ(rows("alpha,betta\n"), "f.csv:1:1: no column 'beta'; there is 'betta'");
  EXPECT_EQ(rows("x,y\n"), "f.csv:1:1: no column 'beta'");
  EXPECT_EQ(rows("beta,alpha,beta\n"), "f.csv:1:12: column 'beta' is there twice");
}

TEST(CsvTable, SaysWhichRowIsWrong) {
  EXPECT_EQ(rows("alpha,beta\nx\n"), "f.csv:2:1: 1 fields; expected 2, as in the header");
  EXPECT_EQ(rows("alpha,beta\nx,1,2\n"), "f.csv:2:5: 3 fields; expected 2, as in the header");
  EXPECT_EQ(rows("alpha,beta\nx,1\n\n"), "f.csv:3:1: 1 fields; expected 2, as in the header");
  for (const std::string bad : {"", "0", "101", "-1", "+1", " 1", "1.5", "99999999999999999999"})
    EXPECT_EQ(rows("alpha,beta\nx," + bad + "\n"),
              "f.csv:2:3: beta: '" + bad + "' is not a number from 1 to 100");
}

}  // namespace
}  // namespace rota::sim
