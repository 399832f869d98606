// common/escape.h - other people's words made safe to print: in the log and in error texts.
#pragma once
#include <string>
#include <string_view>

namespace rota {

/// `text` with its control characters written out (\n, \t, \x1b): one line, and no command to the
/// reader's terminal. C1 controls, which UTF-8 writes as two bytes, are controls too.
std::string escaped(std::string_view text);

/// The same in quotes and cut to a readable length: 'node[01' or 'aaaa...'.
std::string quoted(std::string_view text);
// A std::string argument would otherwise find std::quoted() of <iomanip>, which fits it better.
inline std::string quoted(const char* text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string&& text) { return quoted(std::string_view(text)); }

}  // namespace rota
