// gpud/step_line.h - rgpud's end of the line to one rstepd.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "gpud/launch/file.h"
#include "gpud/launch/order.h"

namespace rota::gpud {

/// Reports in, commands and further runs out. It lives while it is open or somebody holds it.
class StepLine : public std::enable_shared_from_this<StepLine> {
 public:
  using OnReport = std::function<void(const std::shared_ptr<StepLine>&, StepReport)>;
  using OnClosed = std::function<void(const std::shared_ptr<StepLine>&)>;

  StepLine(boost::asio::any_io_executor executor, Fd socket);
  /// Begins to read. Neither function is called from within a call to this class.
  void open(OnReport on_report, OnClosed on_closed);

  void send(const StepCommand& command);
  /// Gives an idle rstepd its next run, with secrets if it has any (else -1); false when it has
  /// gone.
  bool send_run(int record, int secrets);
  /// Gives it a socket with an ExecOrder in it; false when it does not take it, and errno.
  bool send_exec(int socket);
  /// Hangs up, without on_closed.
  void close();

  /// Which run it serves; none: idle, or it has not said yet.
  std::optional<RunId> run;

 private:
  void read();
  void drain();

  boost::asio::posix::stream_descriptor socket_;
  OnReport on_report_;
  OnClosed on_closed_;
};

}  // namespace rota::gpud
