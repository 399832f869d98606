// gpud/exec_session.cpp - the pumps between a process's files and a command's frames.
#include "gpud/exec_session.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>

#include "common/format.h"
#include "gpud/launch/packet.h"
#include "net/log_end.h"
#include "net/wakeup.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

using proto::ExecStream;

constexpr std::size_t block_bytes = 256 << 10;
constexpr std::size_t pipe_bytes = 1 << 20;
/// Frames that wait in this process; the rest waits in the pipe.
constexpr std::size_t backlog_max = 1 << 20;
/// Shown to a command that comes back.
constexpr std::size_t recent_max = 64 << 10;

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

ExecSession::ExecSession(const boost::asio::any_io_executor& executor, RunId run,
                         const proto::ExecStart& start, Fd socket)
    : executor_(executor),
      run_(run),
      kind_(start.kind),
      pty_(start.pty),
      keeps_(start.keeps && start.pty),
      changed_(executor, boost::asio::steady_timer::time_point::max()),
      lingering_(executor),
      control_(executor, socket.release()),
      in_(executor),
      out_(executor),
      errors_(executor) {}

void ExecSession::open(OnOver on_over) {
  on_over_ = std::move(on_over);
  boost::asio::co_spawn(
      executor_, [self = shared_from_this()] { return self->hear(); },
      net::log_end("exec session"));
}

// ---- the command ----

void ExecSession::attach(std::shared_ptr<net::Connection> connection, std::uint32_t call,
                         std::uint64_t credit) {
  if (connection_) {
    proto::ExecEnd replaced;
    replaced.exit_code = 1;
    replaced.detail = "another command has taken over this session";
    connection_->send(replaced, call_);
  }
  const bool is_back = opened_;
  connection_ = std::move(connection);
  call_ = call;
  credit_ = credit;
  lingering_.cancel();
  changed_.cancel();
  if (!is_back) return;
  send_started(input_window - (queue_.size() - queue_begin_));
  owed_ = 0;
  if (!recent_.empty()) send_data(ExecStream::output, recent_);
}

void ExecSession::detach() {
  connection_.reset();
  changed_.cancel();
  if (!keeps_ || !opened_ || outcome_) return hang_up();
  lingering_.expires_after(linger);
  lingering_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
    if (!cancelled && !self->connection_) self->hang_up();
  });
}

Result<void> ExecSession::take_input(std::string_view data) {
  if (input_ended_)
    return data.empty() ? Result<void>() : Error{Errc::malformed, "input after its end"};
  if (queue_.size() - queue_begin_ + owed_ + data.size() > input_window)
    return Error{Errc::malformed, "more input than there was credit for"};
  if (data.empty()) input_ended_ = true;
  if (opened_ && !in_.is_open()) {  // the process has closed it: whatever comes is lost
    grant(data.size());
    return {};
  }
  queue_.append(data);
  if (!opened_ || std::exchange(feeding_, true)) return {};
  boost::asio::co_spawn(
      executor_, [self = shared_from_this()] { return self->feed(); }, net::log_end("exec input"));
  return {};
}

void ExecSession::take_control(const proto::ExecControl& control) {
  if (control.credit > 0) {
    credit_ += control.credit;
    changed_.cancel();
  }
  if (control.rows > 0 && pty_ && out_.is_open()) {
    const winsize size{
        .ws_row = control.rows, .ws_col = control.columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(out_.native_handle(), TIOCSWINSZ, &size);
  }
  if (control.signal == 0 && !control.finish && !control.go) return;
  if (is_stream()) {  // the other end of a connection is nobody to signal, but can be left
    if (!outcome_) outcome_.emplace();
    return finish();
  }
  ExecWord word;
  word.signal = control.signal;
  word.finish = control.finish;
  word.go = control.go;
  word.environment = control.environment;
  say(word);
}

void ExecSession::send_started(std::uint64_t credit) {
  if (!connection_) return;
  proto::ExecStarted started;
  started.credit = credit;
  started.pty = pty_;
  started.step = step_;
  started.port = meeting_port;
  connection_->send(started, call_, proto::frame_more);
}

void ExecSession::send_data(ExecStream stream, std::string_view data) {
  if (!connection_) return;
  credit_ -= std::min<std::uint64_t>(credit_, data.size());
  proto::ExecDataView view;
  view.stream = stream;
  view.data = data;
  connection_->send(view, call_, proto::frame_more);
}

/// Credit is given back in large pieces: a key at a time would double the frames.
void ExecSession::grant(std::size_t bytes) {
  owed_ += bytes;
  if (owed_ < input_window / 4 || !connection_) return;
  proto::ExecControl control;
  control.credit = std::exchange(owed_, 0);
  connection_->send(control, call_, proto::frame_more);
}

void ExecSession::remember(std::string_view data) {
  if (!keeps_) return;
  if (data.size() > recent_max) data.remove_prefix(data.size() - recent_max);
  recent_.append(data);
  if (recent_.size() > 2 * recent_max) recent_.erase(0, recent_.size() - recent_max);
}

// ---- rstepd ----

void ExecSession::say(const ExecWord& word) {
  if (!control_.is_open()) return;
  const std::string bytes = proto::encode(word);
  if (bytes.size() <= exec_word_bytes_max &&
      packet_send(control_.native_handle(), bytes, {}, MSG_DONTWAIT))
    return;
  // A signal more or less is forgiven; a task that never hears that it may run would wait for ever.
  if (!word.go || outcome_) return;
  outcome_.emplace();
  outcome_->exit_code = 1;
  outcome_->detail = "the step's variables are too many for its rstepd";
  finish();
}

net::awaitable<void> ExecSession::hear() {
  std::string packet(exec_news_bytes_max, '\0');
  while (!outcome_) {
    auto [error] = co_await control_.async_wait(Descriptor::wait_read, net::no_throw);
    if (error || !control_.is_open()) break;
    std::vector<Fd> files;
    const ssize_t size =
        packet_receive(control_.native_handle(), packet.data(), packet.size(), files, MSG_DONTWAIT);
    if (size < 0 && is_for_later(errno)) continue;
    if (size <= 0) break;
    const auto news =
        proto::decode<ExecNews>(std::string_view(packet.data(), static_cast<std::size_t>(size)));
    if (news) heard(*news, std::move(files));
  }
  if (!outcome_ && !(is_stream() && opened_)) {
    outcome_.emplace();
    outcome_->exit_code = 1;
    outcome_->detail = opened_ ? "the job has ended"
                               : "the job has just ended, or its rstepd is of an earlier release";
  }
  boost::system::error_code ignored;
  // Those who wait for more output look once more, and then there is no more.
  if (out_.is_open() && outcome_) out_.cancel(ignored);
  if (errors_.is_open() && outcome_) errors_.cancel(ignored);
  end_if_over();
}

void ExecSession::heard(const ExecNews& news, std::vector<Fd> files) {
  switch (news.kind) {
    case ExecNews::Kind::opened:
      if (kind_ == proto::ExecKind::step) step_ = static_cast<std::uint32_t>(news.code);
      if (!opened_) open_files(std::move(files));
      return;
    case ExecNews::Kind::notice:
      if (!connection_) return;
      connection_->send(proto::ExecData{ExecStream::notice, news.text}, call_, proto::frame_more);
      return;
    case ExecNews::Kind::failed:
    case ExecNews::Kind::ended:
      // The child that made a connection has nothing more to do with it.
      if (is_stream() && opened_) return;
      outcome_.emplace();
      outcome_->exit_code = news.code;
      outcome_->exit_signal = news.signal;
      outcome_->detail = news.text;
      return;
  }
}

void ExecSession::open_files(std::vector<Fd> files) {
  opened_ = true;
  const auto take = [](Descriptor& to, Fd file) {
    ::fcntl(file.get(), F_SETPIPE_SZ,
            static_cast<int>(pipe_bytes));  // one that is no pipe does not mind
    boost::system::error_code ignored;
    to.assign(file.release(), ignored);
    if (to.is_open()) to.native_non_blocking(true, ignored);
  };
  const auto start = [this](ExecStream stream, Descriptor& source) {
    ++pumps_;
    boost::asio::co_spawn(
        executor_,
        [self = shared_from_this(), stream, &source] { return self->pump(stream, source); },
        net::log_end("exec output"));
  };
  if (files.size() == 1) {  // a terminal or a connection: one file for both ways
    Fd input(::fcntl(files[0].get(), F_DUPFD_CLOEXEC, 0));
    take(out_, std::move(files[0]));
    take(in_, std::move(input));
  } else if (files.size() >= 2) {
    const bool has_input = files.size() == 3;
    if (has_input) take(in_, std::move(files[0]));
    take(out_, std::move(files[has_input ? 1 : 0]));
    take(errors_, std::move(files[has_input ? 2 : 1]));
  }
  send_started(input_window);
  if (out_.is_open()) start(ExecStream::output, out_);
  if (errors_.is_open()) start(ExecStream::errors, errors_);
  if (!in_.is_open()) {
    grant(queue_.size());
    queue_.clear();
  } else if ((!queue_.empty() || input_ended_) && !std::exchange(feeding_, true)) {
    boost::asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->feed(); },
        net::log_end("exec input"));
  }
}

// ---- bytes ----

net::awaitable<void> ExecSession::pump(ExecStream stream, Descriptor& source) {
  const auto block = std::make_unique<char[]>(block_bytes);
  // What is in a pipe when the process ends is no more than the pipe holds: somebody that it left
  // behind may write for ever.
  std::size_t drained = 0;
  while (source.is_open() && drained < pipe_bytes) {
    if (connection_ && credit_ == 0) {
      co_await changed_.async_wait(net::no_throw);
      continue;
    }
    const std::size_t room =
        connection_ ? std::min<std::uint64_t>(block_bytes, credit_) : block_bytes;
    const ssize_t size = ::read(source.native_handle(), block.get(), room);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && is_for_later(errno)) {
      if (is_draining()) break;
      co_await source.async_wait(Descriptor::wait_read, net::no_throw);
      continue;
    }
    if (size <= 0) break;  // a terminal that nobody has open any more gives an error
    const std::string_view data(block.get(), static_cast<std::size_t>(size));
    if (is_draining()) drained += data.size();
    remember(data);
    send_data(stream, data);
    if (const auto connection = connection_) co_await connection->backlog_below(backlog_max);
  }
  if (source.is_open()) send_data(stream, {});
  --pumps_;
  end_if_over();
}

net::awaitable<void> ExecSession::feed() {
  while (in_.is_open()) {
    const std::string_view rest = std::string_view(queue_).substr(queue_begin_);
    if (rest.empty()) {
      queue_.clear();
      queue_begin_ = 0;
      if (input_ended_) close_input();
      break;
    }
    const ssize_t size = ::write(in_.native_handle(), rest.data(), rest.size());
    if (size < 0 && is_for_later(errno)) {
      co_await in_.async_wait(Descriptor::wait_write, net::no_throw);
      continue;
    }
    if (size < 0) {
      boost::system::error_code ignored;
      in_.close(ignored);
      grant(rest.size());
      queue_.clear();
      queue_begin_ = 0;
      break;
    }
    queue_begin_ += static_cast<std::size_t>(size);
    if (queue_begin_ > block_bytes) {
      queue_.erase(0, queue_begin_);
      queue_begin_ = 0;
    }
    grant(static_cast<std::size_t>(size));
  }
  feeding_ = false;
  end_if_over();
}

/// What "no more" means to each: a pipe is closed, a terminal gets its end-of-file character, a
/// connection is closed in one direction.
void ExecSession::close_input() {
  boost::system::error_code ignored;
  if (pty_) {
    termios modes{};
    const bool known = ::tcgetattr(in_.native_handle(), &modes) == 0;
    const char mark = known ? static_cast<char>(modes.c_cc[VEOF]) : '\4';
    if (::write(in_.native_handle(), &mark, 1) < 0) in_.close(ignored);
    return;
  }
  if (is_stream()) ::shutdown(in_.native_handle(), SHUT_WR);
  in_.close(ignored);
}

// ---- the end ----

void ExecSession::end_if_over() {
  if (is_over_ || pumps_ > 0) return;
  if (is_stream() && opened_ && !outcome_ && !in_.is_open()) outcome_.emplace();
  if (outcome_) finish();
}

/// The last word to the command.
void ExecSession::finish() {
  if (connection_) connection_->send(*outcome_, call_);
  connection_.reset();
  hang_up();
}

void ExecSession::hang_up() {
  boost::system::error_code ignored;
  for (Descriptor* each : {&control_, &in_, &out_, &errors_})
    if (each->is_open()) each->close(ignored);
  changed_.cancel();
  lingering_.cancel();
  over();
}

void ExecSession::over() {
  if (std::exchange(is_over_, true)) return;
  boost::asio::post(executor_, [self = shared_from_this()] {
    if (const auto on_over = std::move(self->on_over_)) on_over(self);
  });
}

}  // namespace rota::gpud
