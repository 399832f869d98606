// testsuite/fuzz/fuzz_directives.cpp - scripts from anybody: the #ROTA lines are found and split.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "commands/directives.h"
#include "common/assert.h"

namespace {

/// A word as single quotes write it, so that reading it again must give the same.
std::string in_single_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void check_places(const rota::commands::Directives& directives) {
  std::uint32_t line_before = 0;
  for (const auto& line : directives.lines) {
    ROTA_ASSERT(line.line > line_before);
    line_before = line.line;
    std::uint32_t column_before = 6;  // behind "#ROTA" and a blank
    for (const auto& word : line.words) {
      ROTA_ASSERT(word.column > column_before);
      ROTA_ASSERT(word.text.find('\n') == std::string::npos);
      column_before = word.column;
    }
  }
  ROTA_ASSERT(directives.ignored_line == 0 || directives.ignored_line > line_before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view script(reinterpret_cast<const char*>(data), size);
  const auto directives = rota::commands::directives_parse(script, "script");
  if (!directives) {
    ROTA_ASSERT(directives.error().detail.starts_with("script:"));
    return 0;
  }
  check_places(*directives);
  std::string again;
  for (const auto& line : directives->lines) {
    again += "#ROTA";
    for (const auto& word : line.words) again += " " + in_single_quotes(word.text);
    again += "\n";
  }
  const auto second = rota::commands::directives_parse(again, "again");
  ROTA_ASSERT(second.has_value() && second->lines.size() == directives->lines.size());
  for (std::size_t i = 0; i < second->lines.size(); ++i) {
    const auto& words = directives->lines[i].words;
    ROTA_ASSERT(second->lines[i].words.size() == words.size());
    for (std::size_t k = 0; k < words.size(); ++k)
      ROTA_ASSERT(second->lines[i].words[k].text == words[k].text);
  }
  return 0;
}
