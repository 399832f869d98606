// commands/input_pump.cpp - read, wait for credit, send.
#include "commands/input_pump.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>

#include "net/log_end.h"
#include "net/wakeup.h"
#include "proto/messages.h"

namespace asio = boost::asio;

namespace rota::commands {
namespace {

constexpr std::size_t input_block = 64 << 10;
constexpr std::size_t backlog_max = 1 << 20;

}  // namespace

InputPump::InputPump(const asio::any_io_executor& executor,
                     std::shared_ptr<net::Connection> connection, std::uint32_t call, int fd)
    : executor_(executor),
      connection_(std::move(connection)),
      call_(call),
      fd_(fd),
      granted_(executor, asio::steady_timer::time_point::max()) {}

void InputPump::start() {
  asio::co_spawn(
      executor_, [self = shared_from_this()] { return self->run(); }, net::log_end("input"));
}

void InputPump::grant(std::uint64_t bytes) {
  credit_ += bytes;
  granted_.cancel();
}

net::awaitable<void> InputPump::run() {
  asio::posix::stream_descriptor input(executor_);
  boost::system::error_code error;
  input.assign(::dup(fd_), error);
  const auto block = std::make_unique<char[]>(input_block);
  while (connection_->is_open()) {
    if (credit_ == 0) {
      co_await granted_.async_wait(net::no_throw);
      continue;
    }
    // A plain file cannot be waited for, and need not be.
    if (!error) {
      auto [waited] =
          co_await input.async_wait(asio::posix::stream_descriptor::wait_read, net::no_throw);
      if (waited && waited != asio::error::operation_not_supported) co_return;
    }
    const ssize_t size = ::read(fd_, block.get(), std::min<std::uint64_t>(input_block, credit_));
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    proto::ExecDataView view;
    view.data = {block.get(), static_cast<std::size_t>(size > 0 ? size : 0)};
    connection_->send(view, call_);
    if (size <= 0) co_return;
    credit_ -= static_cast<std::uint64_t>(size);
    co_await connection_->backlog_below(backlog_max);
  }
}

}  // namespace rota::commands
