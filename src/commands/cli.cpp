// commands/cli.cpp - words to options, by a command's table.
#include "commands/cli.h"

#include "common/assert.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"

namespace rota::commands {
namespace {

const Option* find_long(const Command& command, std::string_view name) {
  for (const Option& option : command.options)
    if (option.name == name || (!option.alias.empty() && option.alias == name)) return &option;
  return nullptr;
}

const Option* find_letter(const Command& command, char letter) {
  for (const Option& option : command.options)
    if (option.letter == letter) return &option;
  return nullptr;
}

std::string unknown_long(const Command& command, std::string_view name) {
  std::string text = format("unknown option {}", quoted(format("--{}", name)));
  const auto nearest = nearest_option(command, name);
  if (!nearest.empty()) text += format("; did you mean '--{}'?", nearest);
  return text;
}

std::string lacks_argument(const Option& option, std::string_view written) {
  return format("option '{}' needs an argument: {}", written, option.argument);
}

/// Walks over words; each step takes one word and, where needed, the next as its argument.
class Words {
 public:
  Words(const Command& command, std::span<const std::string> words, Arguments& arguments)
      : command_(command), words_(words), arguments_(arguments) {}

  std::optional<BadWord> read() {
    while (at_ < words_.size()) {
      const std::size_t word = at_;
      if (auto wrong = step()) return BadWord{word, std::move(*wrong)};
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> step() {
    const std::string_view word = words_[at_++];
    if (word == "--") {
      arguments_.after_dashes = arguments_.operands.empty();
      take_rest();
      return std::nullopt;
    }
    if (word.starts_with("--")) return take_long(word.substr(2));
    if (word.size() > 1 && word.front() == '-') return take_letters(word.substr(1));
    arguments_.operands.emplace_back(word);
    if (!command_.options_anywhere) take_rest();
    return std::nullopt;
  }

  std::optional<std::string> take_long(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const Option* option = find_long(command_, name);
    if (option == nullptr) return unknown_long(command_, name);
    if (option->argument.empty()) {
      if (equals != std::string_view::npos) return format("option '--{}' takes no argument", name);
      add(*option, {}, at_ - 1);
      return std::nullopt;
    }
    if (equals != std::string_view::npos) {
      add(*option, text.substr(equals + 1), at_ - 1);
      return std::nullopt;
    }
    if (option->may_lack_argument()) {
      add(*option, {}, at_ - 1);
      return std::nullopt;
    }
    return take_next(*option, format("--{}", name));
  }

  std::optional<std::string> take_letters(std::string_view letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const Option* option = find_letter(command_, letters[i]);
      if (option == nullptr) return unknown_letter(letters, i);
      if (option->argument.empty()) {
        add(*option, {}, at_ - 1);
        continue;
      }
      if (i + 1 == letters.size() && !option->may_lack_argument())
        return take_next(*option, format("-{}", letters[i]));
      add(*option, letters.substr(i + 1), at_ - 1);
      break;
    }
    return std::nullopt;
  }

  std::string unknown_letter(std::string_view letters, std::size_t i) const {
    std::string text = format("unknown option {}", quoted(format("-{}", letters.substr(i, 1))));
    // "-gpus" for "--gpus": the whole word is near a long name.
    const std::string_view name = letters.substr(0, letters.find('='));
    if (find_long(command_, name) != nullptr) text += format("; did you mean '--{}'?", name);
    return text;
  }

  std::optional<std::string> take_next(const Option& option, std::string_view written) {
    if (at_ == words_.size()) return lacks_argument(option, written);
    const std::size_t word = at_ - 1;
    add(option, words_[at_++], word);
    return std::nullopt;
  }

  void take_rest() {
    for (; at_ < words_.size(); ++at_) arguments_.operands.push_back(words_[at_]);
  }

  void add(const Option& option, std::string_view value, std::size_t word) {
    arguments_.options.push_back(
        Given{.option = &option, .value = std::string(value), .origin = {}, .word = word});
  }

  const Command& command_;
  std::span<const std::string> words_;
  Arguments& arguments_;
  std::size_t at_ = 0;
};

/// Whether a variable turns its flag on; nothing when its value is neither yes nor no.
std::optional<bool> flag_from(std::string_view value) {
  for (const std::string_view yes : {"1", "yes", "true"})
    if (value == yes) return true;
  for (const std::string_view no : {"", "0", "no", "false"})
    if (value == no) return false;
  return std::nullopt;
}

}  // namespace

std::optional<BadWord> parse_words(const Command& command, std::span<const std::string> words,
                                   Arguments& arguments) {
  return Words(command, words, arguments).read();
}

std::string long_form(const Option& option) { return format("--{}", option.name); }

std::string variable_of(const Command& command, const Option& option) {
  std::string name(command.environment_prefix);
  for (const char c : option.name)
    name += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

Result<Arguments> parse_environment(const Command& command,
                                    std::span<const char* const> environment) {
  Arguments arguments;
  if (command.environment_prefix.empty()) return arguments;
  std::vector<std::string_view> ours;
  for (const std::string_view variable : environment)
    if (variable.starts_with(command.environment_prefix)) ours.push_back(variable);
  if (ours.empty()) return arguments;
  for (const Option& option : command.options) {
    if (option.scope < Scope::environment) continue;
    const std::string name = variable_of(command, option);
    for (const std::string_view variable : ours) {
      if (!variable.starts_with(name) || variable.size() == name.size() ||
          variable[name.size()] != '=')
        continue;
      Given given{&option, std::string(variable.substr(name.size() + 1)), name, 0};
      if (option.argument.empty()) {
        const auto on = flag_from(given.value);
        if (!on)
          return Error{Errc::usage, format("{}: {} is neither yes nor no; use 1, yes, true, 0, no "
                                           "or false",
                                           name, quoted(given.value))};
        if (!*on) continue;
        given.value.clear();
      } else if (const auto on = flag_from(given.value);
                 on && option.may_lack_argument() && given.value != "0" && given.value != "1") {
        if (!*on) continue;
        given.value.clear();
      }
      arguments.options.push_back(std::move(given));
    }
  }
  return arguments;
}

Error bad_value(const Given& given, std::string_view what) {
  const std::string_view separator = given.origin.empty() ? "" : ": ";
  return {Errc::usage, format("{}{}--{}: {}", given.origin, separator, given.option->name, what)};
}

std::string_view nearest_option(const Command& command, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Option& option : command.options)
    for (const std::string_view word : {option.name, option.alias})
      if (!word.empty()) known.push_back(word);
  // The beginning of a name is nearer than any typing error.
  for (const std::string_view word : known)
    if (name.size() >= 2 && word.starts_with(name)) return word;
  return nearest(name, known);
}

}  // namespace rota::commands
