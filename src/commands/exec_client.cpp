// commands/exec_client.cpp - standard files and signals to frames, and back.
#include "commands/exec_client.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <csignal>
#include <memory>

#include "commands/exit_code.h"
#include "commands/heeded.h"
#include "commands/input_pump.h"
#include "commands/output.h"
#include "commands/output_thread.h"
#include "commands/terminal.h"
#include "common/escape.h"
#include "common/format.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace asio = boost::asio;

namespace rota::commands {
namespace {

using proto::ExecStream;

constexpr std::uint32_t call = 1;
/// Output that may be on its way to us and wait here.
constexpr std::uint64_t output_window = 4 << 20;
constexpr Duration silence_limit = std::chrono::minutes(1);
/// So many SIGINTs that nobody heeds end this command.
constexpr int interrupts_max = 3;

class ExecClient : public std::enable_shared_from_this<ExecClient> {
 public:
  ExecClient(const asio::any_io_executor& executor, std::shared_ptr<net::Connection> connection,
             const ExecOptions& options, const Program& program)
      : executor_(executor),
        connection_(std::move(connection)),
        options_(options),
        program_(program),
        changed_(executor, asio::steady_timer::time_point::max()),
        output_(executor, options.output_fd,
                [this](std::size_t bytes, int error) { written(bytes, error); }),
        errors_(executor, STDERR_FILENO,
                [this](std::size_t bytes, int error) { written(bytes, error); }) {}

  awaitable<Result<int>> run(proto::Ticket ticket) {
    send_start(std::move(ticket));
    spawn(&ExecClient::heed_signals);
    for (;;) {
      auto frame = co_await connection_->read(silence_limit);
      if (output_error_ != 0) co_return output_lost(output_error_);
      if (given_up_ != 0) co_return 128 + given_up_;
      if (!frame && frame.error().code == Errc::timed_out) continue;
      if (!frame) {
        co_await flush();
        co_return lost(frame.error());
      }
      if (frame->type == proto::ErrorReply::number || frame->type == proto::ExecEnd::number)
        co_return co_await end(*std::move(frame));
      ROTA_CO_CHECK(take(*std::move(frame)));
    }
  }

 private:
  using Part = awaitable<void> (ExecClient::*)();
  void spawn(Part part) {
    asio::co_spawn(
        executor_, [self = shared_from_this(), part] { return (self.get()->*part)(); },
        net::log_end("exec"));
  }

  void send_start(proto::Ticket ticket) {
    const WindowSize size = window_size();
    proto::ExecStart start;
    start.ticket = std::move(ticket);
    start.kind = options_.attach ? proto::ExecKind::attach : proto::ExecKind::command;
    start.task = options_.task;
    start.words = options_.words;
    start.environment = options_.environment;
    start.directory = options_.directory;
    start.pty = options_.pty;
    start.input = options_.input;
    start.credit = output_window;
    start.ends_run = options_.ends_run;
    start.keeps = options_.keeps;
    if (options_.pty) {
      for (std::string& variable : terminal_environment()) {
        const std::string name = variable.substr(0, variable.find('=') + 1);
        std::erase_if(start.environment,
                      [&name](const std::string& other) { return other.starts_with(name); });
        start.environment.push_back(std::move(variable));
      }
      start.rows = size.rows > 0 ? size.rows : 24;
      start.columns = size.columns > 0 ? size.columns : 80;
    }
    connection_->send(start, call);
  }

  Result<void> take(proto::Frame frame) {
    if (frame.type == proto::ExecStarted::number) return started(frame);
    if (frame.type == proto::ExecControl::number) {
      ROTA_TRY(const auto control, proto::decode<proto::ExecControl>(frame.body));
      if (pump_) pump_->grant(control.credit);
      return {};
    }
    if (frame.type != proto::ExecData::number)
      return Error{Errc::protocol_mismatch, format("an answer of type {}", frame.type)};
    ROTA_TRY(const auto data, proto::decode<proto::ExecDataView>(frame.body));
    if (data.data.empty()) return {};
    if (data.stream == ExecStream::notice) {
      notice(data.data);
      return {};
    }
    unwritten_ += data.data.size();
    const auto begin = static_cast<std::size_t>(data.data.data() - frame.body.data());
    OutputThread& to = data.stream == ExecStream::errors ? errors_ : output_;
    to.write(std::move(frame.body), begin);
    return {};
  }

  Result<void> started(const proto::Frame& frame) {
    ROTA_TRY(const auto started, proto::decode<proto::ExecStarted>(frame.body));
    if (options_.attach) heed(SIGWINCH);  // the window may be another one
    if (options_.input) {
      if (started.pty) input_.raw();
      pump_ = std::make_shared<InputPump>(executor_, connection_, call, options_.input_fd);
      pump_->grant(started.credit);
      pump_->start();
    }
    return {};
  }

  /// In raw mode a line has to go back to its beginning by itself.
  void notice(std::string_view text) {
    const std::string line = input_.is_raw() ? format("\r\nrota: {}\r\n", escaped(text))
                                             : format("rota: {}\n", escaped(text));
    unwritten_ += line.size();
    errors_.write(line, 0);
  }

  awaitable<void> heed_signals() {
    asio::signal_set signals(executor_);
    heed_unless_ignored(
        signals, {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT});
    for (;;) {
      auto [error, signal] = co_await signals.async_wait(net::no_throw);
      if (error) co_return;
      heed(signal);
    }
  }

  void heed(int signal) {
    proto::ExecControl control;
    switch (signal) {
      case SIGTSTP: {  // not from a key: in raw mode that is a byte
        const bool was_raw = input_.is_raw();
        input_.cooked();
        ::raise(SIGSTOP);
        if (was_raw) input_.raw();
        [[fallthrough]];
      }
      case SIGCONT:
      case SIGWINCH: {
        const WindowSize size = window_size();
        if (!options_.pty || size.rows == 0) return;
        control.rows = size.rows;
        control.columns = size.columns;
        break;
      }
      case SIGHUP:
        return give_up(signal);
      case SIGINT:
      case SIGQUIT:
      case SIGTERM:
        if (++interrupts_ >= interrupts_max) return give_up(signal);
        [[fallthrough]];
      default:
        control.signal = signal;
    }
    connection_->send(control, call);
  }

  void give_up(int signal) {
    given_up_ = signal;
    connection_->close("given up");
    changed_.cancel();
  }

  void written(std::size_t bytes, int error) {
    unwritten_ -= bytes;
    if (error != 0 && output_error_ == 0) {
      output_error_ = error;
      connection_->close("output lost");
    }
    owed_ += bytes;
    changed_.cancel();
    if (owed_ < output_window / 4) return;
    proto::ExecControl control;
    control.credit = std::exchange(owed_, 0);
    connection_->send(control, call);
  }

  Error lost(const Error& error) const {
    return {error.code == Errc::malformed ? Errc::peer_lost : error.code,
            format("the session with the node ended: {}", error.detail)};
  }

  awaitable<void> flush() {
    while (unwritten_ > 0 && output_error_ == 0 && given_up_ == 0)
      co_await changed_.async_wait(net::no_throw);
  }

  /// The last answer; what came before it is written first.
  awaitable<Result<int>> end(proto::Frame frame) {
    co_await flush();
    input_.cooked();
    if (output_error_ != 0) co_return output_lost(output_error_);
    if (given_up_ != 0) co_return 128 + given_up_;
    ROTA_CO_TRY(const auto end, net::reply_from<proto::ExecEnd>(frame));
    if (!end.detail.empty()) program_.say(end.detail);
    co_return end.exit_signal > 0 ? 128 + end.exit_signal : end.exit_code & 0xff;
  }

  asio::any_io_executor executor_;
  std::shared_ptr<net::Connection> connection_;
  const ExecOptions& options_;
  const Program& program_;
  asio::steady_timer changed_;  // never expires: cancelled to wake those who watch
  OutputThread output_;
  OutputThread errors_;
  RawInput input_;
  std::shared_ptr<InputPump> pump_;  // once it has started, if it has an input
  std::uint64_t unwritten_ = 0;
  std::uint64_t owed_ = 0;
  int output_error_ = 0;
  int interrupts_ = 0;
  int given_up_ = 0;  // the signal
};

}  // namespace

awaitable<Result<proto::TicketReply>> find_task(net::ConnectOptions controller, JobId job,
                                                std::uint32_t task) {
  proto::TicketRequest request;
  request.job = job;
  request.task = task;
  request.purpose = "exec";
  auto frame = co_await exchange(controller, proto::TicketRequest::number, proto::encode(request));
  if (!frame) co_return frame.error();
  co_return net::reply_from<proto::TicketReply>(*frame);
}

awaitable<Result<int>> run_exec(net::ConnectOptions controller, ExecOptions options,
                                const Program& program) {
  auto executor = co_await asio::this_coro::executor;
  ROTA_CO_TRY(const auto where, co_await find_task(controller, options.job, options.task));
  net::ConnectOptions node = node_options(controller, where.node, where.address, where.node_uid);
  ROTA_CO_TRY(auto connection, co_await net::connect(executor, std::move(node)));
  program.note(format("the node is {} at {}", where.node, where.address));
  const auto client =
      std::make_shared<ExecClient>(executor, std::move(connection), options, program);
  co_return co_await client->run(where.ticket);
}

}  // namespace rota::commands
