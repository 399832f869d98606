// testsuite/unit/net/harness.h - a real listener, a client, and what was logged.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "common/format.h"
#include "common/log.h"
#include "munged.h"
#include "net/client.h"
#include "net/listener.h"

namespace rota::net {

using namespace std::chrono_literals;
namespace asio = boost::asio;

inline void rethrow(std::exception_ptr thrown) {
  if (thrown) std::rethrow_exception(thrown);
}

template <class T>
awaitable<void> keep_result(awaitable<T> work, std::optional<T>* result) {
  result->emplace(co_await std::move(work));
}
inline awaitable<void> keep_result(awaitable<void> work, std::optional<bool>* result) {
  co_await std::move(work);
  result->emplace(true);
}

/// Runs `io` on this thread until `work` is done, and no longer.
template <class T>
T run(asio::io_context& io, awaitable<T> work) {
  std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> result;
  asio::co_spawn(io, keep_result(std::move(work), &result), rethrow);
  io.restart();
  while (!result)
    if (io.run_one() == 0) throw std::logic_error("the work waits for something that cannot come");
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The log of this process, from here on, in a file.
class LogCapture {
 public:
  LogCapture() {
    directory_ = "/tmp/rota-log-XXXXXX";
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = directory_ + "/log";
    EXPECT_TRUE(log::open("test", path_, log::Level::debug));
    watch_ = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(watch_, path_.c_str(), IN_MODIFY);
    // Open from the start: one test takes all other descriptors away.
    file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~LogCapture() {
    EXPECT_TRUE(log::open("test", "", log::Level::info));
    close(watch_);
    close(file_);
    std::filesystem::remove_all(directory_);
  }

  std::string text() const {
    std::string all;
    char piece[4096];
    ssize_t got = 0;
    while ((got = pread(file_, piece, sizeof piece, static_cast<off_t>(all.size()))) > 0)
      all.append(piece, static_cast<std::size_t>(got));
    return all;
  }
  /// The first line with `part` in it, from "refused" or from `part` on; waits until it is there.
  std::string line_with(const std::string& part) {
    for (;;) {
      const std::string all = text();
      const std::size_t at = all.find(part);
      if (at != std::string::npos && all.find('\n', at) != std::string::npos) {
        const std::size_t start = all.rfind('\n', at) + 1;
        const std::size_t said = all.find("refused", start);
        return all.substr(std::min(said, at), all.find('\n', at) - std::min(said, at));
      }
      pollfd wait{watch_, POLLIN, 0};
      char events[4096];
      if (poll(&wait, 1, 20'000) != 1) return "never logged: " + part + "; the log:\n" + all;
      if (read(watch_, events, sizeof events) < 0) return "inotify failed";
    }
  }
  std::size_t count(const std::string& part) const {
    const std::string all = text();
    std::size_t found = 0;
    for (std::size_t at = 0; (at = all.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  }

 private:
  std::string directory_;
  std::string path_;
  int watch_ = -1;
  int file_ = -1;
};

/// A listener whose sessions answer: PingRequest with PingReply, LogChunk with the same LogChunk.
class Server {
 public:
  explicit Server(const Munged& munged, std::function<void(ListenerOptions&)> change = {},
                  Listener::OnSession on_session = {})
      : guard_(io_.get_executor()), on_session_(std::move(on_session)) {
    ListenerOptions options;
    options.address = "127.0.0.1:0";
    options.munge_socket = munged.socket();
    if (change) change(options);
    auto listener =
        Listener::start(io_.get_executor(), options,
                        [this](std::shared_ptr<Connection> session) { taken(std::move(session)); });
    if (!listener) throw std::runtime_error(listener.error().message());
    listener_ = *std::move(listener);
    port_ = listener_->port();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Server() {
    asio::post(io_, [this] {
      listener_.reset();
      io_.stop();
    });
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  std::string address() const { return format("127.0.0.1:{}", port_); }
  std::size_t sessions() {
    const std::lock_guard lock(mutex_);
    return sessions_;
  }
  /// How the next session to end ended; waits for it.
  std::string next_end() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 20s, [this] { return !ends_.empty(); })) return "none ended";
    std::string end = std::move(ends_.front());
    ends_.pop_front();
    return end;
  }
  /// Runs `work` on the server's thread and waits for it.
  void on_thread(std::function<void()> work) {
    std::promise<void> done;
    asio::post(io_, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  asio::io_context& io() { return io_; }

 private:
  void taken(std::shared_ptr<Connection> session) {
    {
      const std::lock_guard lock(mutex_);
      ++sessions_;
    }
    if (on_session_) return on_session_(std::move(session));
    asio::co_spawn(io_, serve(this, std::move(session)), rethrow);
  }
  static awaitable<void> serve(Server* server, std::shared_ptr<Connection> session) {
    for (;;) {
      auto frame = co_await session->read(60s);
      if (!frame) {
        const std::lock_guard lock(server->mutex_);
        server->ends_.push_back(frame.error().message());
        server->changed_.notify_all();
        co_return;
      }
      if (frame->type == proto::PingRequest::number) {
        auto ping = proto::decode<proto::PingRequest>(frame->body);
        if (!ping) {
          session->close("malformed ping");
          continue;
        }
        proto::PingReply reply;
        reply.token = ping->token;
        session->send(reply, frame->call);
      } else {
        session->send_frame(frame->type, frame->call, frame->flags, std::move(frame->body));
      }
    }
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  Listener::OnSession on_session_;
  std::unique_ptr<Listener> listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t sessions_ = 0;
  std::deque<std::string> ends_;
  std::thread thread_;
};

inline ConnectOptions options_for(const std::string& address, const Munged& munged) {
  ConnectOptions options;
  options.address = address;
  options.munge_socket = munged.socket();
  options.peer_uid = geteuid();
  return options;
}

/// A command: connects when it is made, asks when it is told to.
class Client {
 public:
  explicit Client(ConnectOptions options) {
    auto connected = run(io_, connect(io_.get_executor(), std::move(options)));
    if (connected)
      connection_ = *std::move(connected);
    else
      error_ = connected.error().message();
  }
  Client(const Server& server, const Munged& munged)
      : Client(options_for(server.address(), munged)) {}

  /// "" when connected.
  const std::string& error() const { return error_; }
  Connection& connection() { return *connection_; }
  std::shared_ptr<Connection> shared() { return connection_; }
  asio::io_context& io() { return io_; }
  void drop() { connection_.reset(); }

  Result<proto::Frame> read(Duration limit = 20s) { return run(io_, connection_->read(limit)); }
  /// "pong 7", or what went wrong.
  std::string ping(std::uint64_t token) {
    if (!connection_) return error_;
    proto::PingRequest request;
    request.token = token;
    auto reply = run(io_, call<proto::PingReply>(connection_, request, 20s));
    return reply ? format("pong {}", reply->token) : reply.error().message();
  }

 private:
  asio::io_context io_{1};
  std::shared_ptr<Connection> connection_;
  std::string error_;
};

}  // namespace rota::net
