// commands/allocation.cpp - the request, the wait, the end of an allocation.
#include "commands/allocation.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "commands/container_options.h"
#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/payload.h"
#include "commands/terminal.h"
#include "commands/watch.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace asio = boost::asio;

namespace rota::commands {
namespace {

/// The controller may be away this long while we wait.
constexpr Duration wait_patience = std::chrono::minutes(10);
constexpr Duration redraw_interval = std::chrono::seconds(1);

/// The line that says how the wait goes.
class WaitLine {
 public:
  explicit WaitLine(const Program& program)
      : program_(program), live_(isatty(STDERR_FILENO) != 0) {}
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;
  ~WaitLine() { clear(); }

  void show(const JobView& job) {
    if (job.state == JobState::running || is_final(job.state)) return clear();
    const std::string text = describe(job);
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(mono_now() - since_);
    if (!live_) {  // once for each state, and only of a real wait: a log file is not a screen
      if (waited.count() > 0 && std::exchange(said_, job.state) != job.state) program_.say(text);
      return;
    }
    const std::size_t columns = window_size().columns;
    std::string line = format("{}: {} s: {}", program_.name(), waited.count(), escaped(text));
    const std::size_t width = std::max<std::size_t>(columns > 0 ? columns : 80, 20) - 1;
    if (line.size() > width) line.resize(width);
    write_all("\r\033[K" + line);
    drawn_ = true;
  }
  void clear() {
    if (std::exchange(drawn_, false)) write_all("\r\033[K");
  }

 private:
  static std::string describe(const JobView& job) {
    const std::string why = job.reason.empty() ? "" : format(": {}", job.reason);
    if (job.state == JobState::starting)
      return format("job {} starts on {}{}", job.id.value, fmt::join(job.nodes, ","), why);
    return format("job {} waits{}", job.id.value, why);
  }
  static void write_all(const std::string& text) {
    [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, text.data(), text.size());
  }

  const Program& program_;
  bool live_;
  std::optional<JobState> said_;
  bool drawn_ = false;
  MonoTime since_ = mono_now();
};

/// What the two coroutines of a wait share.
struct Wait {
  explicit Wait(const asio::any_io_executor& executor) : signals(executor) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      boost::system::error_code ignored;
      signals.add(signal, ignored);
    }
  }
  asio::signal_set signals;
  int interrupted = 0;
  JobId job;
};

/// Whatever ends the wait, signals are then somebody else's business.
class WaitEnd {
 public:
  explicit WaitEnd(std::shared_ptr<Wait> wait) : wait_(std::move(wait)) {}
  WaitEnd(const WaitEnd&) = delete;
  WaitEnd& operator=(const WaitEnd&) = delete;
  ~WaitEnd() {
    boost::system::error_code ignored;
    wait_->signals.cancel(ignored);
    wait_->signals.clear(ignored);
  }

 private:
  std::shared_ptr<Wait> wait_;
};

/// The first interrupt cancels the job, and the wait then sees its end; a second one ends us.
awaitable<void> cancel_on_signal(std::shared_ptr<Wait> wait, net::ConnectOptions controller,
                                 const Program& program) {
  for (;;) {
    auto [error, signal] = co_await wait->signals.async_wait(net::no_throw);
    if (error) co_return;
    if (wait->interrupted != 0) ::_exit(128 + signal);
    wait->interrupted = signal;
    if (!wait->job) continue;  // allocate() sees to it as soon as the job has a number
    const auto given = co_await give_back(controller, wait->job);
    if (!given) program.say(given.error().message());
  }
}

}  // namespace

std::vector<Option> options_of_rsubmit(std::initializer_list<std::string_view> names,
                                       std::initializer_list<Option> own) {
  std::vector<Option> options;
  for (const std::string_view name : names)
    for (const Option& option : submit_command().options)
      if (option.name == name) options.push_back(option);
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

Result<proto::SubmitRequest> allocation_from(const std::vector<Given>& given,
                                             std::string_view default_name) {
  SubmitOptions options;
  options.kind = JobKind::interactive;
  options.requeue = false;
  for (const Given& one : given) ROTA_CHECK(apply(one, options));
  proto::SubmitRequest request;
  ROTA_TRY(request.spec, job_spec_from(options, default_name));
  request.payload.mode = LaunchMode::hold;
  ROTA_CHECK(take_surroundings(options.directory, request.payload));
  ROTA_CHECK(take_container(options.container, options.sources, request.payload));
  request.payload.secrets = options.secrets;
  ROTA_CHECK(validate(request.payload));
  ROTA_CHECK(validate(request.spec, request.payload));
  ROTA_TRY(request.request, make_request_id());
  return request;
}

Result<std::optional<JobId>> job_around() {
  const char* text = std::getenv("ROTA_JOB_ID");
  if (text == nullptr || *text == '\0') return std::optional<JobId>();
  auto job = job_id_from(text);
  if (!job)
    return Error{Errc::usage, format("ROTA_JOB_ID: {}; outside of a job it must not be set",
                                     job.error().detail)};
  return std::optional<JobId>(*job);
}

awaitable<Result<void>> give_back(net::ConnectOptions controller, JobId job) {
  proto::CancelRequest request;
  request.filter.jobs.push_back(job);
  ROTA_CO_TRY(request.request, make_request_id());
  auto frame = co_await exchange(controller, proto::CancelRequest::number, proto::encode(request));
  if (!frame) co_return frame.error();
  ROTA_CO_TRY(const auto reply, net::reply_from<proto::CancelReply>(*frame));
  for (const proto::JobRefusal& refusal : reply.refused)
    if (refusal.code != static_cast<std::uint16_t>(Errc::job_ended))
      co_return Error{static_cast<Errc>(refusal.code), refusal.detail};
  co_return Result<void>();
}

awaitable<Result<JobView>> allocate(net::ConnectOptions controller, proto::SubmitRequest request,
                                    const Program& program, int& interrupted) {
  const auto executor = co_await asio::this_coro::executor;
  const auto wait = std::make_shared<Wait>(executor);
  const WaitEnd at_end(wait);
  asio::co_spawn(executor, cancel_on_signal(wait, controller, program), net::log_end("signals"));
  auto frame = co_await exchange(controller, proto::SubmitRequest::number, proto::encode(request));
  if (!frame) co_return frame.error();
  ROTA_CO_TRY(const auto reply, net::reply_from<proto::SubmitReply>(*frame));
  wait->job = reply.job;
  program.note(format("job {} is queued", reply.job.value));
  if (wait->interrupted != 0) ROTA_CO_CHECK(co_await give_back(controller, reply.job));

  JobFilter filter;
  filter.jobs.push_back(reply.job);
  JobWatch watch(controller, filter, wait_patience);
  WaitLine line(program);
  JobView seen;
  for (;;) {
    auto news = co_await watch.next(redraw_interval);
    interrupted = wait->interrupted;
    if (!news && news.error().code != Errc::timed_out) co_return news.error();
    if (news && news->complete && news->jobs.empty() && !seen.id)
      co_return Error{Errc::no_such_job,
                      format("{} is not on the controller's record", reply.job.value)};
    if (news)
      for (JobView& job : news->jobs)
        if (job.id == reply.job) seen = std::move(job);
    if (!seen.id) continue;
    line.show(seen);
    if (seen.state == JobState::running || is_final(seen.state)) co_return std::move(seen);
  }
}

}  // namespace rota::commands
