// commands/dialect.cpp - words put together for people and shells.
#include "commands/dialect.h"

namespace rota::commands {

std::string long_option(std::string_view name, std::string_view value) {
  std::string text = "--" + std::string(name);
  if (!value.empty()) text += "=" + std::string(value);
  return text;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-~[]";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
    return std::string(word);
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

}  // namespace rota::commands
