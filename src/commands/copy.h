// commands/copy.h - rota cp: files and directories into a job and out of it.
#pragma once
#include <cstdint>
#include <string>

#include "commands/program.h"
#include "commands/session.h"
#include "model/ids.h"

namespace rota::commands {

/// One side of a copy: "12:data/x" is in job 12, seen from its working directory; "x" is here.
struct CopyPlace {
  JobId job;  // none: here
  std::string path;
};
Result<CopyPlace> copy_place_from(const std::string& text);

/// Copies as cp -r does: into a directory that is there, or else under the new name. tar does the
/// work on both sides; no name ever reaches a shell. The exit code is 0 or that of the tar that
/// failed, which has said why.
Result<int> copy_files(const Program& program, const net::ConnectOptions& controller,
                       const CopyPlace& from, const CopyPlace& to, std::uint32_t task);

}  // namespace rota::commands
