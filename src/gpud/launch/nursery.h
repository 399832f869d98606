// gpud/launch/nursery.h - rstepd's first life: a small process that forks an rstepd when one is
// wanted.
//
// An exec costs several times a fork of a small process, and rgpud is not small. So rgpud starts
// rstepd once; that process waits for orders and forks for each of them a child which runs the
// order and has nothing more to do with rgpud or the nursery: both may die. When its run is over,
// rgpud may give the same child the next one over the same line, which costs no fork at all; one
// rstepd still runs one job at a time, and ends when rgpud hangs up.
#pragma once
#include <optional>
#include <string>

#include "common/result.h"
#include "gpud/launch/file.h"

namespace rota::gpud {

/// The descriptor on which rgpud talks to the nursery.
inline constexpr int nursery_fd = 3;

enum class NurseryOrder : char {
  run = 'r',   // with the run's locked record, the line to rgpud, and its secrets, if it has any
  log = 'l',   // and an encoded LogOrder, with the socket to send the file to and what to hide
  user = 'u',  // and an encoded UserOrder, with the socket to send its end to
};

/// How many runs one rstepd serves before it makes way for a fresh one.
inline constexpr int step_runs_max = 1000;

/// What came over a socket: an order and the descriptors with it.
struct NurseryPacket {
  NurseryOrder order{};
  std::string body;
  Fd first;
  Fd second;
  Fd third;
};
/// The body of an order to run whose last descriptor is that of secrets.
inline constexpr const char* run_with_secrets = "s";

/// Sends one order with its descriptors, which stay the caller's. An idle rstepd takes the order to
/// run without the line, which it has. Never waits; busy: later; peer_lost: it has gone.
Result<void> nursery_send(int nursery, NurseryOrder order, const std::string& body, int first,
                          int second = -1, int third = -1);
/// Waits for the next order; none when the peer has gone.
std::optional<NurseryPacket> nursery_receive(int socket);

/// Serves orders until rgpud closes its end. `title` is argv's memory: `ps` shows there what a
/// child runs.
void nursery_run(char* title, std::size_t title_size);

}  // namespace rota::gpud
