// gpud/exec_session.h - one process that somebody put into a job: its files on one side, the frames
// of a command on the other.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "gpud/launch/exec_order.h"
#include "gpud/launch/file.h"
#include "model/ids.h"
#include "net/connection.h"

namespace rota::gpud {

/// Bytes both ways, no faster than either side takes them: what the command has not given credit
/// for stays in the pipe, and the process that writes it waits. It lives until the process has
/// ended and all was sent, or the command has gone.
class ExecSession : public std::enable_shared_from_this<ExecSession> {
 public:
  using OnOver = std::function<void(const std::shared_ptr<ExecSession>&)>;

  /// `socket` leads to rstepd, which has the order.
  ExecSession(const boost::asio::any_io_executor& executor, RunId run,
              const proto::ExecStart& start, Fd socket);
  /// Begins; `on_over` is called once, not from within a call to this class.
  void open(OnOver on_over);

  RunId run() const { return run_; }
  /// A command that comes back may find it again.
  bool keeps() const { return keeps_; }
  /// The command at its other end; the one before is told that it was replaced.
  void attach(std::shared_ptr<net::Connection> connection, std::uint32_t call,
              std::uint64_t credit);
  /// The command is gone. What is not kept is hung up on.
  void detach();

  /// Frames of the command. An error: it broke the rules, and its session should end.
  Result<void> take_input(std::string_view data);
  void take_control(const proto::ExecControl& control);

  /// For a command that has not said otherwise.
  static constexpr std::uint64_t input_window = 1 << 20;
  /// Told to the command: the tasks of its step meet there. 0: none was wanted.
  std::uint16_t meeting_port = 0;
  /// So long a kept one waits for a command.
  Duration linger = std::chrono::minutes(10);

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;

  net::awaitable<void> hear();
  void heard(const ExecNews& news, std::vector<Fd> files);
  void open_files(std::vector<Fd> files);
  net::awaitable<void> pump(proto::ExecStream stream, Descriptor& source);
  net::awaitable<void> feed();
  void close_input();
  void grant(std::size_t bytes);
  void send_started(std::uint64_t credit);
  void send_data(proto::ExecStream stream, std::string_view data);
  void remember(std::string_view data);
  void say(const ExecWord& word);
  void end_if_over();
  void finish();
  void hang_up();
  void over();

  bool is_stream() const { return kind_ == proto::ExecKind::connect; }
  /// Nothing more is to be waited for: what is in the files now is all.
  bool is_draining() const { return outcome_.has_value(); }

  boost::asio::any_io_executor executor_;
  RunId run_;
  proto::ExecKind kind_;
  bool pty_;
  bool keeps_;
  OnOver on_over_;

  std::shared_ptr<net::Connection> connection_;
  std::uint32_t call_ = 0;
  std::uint64_t credit_ = 0;
  boost::asio::steady_timer changed_;  // never expires: cancelled to wake those who watch
  boost::asio::steady_timer lingering_;

  Descriptor control_;
  Descriptor in_;
  Descriptor out_;
  Descriptor errors_;
  bool opened_ = false;
  std::uint32_t step_ = 0;  // its number
  int pumps_ = 0;
  std::optional<proto::ExecEnd> outcome_;

  std::string queue_;  // input that the process has not taken
  std::size_t queue_begin_ = 0;
  std::uint64_t owed_ = 0;  // input taken for which no credit was given back yet
  bool input_ended_ = false;
  bool feeding_ = false;
  std::string recent_;  // output, of a kept one
  bool is_over_ = false;
};

}  // namespace rota::gpud
