// common/version.cpp - the only reader of config.h, so that a new version recompiles one file.
#include "common/version.h"

// In angle brackets: in quotes it would be this folder's config.h, the reader of rota.yaml.
#include <config.h>

namespace rota {

std::string_view version() { return PACKAGE_VERSION; }

}  // namespace rota
