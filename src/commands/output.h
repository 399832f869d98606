// commands/output.h - standard output in large blocks, with errors that are not lost.
#pragma once
#include <string_view>

#include "common/result.h"

namespace rota::commands {

/// Where the reader went away, `Errc::io_failed` with this as its whole detail: nobody is left to
/// read a message.
inline constexpr std::string_view broken_pipe = "broken pipe";

/// Writes all of `text` to standard output. Says why when it cannot.
Result<void> print(std::string_view text);

/// That output could not be written, by this errno.
Error output_lost(int error);

/// Opens what the caller left closed of descriptors 0 to 2, so that a socket never becomes standard
/// output; writing to such a standard output then fails, as it should. Ignores SIGPIPE.
void prepare_standard_files();

}  // namespace rota::commands
