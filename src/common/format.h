// common/format.h - the one door to libfmt, until the compiler we support has std::format.
#pragma once
#include <fmt/format.h>

#include "common/shared_text.h"

namespace rota {
using fmt::format;
}  // namespace rota

template <>
struct fmt::formatter<rota::SharedText> : fmt::formatter<std::string_view> {
  auto format(const rota::SharedText& text, auto& context) const {
    return fmt::formatter<std::string_view>::format(text, context);
  }
};
