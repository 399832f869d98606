// common/version.h - which release this is.
#pragma once
#include <string_view>

namespace rota {

/// "0.1.0": the package's version, as configure knows it.
std::string_view version();

}  // namespace rota
