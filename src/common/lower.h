// common/lower.h - names that count as one whatever the case of their letters.
#pragma once
#include <string>
#include <string_view>

namespace rota {

/// ASCII letters become small ones; all else, and any locale, is left alone.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace rota
