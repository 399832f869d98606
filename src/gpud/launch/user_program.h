// gpud/launch/user_program.h - a program of ours that runs as a user: in rstepd, which may fork.
#pragma once
#include "gpud/launch/order.h"

namespace rota::gpud {

/// Becomes the owner, runs the program in a session of its own and sends its UserEnd. Returns when
/// the program has ended; rgpud's hanging up and the limit end it.
void run_user_program(const UserOrder& order, int socket);

}  // namespace rota::gpud
