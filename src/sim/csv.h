// sim/csv.h - comma-separated values as RFC 4180 has them, read strictly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace rota::sim {

/// Goes through a text record by record. Lines end in LF or CRLF, the last one may lack its end. A
/// field in quotes may hold commas, line ends and doubled quotes; a quote anywhere else is an
/// error. Every error names the file, the line and the column where the field starts.
class CsvReader {
 public:
  static constexpr std::size_t field_size_max = 64 << 10;

  /// `file` only names the text. At most `fields_max` fields a record.
  CsvReader(std::string file, std::string text, std::size_t fields_max = 256);

  /// Reads the next record; false when there is none.
  Result<bool> next();

  std::size_t size() const { return ends_.size(); }
  /// True until the next record is read.
  std::string_view field(std::size_t index) const;
  /// Decimal digits, without sign or space.
  Result<std::int64_t> number(std::size_t index, std::int64_t min, std::int64_t max) const;
  /// "tasks.csv:12:7: " and what was wrong with this field and would be right.
  Error fault(std::size_t index, std::string_view what) const;

 private:
  struct Place {
    std::size_t line = 1, column = 1;
  };
  Result<void> read_field();
  Result<void> read_quoted();
  void read_plain();
  std::string_view wrong_here(bool behind_quotes) const;
  bool at_line_end() const;
  void skip_line_end();
  Error error_at(Place place, std::string_view what) const;

  std::string file_, text_;
  std::size_t fields_max_;
  std::size_t at_ = 0;          // in the text
  std::size_t line_ = 1;        // of at_
  std::size_t line_start_ = 0;  // in the text
  std::string values_;          // the fields of this record, one after the other
  std::vector<std::size_t> ends_;
  std::vector<Place> places_;
};

/// A text whose first record names the columns. They may stand in any order; those that nobody asks
/// for are passed over.
class CsvTable {
 public:
  /// Finds the columns, each of which must be there exactly once; those from `required` on may be
  /// missing, and are then empty in every row.
  static Result<CsvTable> open(std::string file, std::string text,
                               std::span<const std::string_view> columns,
                               std::size_t required = std::string_view::npos);

  /// Reads the next row, which has as many fields as the header; false when there is none.
  Result<bool> next();

  /// `column`: by its position in `columns`.
  std::string_view field(std::size_t column) const {
    return positions_[column] == missing ? "" : reader_.field(positions_[column]);
  }
  Result<std::int64_t> number(std::size_t column, std::int64_t min, std::int64_t max) const;
  /// A decimal number in units of 10^-digits, rounded up where the field has more digits (at most
  /// nine); bounds are in whole numbers.
  Result<std::int64_t> decimal(std::size_t column, unsigned digits, std::int64_t min,
                               std::int64_t max) const;
  Error fault(std::size_t column, std::string_view what) const;

 private:
  static constexpr std::size_t missing = std::string_view::npos;

  explicit CsvTable(CsvReader reader) : reader_(std::move(reader)) {}
  Result<void> find(std::string_view column, bool is_required);

  CsvReader reader_;
  std::vector<std::string> names_;
  std::vector<std::size_t> positions_;
  std::size_t width_ = 0;
};

}  // namespace rota::sim
