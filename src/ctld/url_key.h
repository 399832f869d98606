// ctld/url_key.h - the key that tokens for browsers are sealed with: it outlives the process.
#pragma once
#include <string>

#include "common/result.h"

namespace rota::ctld {

/// The key in this file, which is made, for its owner only, when it is not there. A file of another
/// length, or one that others may read, is an error: removing it makes a new key, and ends all
/// tokens.
Result<std::string> load_url_key(const std::string& path);

}  // namespace rota::ctld
