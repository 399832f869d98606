// commands/hold_client.cpp - a child process on this side, a hold on the node's.
#include "commands/hold_client.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "commands/allocation.h"
#include "commands/exec_client.h"
#include "commands/exit_code.h"
#include "common/clock.h"
#include "common/format.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace asio = boost::asio;

namespace rota::commands {
namespace {

constexpr Duration pause_first = std::chrono::milliseconds(200);
constexpr Duration pause_max = std::chrono::seconds(5);
/// A session that breaks is made anew for so long; the node waits about as long for us.
constexpr Duration away_max = std::chrono::minutes(5);
/// For the node's word that the job is over.
constexpr Duration farewell_limit = std::chrono::seconds(10);

class Hold : public std::enable_shared_from_this<Hold> {
 public:
  Hold(const asio::any_io_executor& executor, net::ConnectOptions controller, JobId job)
      : executor_(executor),
        controller_(std::move(controller)),
        job_(job),
        signals_(executor, SIGCHLD),
        over_(executor) {
    // Of the terminal's keys the program hears by itself.
    for (const int signal : {SIGINT, SIGQUIT, SIGTSTP}) ::signal(signal, SIG_IGN);
    boost::system::error_code ignored;
    for (const int signal : {SIGTERM, SIGHUP}) signals_.add(signal, ignored);
  }

  Result<void> start(std::vector<std::string> words, const std::vector<std::string>& variables) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = ::fork();
    if (child_ < 0)
      return Error{Errc::io_failed, format("cannot start a process: {}", std::strerror(errno))};
    if (child_ > 0) return {};
    for (const int signal : {SIGINT, SIGQUIT, SIGTSTP, SIGPIPE}) ::signal(signal, SIG_DFL);
    for (const std::string& variable : variables) {
      const std::size_t equals = variable.find('=');
      ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    }
    ::execvp(arguments[0], arguments.data());
    const int error = errno;
    const std::string line =
        format("ralloc: cannot run '{}': {}\n", words.front(), std::strerror(error));
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, line.data(), line.size());
    ::_exit(error == ENOENT ? 127 : 126);
  }

  awaitable<Result<int>> run(const Program& program) {
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->heed_signals(); },
        net::log_end("signals"));
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->keep(); }, net::log_end("hold"));
    const net::Deadline never = net::deadline_after(Duration::max());
    while (!status_ && lost_.empty()) co_await over_.wait(never);
    if (!status_) {
      program.say(lost_);
      ::kill(child_, SIGHUP);
      ::kill(child_, SIGCONT);
      while (!status_) co_await over_.wait(never);
    } else if (connection_) {
      co_await finish();
    }
    co_return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  }
  /// The node has taken our word that the job is over.
  bool is_finished() const { return is_finished_; }

 private:
  awaitable<void> heed_signals() {
    for (;;) {
      auto [error, signal] = co_await signals_.async_wait(net::no_throw);
      if (error) co_return;
      if (signal != SIGCHLD) {
        ::kill(child_, signal);
        continue;
      }
      int status = 0;
      if (::waitpid(child_, &status, WNOHANG) != child_) continue;
      status_ = status;
      over_.notify();
    }
  }

  /// Holds it, again and again, until the node says that the job is over.
  awaitable<void> keep() {
    MonoTime held = mono_now();
    Duration wait = pause_first;
    while (!status_) {
      auto error = co_await hold_once(held);
      if (status_ || error.code == Errc::job_ended || error.code == Errc::no_such_job ||
          error.code == Errc::denied || mono_now() - held > away_max) {
        if (!status_) lost_ = error.detail;
        connection_.reset();
        over_.notify();
        co_return;
      }
      co_await pause(wait);
      wait = std::min(2 * wait, pause_max);
    }
  }

  /// Until it is over or the session breaks: why.
  awaitable<Error> hold_once(MonoTime& held) {
    auto where = co_await find_task(controller_, job_, 0);
    if (!where) co_return where.error();
    net::ConnectOptions node =
        node_options(controller_, where->node, where->address, where->node_uid);
    auto connection = co_await net::connect(executor_, std::move(node));
    if (!connection) co_return connection.error();
    proto::ExecStart start;
    start.ticket = where->ticket;
    start.kind = proto::ExecKind::hold;
    start.credit = 1;
    start.ends_run = true;
    connection_ = *connection;
    connection_->send(start, 1);
    for (;;) {
      auto frame = co_await connection_->read(std::chrono::minutes(1));
      if (!frame && frame.error().code == Errc::timed_out) continue;
      if (!frame) {
        connection_.reset();
        co_return frame.error();
      }
      held = mono_now();
      if (frame->type == proto::ExecStarted::number) continue;
      if (frame->type == proto::ExecData::number) {
        show_notice(*frame);
        continue;
      }
      is_finished_ = true;
      auto end = net::reply_from<proto::ExecEnd>(*frame);
      connection_.reset();
      if (!end) co_return end.error();
      co_return Error{Errc::job_ended, end->detail};
    }
  }

  static void show_notice(const proto::Frame& frame) {
    const auto data = proto::decode<proto::ExecData>(frame.body);
    if (!data || data->stream != proto::ExecStream::notice) return;
    const std::string line = format("\r\nrota: {}\r\n", data->data);
    [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, line.data(), line.size());
  }

  awaitable<void> finish() {
    proto::ExecControl control;
    control.finish = WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
    connection_->send(control, 1);
    const net::Deadline deadline = net::deadline_after(farewell_limit);
    while (connection_ && !is_finished_)
      if (!co_await over_.wait(deadline)) break;
  }

  asio::any_io_executor executor_;
  net::ConnectOptions controller_;
  JobId job_;
  asio::signal_set signals_;
  net::Wakeup over_;
  pid_t child_ = -1;
  std::optional<int> status_;
  std::string lost_;
  std::shared_ptr<net::Connection> connection_;
  bool is_finished_ = false;
};

}  // namespace

awaitable<Result<int>> hold_while(net::ConnectOptions controller, JobId job,
                                  std::vector<std::string> words,
                                  std::vector<std::string> variables, const Program& program) {
  const auto executor = co_await asio::this_coro::executor;
  const auto hold = std::make_shared<Hold>(executor, controller, job);
  ROTA_CO_CHECK(hold->start(std::move(words), variables));
  auto code = co_await hold->run(program);
  if (!hold->is_finished())
    if (const auto given = co_await give_back(controller, job); !given)
      program.say(given.error().message());
  co_return code;
}

}  // namespace rota::commands
