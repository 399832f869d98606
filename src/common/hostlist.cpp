// common/hostlist.cpp - expands brackets into names and folds names into brackets.
#include "common/hostlist.h"

#include <algorithm>
#include <cstdint>

#include "common/escape.h"
#include "common/format.h"

namespace rota {
namespace {

constexpr std::size_t name_bytes_max = 253;  // the longest DNS name
constexpr std::size_t digits_max = 15;       // of a number in brackets

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
         c == '_';
}

Error at_column(std::size_t position, std::string_view what) {
  return {Errc::invalid_argument, format("host list column {}: {}", position + 1, what)};
}

std::uint64_t number_of(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char c : digits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return number;
}

/// Numbers from first to last, written with at least `width` digits. "7" is first = last.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;

  std::uint64_t count() const { return last - first + 1; }
};

/// A name is a row of pieces; a piece is text or, when `ranges` is not empty, a bracket group.
struct Piece {
  std::string_view text;
  std::vector<Range> ranges;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> read() {
    if (text_.empty()) return names_;
    while (true) {
      const std::size_t start = position_;
      ROTA_TRY(const auto pieces, read_name());
      ROTA_CHECK(add_names(pieces, start));
      if (position_ == text_.size()) return std::move(names_);
      ++position_;  // the comma
    }
  }

 private:
  bool at(char c) const { return position_ < text_.size() && text_[position_] == c; }

  Result<std::vector<Piece>> read_name() {
    const std::size_t start = position_;
    std::vector<Piece> pieces;
    while (position_ < text_.size() && text_[position_] != ',') {
      if (at('[')) {
        ROTA_TRY(Piece piece, read_brackets());
        pieces.push_back(std::move(piece));
      } else {
        ROTA_TRY(const Piece piece, read_text());
        pieces.push_back(piece);
      }
    }
    if (pieces.empty()) return at_column(start, "a name is missing");
    return pieces;
  }

  Result<Piece> read_text() {
    const std::size_t start = position_;
    while (position_ < text_.size() && is_name_character(text_[position_])) ++position_;
    if (position_ > start) return Piece{text_.substr(start, position_ - start), {}};
    if (at(']')) return at_column(position_, "']' closes no '['");
    return at_column(position_,
                     format("{} cannot stand in a name; letters, digits, '-', '.' and '_' can",
                            quoted(text_.substr(position_, 1))));
  }

  Result<Piece> read_brackets() {
    const std::size_t open = position_++;
    Piece piece;
    while (true) {
      ROTA_TRY(const Range range, read_range(open));
      piece.ranges.push_back(range);
      if (at(',')) {
        ++position_;
        continue;
      }
      if (at(']')) break;
      return unexpected(open);
    }
    ++position_;
    return piece;
  }

  Result<Range> read_range(std::size_t open) {
    const std::size_t start = position_;
    ROTA_TRY(const std::string_view first, read_digits(open));
    if (!at('-')) return Range{number_of(first), number_of(first), first.size()};
    ++position_;
    ROTA_TRY(const std::string_view last, read_digits(open));
    const Range range{number_of(first), number_of(last), first.size()};
    if (range.last < range.first)
      return at_column(start, format("{}-{} counts down; write {}-{}", first, last, last, first));
    // "1-05" could mean 1 to 5 or 01 to 05, and "001-10" 3 digits or 2.
    if (last.size() < first.size() || (last.size() > first.size() && last.front() == '0'))
      return at_column(
          start, format("{}-{} mixes widths; write {:0{}}-{} or {}-{}", first, last, range.first,
                        std::max(first.size(), last.size()),
                        format("{:0{}}", range.last, std::max(first.size(), last.size())),
                        range.first, range.last));
    return range;
  }

  Result<std::string_view> read_digits(std::size_t open) {
    const std::size_t start = position_;
    while (position_ < text_.size() && is_digit(text_[position_])) ++position_;
    if (position_ == start) return unexpected(open);
    if (position_ - start > digits_max)
      return at_column(start, format("a number has at most {} digits", digits_max));
    return text_.substr(start, position_ - start);
  }

  Error unexpected(std::size_t open) const {
    if (position_ == text_.size()) return at_column(open, "this '[' is never closed");
    if (at('[')) return at_column(position_, "brackets do not nest; write n[1-2][1-2]");
    return at_column(position_, format("numbers and ranges are needed between brackets, as in "
                                       "[1-4,7], not {}",
                                       quoted(text_.substr(position_, 1))));
  }

  Result<void> add_names(const std::vector<Piece>& pieces, std::size_t start) {
    // Counted before anything is built: "[1-99999][1-99999]" costs nothing.
    std::uint64_t count = 1;
    for (const Piece& piece : pieces) {
      if (piece.ranges.empty()) continue;
      std::uint64_t numbers = 0;
      for (const Range& range : piece.ranges)
        numbers = std::min<std::uint64_t>(numbers + range.count(), hostlist_size_max + 1);
      count = std::min<std::uint64_t>(count * numbers, hostlist_size_max + 1);
    }
    if (count > hostlist_size_max - names_.size())
      return at_column(start, format("more than {} names", hostlist_size_max));
    return multiply(pieces, start);
  }

  Result<void> multiply(const std::vector<Piece>& pieces, std::size_t start) {
    std::vector<std::string> names{""};
    for (const Piece& piece : pieces) {
      if (piece.ranges.empty()) {
        for (std::string& name : names) name += piece.text;
      } else {
        names = with_numbers(names, piece.ranges);
      }
      for (const std::string& name : names)
        if (name.size() > name_bytes_max)
          return at_column(start, format("a name has at most {} bytes", name_bytes_max));
    }
    std::move(names.begin(), names.end(), std::back_inserter(names_));
    return {};
  }

  static std::vector<std::string> with_numbers(const std::vector<std::string>& stems,
                                               const std::vector<Range>& ranges) {
    std::vector<std::string> names;
    for (const std::string& stem : stems)
      for (const Range& range : ranges)
        for (std::uint64_t number = range.first; number <= range.last; ++number)
          names.push_back(format("{}{:0{}}", stem, number, range.width));
    return names;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::vector<std::string> names_;
};

/// A name cut around one of its numbers: "n07.x" is "n", "07", ".x".
struct Cut {
  std::string_view prefix;
  std::string_view digits;
  std::string_view suffix;
};

/// Whether `a` and `b` differ in one number at most; then both are cut around it. Digits that are
/// too long for a bracket do not fold.
bool cut_at_difference(std::string_view a, std::string_view b, Cut& cut_a, Cut& cut_b) {
  std::size_t head = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  while (head > 0 && is_digit(a[head - 1])) --head;  // to the start of the number
  const auto cut = [head](std::string_view name) {
    std::size_t end = head;
    while (end < name.size() && is_digit(name[end])) ++end;
    return Cut{name.substr(0, head), name.substr(head, end - head), name.substr(end)};
  };
  cut_a = cut(a);
  cut_b = cut(b);
  const auto fits = [](std::string_view digits) {
    return !digits.empty() && digits.size() <= digits_max;
  };
  return fits(cut_a.digits) && fits(cut_b.digits) && cut_a.suffix == cut_b.suffix;
}

/// Whether "first-...-next" still is one range after `last`: the next number, written as wide.
bool follows(std::string_view first, std::string_view last, std::string_view next) {
  return format("{:0{}}", number_of(last) + 1, first.size()) == next;
}

std::string fold_numbers(const std::vector<std::string_view>& digits) {
  std::string text;
  for (std::size_t first = 0; first < digits.size();) {
    std::size_t last = first;
    while (last + 1 < digits.size() && follows(digits[first], digits[last], digits[last + 1]))
      ++last;
    if (!text.empty()) text += ',';
    text += digits[first];
    if (last > first) text += format("-{}", digits[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> hostlist_expand(std::string_view text) {
  return Reader(text).read();
}

std::string hostlist_fold(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    if (!text.empty()) text += ',';
    Cut head, next;
    // Only neighbours fold, so that expanding gives the names back in their order.
    if (i + 1 == names.size() || !cut_at_difference(names[i], names[i + 1], head, next)) {
      text += names[i++];
      continue;
    }
    std::vector<std::string_view> digits{head.digits, next.digits};
    std::size_t end = i + 2;
    for (Cut a, b; end < names.size() && cut_at_difference(names[i], names[end], a, b) &&
                   a.prefix == head.prefix && a.suffix == head.suffix;
         ++end)
      digits.push_back(b.digits);
    text += format("{}[{}]{}", head.prefix, fold_numbers(digits), head.suffix);
    i = end;
  }
  return text;
}

}  // namespace rota
