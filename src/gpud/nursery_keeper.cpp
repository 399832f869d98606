// gpud/nursery_keeper.cpp - one socket, one queue, one timer for the time between two nurseries.
#include "gpud/nursery_keeper.h"

#include <sys/socket.h>

#include <cerrno>

#include "common/log.h"
#include "gpud/launch/spawn.h"

namespace rota::gpud {

using boost::system::error_code;

namespace {
constexpr std::chrono::milliseconds restart_pause{200};
constexpr std::chrono::milliseconds failure_pause{5000};
/// More than a node could ever start in the time between two nurseries.
constexpr std::size_t queue_max = 10'000;
}  // namespace

NurseryKeeper::NurseryKeeper(boost::asio::any_io_executor executor, std::string program,
                             std::string node)
    : executor_(executor),
      program_(std::move(program)),
      node_(std::move(node)),
      socket_(executor),
      restart_(executor) {}

Result<void> NurseryKeeper::start() {
  ROTA_TRY(Fd socket, nursery_spawn(program_, node_));
  socket_.assign(socket.release());
  watch();
  flush();
  return {};
}

void NurseryKeeper::send(NurseryOrder order, std::string body, Fd first, Fd second, Fd third) {
  if (queue_.size() >= queue_max) return;  // the closed descriptors tell
  queue_.push_back({order, std::move(body), std::move(first), std::move(second), std::move(third)});
  flush();
}

void NurseryKeeper::flush() {
  while (!queue_.empty() && socket_.is_open() && !waiting_to_write_) {
    const Order& next = queue_.front();
    const auto sent = nursery_send(socket_.native_handle(), next.order, next.body, next.first.get(),
                                   next.second.get(), next.third.get());
    if (sent) {
      queue_.pop_front();
    } else if (sent.error().code == Errc::busy) {
      waiting_to_write_ = true;
      socket_.async_wait(boost::asio::posix::descriptor_base::wait_write, [this](error_code error) {
        waiting_to_write_ = false;
        if (!error) flush();
      });
    } else if (sent.error().code == Errc::peer_lost) {
      return;  // watch() sees it as well, and the next nursery gets it
    } else {
      log::error("{}", sent.error().message());
      queue_.pop_front();
    }
  }
}

/// It never writes: that it can be read means that it has gone.
void NurseryKeeper::watch() {
  socket_.async_wait(boost::asio::posix::descriptor_base::wait_read, [this](error_code error) {
    if (error) return;
    // An earlier socket of the same number can wake us for nothing.
    char byte = 0;
    const ssize_t size = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return watch();
    died("ended", restart_pause);
  });
}

void NurseryKeeper::died(std::string_view why, std::chrono::milliseconds pause) {
  log::warning("rstepd's nursery {}; starting another", why);
  error_code ignored;
  socket_.close(ignored);
  restart_.expires_after(pause);
  restart_.async_wait([this](error_code error) {
    if (error) return;
    if (const auto started = start(); !started) {
      log::error("{}", started.error().message());
      queue_.clear();  // their lines close, so their runs are reported
      died("could not be started", failure_pause);
    }
  });
}

}  // namespace rota::gpud
