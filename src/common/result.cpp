// common/result.cpp - texts of the error codes.
#include "common/result.h"

#include "common/assert.h"

namespace rota {

std::string_view text_of(Errc code) {
  switch (code) {
#define ROTA_ERROR(name, number, text) \
  case Errc::name:                     \
    return text;
#include "common/error.def"
#undef ROTA_ERROR
  }
  return "unknown error";
}

std::string Error::message() const {
  std::string text(text_of(code));
  if (!detail.empty()) text += ": " + detail;
  return text;
}

void throw_exception_from_error(const Error& error, const boost::source_location& location) {
  assertion_failed(error.message().c_str(), location.file_name(),
                   static_cast<int>(location.line()));
}

}  // namespace rota
