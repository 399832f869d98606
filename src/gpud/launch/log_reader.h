// gpud/launch/log_reader.h - a job's output file, read as its owner, in a process of its own.
//
// The file may be on a file system that hangs, and it is opened with the owner's rights: both are
// better kept out of rgpud, which only passes the packets on.
#pragma once
#include <cstdint>

#include "gpud/launch/order.h"

namespace rota::gpud {

/// Becomes the owner, opens the file and sends it as LogPackets; with `follow` also what is added,
/// until rgpud says that the run has ended. Returns when all is sent or rgpud has closed the
/// socket.
///
/// `masks`: a file with the MaskList of what comes out as `***`; -1: nothing does. Then `offset`
/// counts what was sent, not what the file has.
void read_log(const LogOrder& order, int socket, int masks = -1);

/// Where the last `lines` lines of the open file begin. A last line without its newline is a line.
std::uint64_t tail_offset(int file, std::int64_t lines);

}  // namespace rota::gpud
