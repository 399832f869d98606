// commands/table.h - aligned columns for people, the same columns for pipes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::commands {

enum class Align : std::uint8_t { left, right };
enum class Colour : std::uint8_t { none, good, waiting, bad, dim };

struct Column {
  std::string_view header;
  Align align = Align::left;
  bool may_shrink = false;  // may be cut to make the table fit a terminal
};

struct TableStyle {
  std::size_t width_max = 0;  // of the terminal; 0: no limit, nothing is cut
  bool colour = false;
  bool header = true;
  char separator = 0;  // 0: aligned with blanks; else only this between cells (--parsable)
};

/// How to print on file descriptor `fd`: the width and colour of a terminal, neither for anything
/// else. NO_COLOR and TERM=dumb turn colour off.
TableStyle style_for(int fd);

/// `text` without control characters and broken UTF-8, each shown as '?': a job's name can neither
/// start a new row nor speak to the terminal.
std::string printable(std::string_view text);
/// Columns that printable text takes.
std::size_t columns_of(std::string_view text);
/// The longest beginning of printable text that takes at most `columns`.
std::string_view cut_to(std::string_view text, std::size_t columns);

/// Cells are added row by row, in the order of the columns.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  void add(std::string_view cell, Colour colour = Colour::none);
  std::size_t row_count() const { return cells_.size() / columns_.size(); }

  /// Widths that later rows of the same table should not fall below.
  std::vector<std::size_t> widths() const { return widths_; }
  void widen_to(const std::vector<std::size_t>& widths);

  /// Every row ends with a newline; cells that do not fit end in '+'.
  std::string render(const TableStyle& style) const;

 private:
  struct Cell {
    std::size_t start = 0;  // in text_
    std::uint32_t size = 0;
    std::uint32_t columns = 0;
    Colour colour = Colour::none;
  };
  std::vector<std::size_t> fitted_widths(const TableStyle& style) const;
  void append_cell(std::string& out, std::string_view text, std::size_t taken, Colour colour,
                   std::size_t column, const std::vector<std::size_t>& widths,
                   const TableStyle& style) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::string text_;  // of all cells: one buffer, not one string each
  std::vector<Cell> cells_;
};

}  // namespace rota::commands
