// commands/directives.cpp - finds such lines of a script and splits them into words.
#include "commands/directives.h"

#include "common/format.h"

namespace rota::commands {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

bool is_directive(std::string_view line, std::string_view keyword) {
  return line.starts_with(keyword) &&
         (line.size() == keyword.size() || is_blank(line[keyword.size()]));
}

/// What a line is to a shell that reads the script: nothing to run, or a command.
bool is_command(std::string_view line) {
  for (const char c : line)
    if (!is_blank(c)) return c != '#';
  return false;
}

/// One line after the keyword, split into words.
class LineReader {
 public:
  LineReader(std::string_view line, std::uint32_t number, std::string_view name,
             std::string_view keyword)
      : line_(line), number_(number), name_(name), keyword_(keyword), at_(keyword.size()) {}

  Result<std::vector<DirectiveWord>> read() {
    std::vector<DirectiveWord> words;
    for (;;) {
      while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
      if (at_ == line_.size() || line_[at_] == '#') return words;
      DirectiveWord word{{}, column()};
      ROTA_CHECK(read_word(word.text));
      words.push_back(std::move(word));
    }
  }

 private:
  Result<void> read_word(std::string& text) {
    while (at_ < line_.size() && !is_blank(line_[at_])) {
      const char c = line_[at_];
      if (c == '\'') {
        ROTA_CHECK(read_single(text));
      } else if (c == '"') {
        ROTA_CHECK(read_double(text));
      } else if (c == '\\') {
        if (at_ + 1 == line_.size())
          return error(at_, format("a backslash at the end of the line; a {} line cannot be "
                                   "continued, write a second one",
                                   keyword_));
        text += line_[at_ + 1];
        at_ += 2;
      } else {
        text += c;
        ++at_;
      }
    }
    return {};
  }

  Result<void> read_single(std::string& text) {
    const std::size_t end = line_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return error(at_, "this ' has no second one on its line");
    text += line_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return {};
  }

  Result<void> read_double(std::string& text) {
    const std::size_t start = at_++;
    while (at_ < line_.size() && line_[at_] != '"') {
      // Inside double quotes a shell takes the backslash away only before these.
      const bool escape = line_[at_] == '\\' && at_ + 1 < line_.size() &&
                          std::string_view("\\\"$`").find(line_[at_ + 1]) != std::string_view::npos;
      if (escape) ++at_;
      text += line_[at_++];
    }
    if (at_ == line_.size()) return error(start, "this \" has no second one on its line");
    ++at_;
    return {};
  }

  std::uint32_t column() const { return static_cast<std::uint32_t>(at_ + 1); }

  Error error(std::size_t at, std::string_view what) const {
    return {Errc::usage, format("{}:{}:{}: {}", name_, number_, at + 1, what)};
  }

  std::string_view line_;
  std::uint32_t number_;
  std::string_view name_;
  std::string_view keyword_;
  std::size_t at_;
};

}  // namespace

Result<Directives> directives_parse(std::string_view script, std::string_view name,
                                    std::string_view keyword) {
  Directives directives;
  bool commands_began = false;
  for (std::uint32_t number = 1; !script.empty(); ++number) {
    const std::size_t end = script.find('\n');
    const std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    commands_began = commands_began || is_command(line);
    if (!is_directive(line, keyword)) continue;
    if (commands_began) {
      directives.ignored_line = number;
      break;
    }
    ROTA_TRY(auto words, LineReader(line, number, name, keyword).read());
    directives.lines.push_back({number, std::move(words)});
  }
  return directives;
}

}  // namespace rota::commands
