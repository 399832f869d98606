// sim/csv.cpp - one field after the other, and where each began.
#include "sim/csv.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"

namespace rota::sim {

CsvReader::CsvReader(std::string file, std::string text, std::size_t fields_max)
    : file_(std::move(file)), text_(std::move(text)), fields_max_(fields_max) {}

Error CsvReader::error_at(Place place, std::string_view what) const {
  return {Errc::invalid_argument, format("{}:{}:{}: {}", file_, place.line, place.column, what)};
}

Error CsvReader::fault(std::size_t index, std::string_view what) const {
  return error_at(places_[index], what);
}

std::string_view CsvReader::field(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(values_).substr(begin, ends_[index] - begin);
}

Result<std::int64_t> CsvReader::number(std::size_t index, std::int64_t min,
                                       std::int64_t max) const {
  const auto value = number_parse(field(index), static_cast<std::uint64_t>(max));
  if (!value || static_cast<std::int64_t>(*value) < min)
    return fault(index, format("{} is not a number from {} to {}", quoted(field(index)), min, max));
  return static_cast<std::int64_t>(*value);
}

bool CsvReader::at_line_end() const {
  if (at_ == text_.size() || text_[at_] == '\n') return true;
  return text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
}

void CsvReader::skip_line_end() {
  if (at_ == text_.size()) return;
  at_ += text_[at_] == '\r' ? 2 : 1;
  ++line_;
  line_start_ = at_;
}

void CsvReader::read_plain() {
  const std::size_t begin = at_;
  while (!at_line_end() && std::string_view(",\"\r").find(text_[at_]) == std::string_view::npos)
    ++at_;
  values_.append(text_, begin, at_ - begin);
}

Result<void> CsvReader::read_quoted() {
  const Place opened = places_.back();
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] == '"') {
      if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') {
        ++at_;
        return {};
      }
      ++at_;  // a doubled one stands for itself
    }
    values_ += text_[at_];
    if (text_[at_] != '\n') continue;
    ++line_;
    line_start_ = at_ + 1;
  }
  return error_at(opened, "a quote is opened here and never closed");
}

/// What stands where only a comma or the end of the line may.
std::string_view CsvReader::wrong_here(bool behind_quotes) const {
  if (text_[at_] == '\r') return "a carriage return without a line feed";
  if (behind_quotes) return "expected a comma or the end of the line behind the closing quote";
  return "a quote inside a field: put all of the field in quotes, and write the quote twice";
}

Result<void> CsvReader::read_field() {
  const Place here{line_, at_ - line_start_ + 1};
  if (ends_.size() == fields_max_)
    return error_at(here, format("more than {} fields in one record", fields_max_));
  const std::size_t size_before = values_.size();
  places_.push_back(here);
  const bool is_quoted = at_ < text_.size() && text_[at_] == '"';
  if (is_quoted) {
    ROTA_CHECK(read_quoted());
  } else {
    read_plain();
  }
  if (!at_line_end() && text_[at_] != ',')
    return error_at({line_, at_ - line_start_ + 1}, wrong_here(is_quoted));
  if (values_.size() - size_before > field_size_max)
    return error_at(here, format("a field of more than {} bytes", field_size_max));
  ends_.push_back(values_.size());
  return {};
}

Result<bool> CsvReader::next() {
  values_.clear();
  ends_.clear();
  places_.clear();
  if (at_ == text_.size()) return false;
  for (;;) {
    ROTA_CHECK(read_field());
    if (at_line_end()) break;
    ++at_;  // the comma
  }
  skip_line_end();
  return true;
}

Result<CsvTable> CsvTable::open(std::string file, std::string text,
                                std::span<const std::string_view> columns, std::size_t required) {
  CsvTable table(CsvReader(file, std::move(text)));
  ROTA_TRY(const bool has_header, table.reader_.next());
  if (!has_header)
    return Error{Errc::invalid_argument,
                 format("{}:1:1: empty; expected a line with the columns", file)};
  table.width_ = table.reader_.size();
  for (std::size_t i = 0; i < columns.size(); ++i) ROTA_CHECK(table.find(columns[i], i < required));
  return table;
}

Result<void> CsvTable::find(std::string_view column, bool is_required) {
  std::vector<std::string_view> there;
  for (std::size_t i = 0; i < width_; ++i) there.push_back(reader_.field(i));
  const auto at = std::find(there.begin(), there.end(), column);
  if (at == there.end() && !is_required) {
    names_.emplace_back(column);
    positions_.push_back(missing);
    return {};
  }
  if (at == there.end()) {
    const auto near = nearest(column, there);
    return reader_.fault(0, format("no column {}{}", quoted(column),
                                   near.empty() ? "" : format("; there is {}", quoted(near))));
  }
  const auto twice = std::find(at + 1, there.end(), column);
  if (twice != there.end())
    return reader_.fault(static_cast<std::size_t>(twice - there.begin()),
                         format("column {} is there twice", quoted(column)));
  names_.emplace_back(column);
  positions_.push_back(static_cast<std::size_t>(at - there.begin()));
  return {};
}

Result<bool> CsvTable::next() {
  ROTA_TRY(const bool is_there, reader_.next());
  if (is_there && reader_.size() != width_)
    return reader_.fault(
        std::min(reader_.size() - 1, width_),
        format("{} fields; expected {}, as in the header", reader_.size(), width_));
  return is_there;
}

Error CsvTable::fault(std::size_t column, std::string_view what) const {
  return reader_.fault(positions_[column], format("{}: {}", names_[column], what));
}

Result<std::int64_t> CsvTable::number(std::size_t column, std::int64_t min,
                                      std::int64_t max) const {
  const auto value = reader_.number(positions_[column], min, max);
  if (!value)
    return fault(column,
                 format("{} is not a number from {} to {}", quoted(field(column)), min, max));
  return *value;
}

Result<std::int64_t> CsvTable::decimal(std::size_t column, unsigned digits, std::int64_t min,
                                       std::int64_t max) const {
  constexpr unsigned digits_max = 9;
  constexpr std::int64_t finest = 1'000'000'000;
  const std::string_view text = field(column);
  const auto value = decimal_parse(text, digits_max, max * finest);
  if (!value || *value < min * finest)
    return fault(column,
                 format("{} is not a decimal number from {} to {}", quoted(text), min, max));
  std::int64_t unit = finest;
  for (unsigned i = 0; i < digits; ++i) unit /= 10;
  return (*value + unit - 1) / unit;
}

}  // namespace rota::sim
