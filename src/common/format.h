// common/format.h - the one door to libfmt, until the compiler we support has std::format.
#pragma once
#include <fmt/format.h>

namespace rota {
using fmt::format;
}  // namespace rota
