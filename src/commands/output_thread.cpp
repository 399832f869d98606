// commands/output_thread.cpp - a queue, a thread, and news of its progress.
#include "commands/output_thread.h"

#include <poll.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <utility>

namespace rota::commands {

struct OutputThread::Shared {
  struct Piece {
    std::string text;
    std::size_t begin = 0;
  };
  Shared(boost::asio::any_io_executor on, int to, Written say)
      : executor(on), fd(to), written(std::move(say)) {}

  boost::asio::any_io_executor executor;
  int fd;
  Written written;  // called on the executor only
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Piece> pieces;
  bool is_left = false;  // nobody asks for it any more: guarded, like pieces
};

OutputThread::OutputThread(boost::asio::any_io_executor executor, int fd, Written written)
    : shared_(std::make_shared<Shared>(executor, fd, std::move(written))) {}

OutputThread::~OutputThread() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_left = true;
  shared_->changed.notify_one();
}

void OutputThread::write(std::string text, std::size_t begin) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->pieces.push_back({std::move(text), begin});
    shared_->changed.notify_one();
  }
  if (std::exchange(is_started_, true)) return;
  // Signals are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_] { run(shared); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void OutputThread::run(const std::shared_ptr<Shared>& shared) {
  int error = 0;
  for (;;) {
    Shared::Piece piece;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return shared->is_left || !shared->pieces.empty(); });
      if (shared->is_left) return;
      piece = std::move(shared->pieces.front());
      shared->pieces.pop_front();
    }
    const std::size_t size = piece.text.size() - piece.begin;
    while (error == 0 && piece.begin < piece.text.size()) {
      const ssize_t put =
          ::write(shared->fd, piece.text.data() + piece.begin, piece.text.size() - piece.begin);
      if (put >= 0) {
        piece.begin += static_cast<std::size_t>(put);
      } else if (errno == EAGAIN) {  // somebody else made it non-blocking
        pollfd wait{.fd = shared->fd, .events = POLLOUT, .revents = 0};
        ::poll(&wait, 1, -1);
      } else if (errno != EINTR) {
        error = errno;
      }
    }
    const std::lock_guard lock(shared->mutex);
    if (shared->is_left) return;
    boost::asio::post(shared->executor, [shared, size, error] {
      {
        const std::lock_guard again(shared->mutex);
        if (shared->is_left) return;
      }
      shared->written(size, error);
    });
  }
}

}  // namespace rota::commands
