// gpud/launch/fence.h - until when the node's runs may go on without word from the controller.
//
// rgpud moves the deadline with every heartbeat that is answered; every rstepd reads it for itself,
// so the promise holds also when rgpud is dead. The file is SPOOL/fence; no file, no deadline.
#pragma once
#include <optional>
#include <string>

#include "common/time.h"

namespace rota::gpud {

/// By CLOCK_BOOTTIME, which all processes of one boot share. None: the cluster does not fence.
void write_fence(const std::string& spool_dir, std::optional<MonoTime> deadline);
/// The deadline of this boot; none without a file. A file that cannot be understood is one of
/// another release: no deadline.
std::optional<MonoTime> read_fence(const std::string& spool_dir);

}  // namespace rota::gpud
