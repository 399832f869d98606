// commands/dialect.h - what other systems' options are in our words, and what is lost on the way.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rota::commands {

/// One of our options: "--queue=x".
struct OwnWord {
  std::string text;
  std::size_t word = 0;  // where it comes from, among the words
};

/// What has no counterpart here.
struct Loss {
  std::string option;  // "--reservation=x"
  std::string why;     // "there are no reservations here"
  std::size_t word = 0;

  std::string text() const { return option + " is lost: " + why; }
};

struct Translation {
  std::vector<OwnWord> options;
  std::vector<Loss> lost;
  std::vector<std::string> operands;
  bool after_dashes = false;
};

/// "--name=value"; "--name" where the value is empty.
std::string long_option(std::string_view name, std::string_view value);

/// As a shell needs it: in single quotes where a character may mean something to it.
std::string shell_word(std::string_view word);

}  // namespace rota::commands
