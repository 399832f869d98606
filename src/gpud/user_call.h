// gpud/user_call.h - rgpud's end of a program that rstepd's nursery runs as a user.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>

#include "common/result.h"
#include "gpud/launch/file.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// Waits for the end over the socket that its order was sent with: what it printed when it ended
/// with 0. The error's detail has its own last line, or why there is none. `limit` is the
/// program's own; a nursery that does not tell is waited for a little longer.
boost::asio::awaitable<Result<std::string>> user_call_end(boost::asio::any_io_executor executor,
                                                          Fd socket, std::string program,
                                                          std::chrono::milliseconds limit);

}  // namespace rota::gpud
