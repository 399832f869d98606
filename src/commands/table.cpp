// commands/table.cpp - lays out tables.
#include "commands/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "commands/utf8.h"
#include "common/assert.h"

namespace rota::commands {
namespace {

constexpr std::size_t gap = 1;
constexpr std::size_t width_min = 8;  // no column is cut below this, nor below its header

bool is_ascii_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string_view colour_code(Colour colour) {
  switch (colour) {
    case Colour::good:
      return "\033[32m";
    case Colour::waiting:
      return "\033[33m";
    case Colour::bad:
      return "\033[31m";
    case Colour::dim:
      return "\033[2m";
    case Colour::none:
      break;
  }
  return "";
}

}  // namespace

TableStyle style_for(int fd) {
  TableStyle style;
  if (isatty(fd) == 0) return style;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) style.width_max = size.ws_col;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused = no_colour != nullptr && no_colour[0] != '\0';
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  style.colour = !refused && !dumb;
  return style;
}

std::string printable(std::string_view text) {
  if (is_ascii_text(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = utf8_front(text);
    const bool control = c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0);
    if (c.valid && !control)
      out += text.substr(0, c.size);
    else
      out += '?';
    text.remove_prefix(c.size);
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  if (is_ascii_text(text)) return text.size();
  std::size_t columns = 0;
  while (!text.empty()) {
    const Utf8Char c = utf8_front(text);
    columns += column_count(c.code);
    text.remove_prefix(c.size);
  }
  return columns;
}

std::string_view cut_to(std::string_view text, std::size_t columns) {
  if (is_ascii_text(text)) return text.substr(0, columns);
  std::size_t end = 0;
  while (end < text.size()) {
    const Utf8Char c = utf8_front(text.substr(end));
    const std::size_t width = column_count(c.code);
    if (width > columns) break;
    columns -= width;
    end += c.size;
  }
  return text.substr(0, end);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(columns_of(column.header));
}

void Table::add(std::string_view cell, Colour colour) {
  const std::size_t start = text_.size();
  std::size_t columns = cell.size();
  if (is_ascii_text(cell)) {
    text_ += cell;
  } else {
    text_ += printable(cell);
    columns = columns_of(std::string_view(text_).substr(start));
  }
  std::size_t& width = widths_[cells_.size() % columns_.size()];
  width = std::max(width, columns);
  cells_.push_back({start, static_cast<std::uint32_t>(text_.size() - start),
                    static_cast<std::uint32_t>(columns), colour});
}

void Table::widen_to(const std::vector<std::size_t>& widths) {
  ROTA_ASSERT(widths.size() == widths_.size());
  for (std::size_t i = 0; i < widths_.size(); ++i) widths_[i] = std::max(widths_[i], widths[i]);
}

std::vector<std::size_t> Table::fitted_widths(const TableStyle& style) const {
  std::vector<std::size_t> widths = widths_;
  if (style.width_max == 0 || style.separator != 0) return widths;
  std::size_t total = gap * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  while (total > style.width_max) {
    // The widest gives way first, so that what is short stays whole.
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (columns_[i].may_shrink &&
          widths[i] > std::max(width_min, columns_of(columns_[i].header)) &&
          (widest == widths.size() || widths[i] >= widths[widest]))
        widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

void Table::append_cell(std::string& out, std::string_view text, std::size_t taken, Colour colour,
                        std::size_t column, const std::vector<std::size_t>& widths,
                        const TableStyle& style) const {
  const bool last = column + 1 == columns_.size();
  std::size_t padding = 0;
  bool cut = false;
  if (style.separator == 0) {
    cut = taken > widths[column];
    if (cut) {
      text = cut_to(text, widths[column] - 1);
      taken = columns_of(text) + 1;
    }
    padding = widths[column] - taken;
  }
  if (columns_[column].align == Align::right) out.append(padding, ' ');
  const std::string_view code = style.colour ? colour_code(colour) : "";
  out += code;
  out += text;
  if (cut) out += '+';
  if (!code.empty()) out += "\033[0m";
  if (last) {
    // Empty cells at the end leave no blanks behind.
    if (style.separator == 0) out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    return;
  }
  if (columns_[column].align == Align::left) out.append(padding, ' ');
  out += style.separator != 0 ? style.separator : ' ';
}

std::string Table::render(const TableStyle& style) const {
  const std::vector<std::size_t> widths = fitted_widths(style);
  std::size_t line = columns_.size();
  for (const std::size_t width : widths) line += width;
  std::string out;
  out.reserve((row_count() + 1) * std::min<std::size_t>(line, 256));
  if (style.header) {
    if (style.colour) out += "\033[1m";
    for (std::size_t i = 0; i < columns_.size(); ++i)
      append_cell(out, columns_[i].header, columns_of(columns_[i].header), Colour::none, i, widths,
                  style);
    if (style.colour) out.insert(out.size() - 1, "\033[0m");
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    append_cell(out, std::string_view(text_).substr(cell.start, cell.size), cell.columns,
                cell.colour, i % columns_.size(), widths, style);
  }
  return out;
}

}  // namespace rota::commands
