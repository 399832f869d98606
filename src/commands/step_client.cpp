// commands/step_client.cpp - one session for each node, one call for each task.
#include "commands/step_client.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "commands/heeded.h"
#include "commands/input_pump.h"
#include "commands/output.h"
#include "commands/payload.h"
#include "commands/watch.h"
#include "common/escape.h"
#include "common/format.h"
#include "model/node.h"
#include "net/log_end.h"
#include "net/seal.h"
#include "net/wakeup.h"

namespace asio = boost::asio;

namespace rota::commands {
namespace {

using proto::ExecStream;

/// On the first node of the job: the step itself. Tasks have the calls from task_call on.
constexpr std::uint32_t step_call = 1;
constexpr std::uint32_t task_call = 2;
/// Of a node's tasks so many are made ready at a time: its rstepd has a line of limited length.
constexpr std::uint32_t preparing_max = 64;
/// Output that may be on its way to us and wait here: of all tasks, and of one.
constexpr std::uint64_t window_all = 64 << 20;
constexpr std::uint64_t window_min = 128 << 10;
constexpr std::uint64_t window_max = 4 << 20;
/// So many nodes are dialled at a time: munged has a line of limited length for those who ask it.
constexpr int dialling_max = 32;
constexpr Duration silence_limit = std::chrono::minutes(1);
/// From SIGTERM to SIGKILL when a failed task ends the others.
constexpr Duration kill_wait = std::chrono::seconds(10);
/// For the node's word that the job is over.
constexpr Duration farewell_limit = std::chrono::seconds(10);
/// So many SIGINTs that nobody heeds end this command.
constexpr int interrupts_max = 3;
/// Of so many tasks that failed is told.
constexpr int told_max = 8;

class StepClient : public std::enable_shared_from_this<StepClient> {
 public:
  StepClient(const asio::any_io_executor& executor, net::ConnectOptions controller,
             const StepOptions& options, const Program& program, proto::TicketReply where,
             std::vector<StepNode> nodes, StepLayout layout)
      : executor_(executor),
        controller_(std::move(controller)),
        options_(options),
        program_(program),
        where_(std::move(where)),
        nodes_(std::move(nodes)),
        layout_(std::move(layout)),
        changed_(executor),
        killing_(executor),
        sinks_(executor, layout_.task_count,
               [this](std::uint32_t task, std::size_t bytes, int error) {
                 returned(task, bytes, error);
               }),
        window_(std::clamp<std::uint64_t>(window_all / layout_.task_count, window_min, window_max)),
        tasks_(layout_.task_count) {
    // A task that is alone has nobody to find.
    const bool wants_pmix = options_.mpi == MpiKind::pmix ||
                            (options_.mpi == MpiKind::automatic && layout_.task_count > 1);
    if (!wants_pmix) return;
    std::vector<std::string> names;
    std::vector<std::uint32_t> counts;
    for (const StepLayout::Place& place : layout_.places) {
      names.push_back(nodes_[place.node].name);
      counts.push_back(place.count);
    }
    pmix_.emplace(std::move(names), std::move(counts));
  }

  Result<void> open_sinks() {
    std::vector<OutputContext> contexts;
    for (const StepLayout::Place& place : layout_.places)
      for (std::uint32_t local = 0; local < place.count; ++local)
        contexts.push_back({options_.job, 0, where_.job_name,
                            where_.nodes[place.node].ticket.owner.user, nodes_[place.node].name,
                            place.first + local});
    ROTA_TRY(const std::string here, current_directory());
    return sinks_.open(options_.sinks, contexts, here);
  }

  awaitable<Result<int>> run(bool& is_job_over) {
    make_links();
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->heed_signals(); },
        net::log_end("signals"));
    dial(head_);  // first: it has the step's number, and hears the end whatever becomes of the rest
    for (int i = 1; i < dialling_max; ++i) dial_next();
    const net::Deadline never = net::deadline_after(Duration::max());
    while (!is_over()) co_await changed_.wait(never);
    if (!failure_) program_.note(format("step {} has ended", number_));
    close_pmix();
    co_await say_goodbye();
    is_job_over = is_job_over_;
    for (Link& link : links_)
      if (link.connection) link.connection->close("done");
    if (failure_ && failure_->code == Errc::launch_failed) {
      program_.say(failure_->detail);
      co_return failed_code_;
    }
    if (failure_) co_return *failure_;
    if (given_up_ != 0) co_return 128 + given_up_;
    co_return worst_.value();
  }

 private:
  struct Link {
    std::size_t node = 0;              // among the job's
    std::optional<std::size_t> place;  // among the layout's; none: only the step's number is there
    std::shared_ptr<net::Connection> connection;
    std::uint32_t begun = 0;  // tasks for which ExecStart was sent
    std::uint32_t ready = 0;
  };
  struct Task {
    std::size_t link = 0;
    std::uint32_t call = 0;
    bool is_ready = false;
    bool has_ended = false;
    std::uint64_t owed = 0;  // credit
  };

  void make_links() {
    for (std::size_t i = 0; i < layout_.places.size(); ++i) {
      const StepLayout::Place& place = layout_.places[i];
      Link& link = links_.emplace_back();
      link.node = place.node;
      link.place = i;
      for (std::uint32_t local = 0; local < place.count; ++local)
        tasks_[place.first + local] = {.link = i, .call = task_call + local};
    }
    const auto first = std::ranges::find(links_, std::size_t{0}, &Link::node);
    head_ = static_cast<std::size_t>(first - links_.begin());
    if (first == links_.end()) links_.emplace_back();
  }
  const std::string& name_of(const Link& link) const { return nodes_[link.node].name; }
  bool is_over() const {
    if (failure_ || given_up_ != 0) return true;
    return ended_ == layout_.task_count && sinks_.is_flushed();
  }

  // ---- one node ----

  void dial(std::size_t index) {
    asio::co_spawn(
        executor_, [self = shared_from_this(), index] { return self->serve(index); },
        net::log_end("step"));
  }
  void dial_next() {
    if (dialled_ == head_) ++dialled_;
    if (dialled_ < links_.size()) dial(dialled_++);
  }

  awaitable<void> serve(std::size_t index) {
    const proto::NodeTicket& to = where_.nodes[links_[index].node];
    if (to.address.empty()) {
      dial_next();
      if (index == head_) is_head_lost_ = true;
      fail({Errc::node_unreachable, format("{}: the controller has lost it", to.node)});
      co_return;
    }
    net::ConnectOptions node = node_options(controller_, to.node, to.address, to.node_uid);
    auto connection = co_await net::connect(executor_, std::move(node));
    dial_next();
    const bool ends_job = index == head_ && options_.ends_run;
    if (!connection && ends_job) is_head_lost_ = true;
    if (is_over() && !(connection && ends_job)) co_return changed_.notify();
    if (!connection) {
      fail({connection.error().code, format("{}: {}", to.node, connection.error().detail)});
      co_return;
    }
    links_[index].connection = *connection;
    begin(index);
    changed_.notify();
    for (;;) {
      auto frame = co_await (*connection)->read(silence_limit);
      if (!frame && frame.error().code == Errc::timed_out) continue;
      if (!frame) {
        lost(index, frame.error());
        co_return;
      }
      if (const auto taken = take(index, *std::move(frame)); !taken) {
        fail({taken.error().code, format("{}: {}", to.node, taken.error().detail)});
        co_return;
      }
    }
  }

  void begin(std::size_t index) {
    Link& link = links_[index];
    if (index == head_) {
      proto::ExecStart start;
      start.ticket = where_.nodes[link.node].ticket;
      start.kind = proto::ExecKind::step;
      start.credit = 1;
      start.ends_run = options_.ends_run;
      link.connection->send(start, step_call);
    }
    if (pmix_ && link.place) {
      proto::ExecStart start;
      start.ticket = where_.nodes[link.node].ticket;
      start.kind = proto::exec_pmix;
      start.input = true;
      start.credit = window_max;
      link.connection->send(start, pmix_call(link));
    }
    begin_tasks(link);
  }
  /// Behind those of the tasks.
  std::uint32_t pmix_call(const Link& link) const {
    return task_call + layout_.places[*link.place].count;
  }

  void begin_tasks(Link& link) {
    if (!link.place || is_over()) return;
    const StepLayout::Place& place = layout_.places[*link.place];
    const std::uint32_t gpus = options_.request.gpus_per_task;
    while (link.begun < place.count && link.begun - link.ready < preparing_max) {
      const std::uint32_t local = link.begun++;
      const std::uint32_t rank = place.first + local;
      proto::ExecStart start;
      start.ticket = where_.nodes[link.node].ticket;
      start.kind = proto::ExecKind::task;
      start.words = options_.words;
      start.environment = task_variables(layout_, nodes_, options_.request, *link.place, local);
      start.environment.insert(start.environment.end(), options_.environment.begin(),
                               options_.environment.end());
      start.directory = options_.directory;
      start.input = rank == 0;
      start.wants_port = rank == 0;
      start.credit = window_;
      start.gpu_first = gpus * local;
      start.gpu_count = gpus;
      link.connection->send(start, tasks_[rank].call);
    }
  }

  Result<void> take(std::size_t index, proto::Frame frame) {
    Link& link = links_[index];
    const bool is_end =
        frame.type == proto::ErrorReply::number || frame.type == proto::ExecEnd::number;
    if (index == head_ && frame.call == step_call)
      return is_end ? step_closed(frame) : step_answered(frame);
    if (link.place && frame.call == pmix_call(link))
      return is_end ? pmix_closed(link, frame) : pmix_heard(link, frame);
    const std::uint32_t count = link.place ? layout_.places[*link.place].count : 0;
    if (frame.call < task_call || frame.call >= task_call + count)
      return Error{Errc::protocol_mismatch, format("an answer to call {}", frame.call)};
    const std::uint32_t rank = layout_.places[*link.place].first + frame.call - task_call;
    if (is_end) return task_closed(link, rank, frame);
    if (frame.type == proto::ExecStarted::number) return task_ready(link, rank, frame);
    if (frame.type == proto::ExecControl::number) {
      ROTA_TRY(const auto control, proto::decode<proto::ExecControl>(frame.body));
      if (pump_ && rank == 0) pump_->grant(control.credit);
      return {};
    }
    if (frame.type != proto::ExecData::number)
      return Error{Errc::protocol_mismatch, format("an answer of type {}", frame.type)};
    ROTA_TRY(const auto data, proto::decode<proto::ExecDataView>(frame.body));
    if (data.stream == ExecStream::notice) {
      if (rank == 0) program_.say(data.data);
      return {};
    }
    const bool is_error = data.stream == ExecStream::errors;
    if (data.data.empty())
      sinks_.end(rank, is_error);
    else
      sinks_.put(rank, is_error, data.data);
    return {};
  }

  // ---- before the start ----

  Result<void> step_answered(const proto::Frame& frame) {
    if (frame.type != proto::ExecStarted::number) return {};
    ROTA_TRY(const auto started, proto::decode<proto::ExecStarted>(frame.body));
    number_ = started.step;
    is_numbered_ = true;
    order_pmix();
    go_if_ready();
    return {};
  }

  Result<void> task_ready(Link& link, std::uint32_t rank, const proto::Frame& frame) {
    ROTA_TRY(const auto started, proto::decode<proto::ExecStarted>(frame.body));
    if (std::exchange(tasks_[rank].is_ready, true)) return {};
    ++link.ready;
    ++ready_;
    if (rank == 0) {
      port_ = started.port;
      pump_ = std::make_shared<InputPump>(executor_, link.connection, tasks_[0].call, STDIN_FILENO);
      pump_->grant(started.credit);
    }
    begin_tasks(link);
    go_if_ready();
    return {};
  }

  void go_if_ready() {
    if (ready_ < layout_.task_count || !is_numbered_ || has_gone_ || failure_) return;
    if (pmix_ && !pmix_->are_all_ready()) return;
    has_gone_ = true;
    proto::ExecControl control;
    control.go = true;
    for (const std::string_view prefix : {"ROTA_", "SLURM_"})
      for (const std::string_view name : {"STEP_ID", "STEPID"})
        control.environment.push_back(format("{}{}={}", prefix, name, number_));
    control.environment.push_back(format("ROTA_MASTER_ADDR={}", first_host()));
    control.environment.push_back(format("ROTA_MASTER_PORT={}", port_));
    if (!options_.keeps_address)
      control.environment.push_back(format("MASTER_ADDR={}", first_host()));
    if (!options_.keeps_port) control.environment.push_back(format("MASTER_PORT={}", port_));
    const std::size_t common = control.environment.size();
    for (const Task& task : tasks_) {
      control.environment.resize(common);
      if (pmix_) {
        const auto& own = pmix_->variables_of(task.link, task.call - task_call);
        control.environment.insert(control.environment.end(), own.begin(), own.end());
      }
      links_[task.link].connection->send(control, task.call);
    }
    program_.note(format("step {} runs", number_));
    pump_->start();
  }

  std::string first_host() const {
    NodeIdentity first;
    first.address = where_.nodes[layout_.places.front().node].address;
    return first.host();
  }

  // ---- PMIx ----

  void order_pmix() {
    if (!pmix_ || has_ordered_pmix_ || !is_numbered_ || !pmix_->have_all_said_hello()) return;
    has_ordered_pmix_ = true;
    const std::string nspace = format("rota.{}.{}", options_.job.value, number_);
    const std::string secret = net::random_bytes(proto::pmix_secret_bytes);
    for (const Link& link : links_) {
      if (!link.place) continue;
      const std::string order = pmix_->order_for(*link.place, nspace, first_host(), secret);
      proto::ExecDataView view;
      view.data = order;
      link.connection->send(view, pmix_call(link));
    }
  }

  Result<void> pmix_heard(const Link& link, const proto::Frame& frame) {
    if (frame.type != proto::ExecData::number || !pmix_) return {};
    ROTA_TRY(const auto data, proto::decode<proto::ExecDataView>(frame.body));
    if (data.stream == ExecStream::errors) program_.note(data.data);
    if (data.stream != ExecStream::output) return {};
    proto::ExecControl credit;
    credit.credit = data.data.size();
    if (credit.credit > 0) link.connection->send(credit, pmix_call(link));
    ROTA_TRY(const auto rest, pmix_->take(*link.place, data.data));
    for (const proto::PmixNews& news : rest)
      if (news.kind == proto::PmixNews::Kind::aborted)
        pmix_aborted(news);
      else
        pmix_failed(link, news.text);
    order_pmix();
    go_if_ready();
    return {};
  }

  void pmix_aborted(const proto::PmixNews& news) {
    if (!is_ending_) {
      program_.say(news.text);
      worst_.add({(news.status & 0xff) != 0 ? news.status & 0xff : 1});
    }
    end_others();
  }

  /// Before the start: without it, where nobody has asked for it. Later: tasks wait for it for
  /// ever.
  void pmix_failed(const Link& link, const std::string& why) {
    if (has_gone_) {
      if (!is_ending_ && ended_ < layout_.task_count) {
        program_.say(format("the PMIx server on {} failed: {}", name_of(link), why));
        worst_.add({1});
      }
      return end_others();
    }
    if (options_.mpi == MpiKind::pmix)
      return fail({Errc::unsupported, format("{}: {}", name_of(link), why)});
    program_.note(format("no PMIx: {}: {}", name_of(link), why));
    close_pmix();
    go_if_ready();
  }

  /// The servers end with their input.
  void close_pmix() {
    if (!pmix_) return;
    pmix_.reset();
    const proto::ExecDataView end;
    for (const Link& link : links_)
      if (link.place && link.connection) link.connection->send(end, pmix_call(link));
  }

  Result<void> pmix_closed(const Link& link, const proto::Frame& frame) {
    if (!pmix_ || ended_ == layout_.task_count) return {};
    const auto end = net::reply_from<proto::ExecEnd>(frame);
    std::string why = end ? end->detail : end.error().detail;
    if (why.empty())
      why = end && end->exit_signal > 0 ? format("it was ended by signal {}", end->exit_signal)
                                        : "it has ended";
    pmix_failed(link, why);
    return {};
  }

  // ---- ends ----

  Result<void> step_closed(const proto::Frame& frame) {
    is_job_over_ = true;
    auto end = net::reply_from<proto::ExecEnd>(frame);
    if (!has_gone_)
      fail(end ? Error{Errc::job_ended, end->detail} : end.error());
    else
      changed_.notify();
    return {};
  }

  Result<void> task_closed(const Link& link, std::uint32_t rank, const proto::Frame& frame) {
    const auto end = net::reply_from<proto::ExecEnd>(frame);
    const std::string who =
        layout_.task_count == 1 ? std::string() : format("task {} on {}: ", rank, name_of(link));
    if (!has_gone_) {
      if (!end) {
        fail({end.error().code, format("{}: {}", name_of(link), end.error().detail)});
        return {};
      }
      // The others end because this one did: theirs says nothing.
      if (!failure_) failed_code_ = end->exit_code != 0 ? end->exit_code : 1;
      fail({Errc::launch_failed,
            who + (end->detail.empty() ? "it ended before it ran" : end->detail)});
      return {};
    }
    TaskEnd how;
    how.code = end ? end->exit_code : 1;
    how.signal = end ? end->exit_signal : 0;
    how.ours = is_ending_;
    const std::string detail = end ? end->detail : end.error().message();
    task_ended(link, rank, how, detail.empty() ? detail : who + detail);
    return {};
  }

  void task_ended(const Link& link, std::uint32_t rank, const TaskEnd& how,
                  const std::string& detail) {
    if (std::exchange(tasks_[rank].has_ended, true)) return;
    ++ended_;
    for (const bool is_error : {false, true}) sinks_.end(rank, is_error);
    worst_.add(how);
    const bool is_bad = exit_code_of(how) != 0;
    if (!detail.empty()) {
      program_.say(detail);
    } else if (is_bad && !how.ours && layout_.task_count > 1 && ++told_ <= told_max) {
      program_.say(how.signal > 0
                       ? format("task {} on {} was ended by signal {} ({})", rank, name_of(link),
                                how.signal, strsignal(how.signal))
                       : format("task {} on {} ended with {}", rank, name_of(link), how.code));
    }
    // The others would wait for it for ever. Who interrupts them all has thought of that.
    if (is_bad && interrupts_ == 0 && (how.signal > 0 || options_.kill_on_bad_exit)) end_others();
    changed_.notify();
  }

  void end_others() {
    if (std::exchange(is_ending_, true) || ended_ == layout_.task_count) return;
    program_.note("ending the other tasks");
    signal_tasks(SIGTERM);
    signal_tasks(SIGCONT);
    killing_.expires_after(kill_wait);
    killing_.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
      if (!cancelled) self->signal_tasks(SIGKILL);
    });
  }

  void signal_tasks(int signal) {
    proto::ExecControl control;
    control.signal = signal;
    for (const Task& task : tasks_)
      if (!task.has_ended && links_[task.link].connection)
        links_[task.link].connection->send(control, task.call);
  }

  /// Nothing runs any more: what is ready goes when its session does.
  void fail(Error error) {
    if (failure_) return;
    failure_ = std::move(error);
    if (failure_->code != Errc::launch_failed) failed_code_ = 1;
    for (std::size_t i = 0; i < links_.size(); ++i)
      if (links_[i].connection && !(i == head_ && options_.ends_run))
        links_[i].connection->close("the step failed");
    changed_.notify();
  }

  void lost(std::size_t index, const Error& error) {
    Link& link = links_[index];
    link.connection.reset();
    if (index == head_) is_head_lost_ = true;
    const bool is_needed = std::ranges::any_of(
        tasks_, [&](const Task& task) { return task.link == index && !task.has_ended; });
    if (!is_over() && is_needed)
      fail({error.code == Errc::malformed ? Errc::peer_lost : error.code,
            format("the session with {} ended: {}", name_of(link), error.detail)});
    changed_.notify();
  }

  /// An allocation that was made for us ends, with our exit code.
  awaitable<void> say_goodbye() {
    if (!options_.ends_run) co_return;
    const net::Deadline deadline = net::deadline_after(farewell_limit);
    while (!links_[head_].connection && !is_head_lost_)  // another node was faster to fail
      if (!co_await changed_.wait(deadline)) break;
    if (is_job_over_ || !links_[head_].connection) co_return;
    proto::ExecControl control;
    control.finish = failure_ ? failed_code_ : given_up_ != 0 ? 128 + given_up_ : worst_.value();
    links_[head_].connection->send(control, step_call);
    while (!is_job_over_ && links_[head_].connection)
      if (!co_await changed_.wait(deadline)) break;
  }

  // ---- signals and output ----

  awaitable<void> heed_signals() {
    asio::signal_set signals(executor_);
    heed_unless_ignored(signals, {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2});
    for (;;) {
      auto [error, signal] = co_await signals.async_wait(net::no_throw);
      if (error) co_return;
      const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGQUIT;
      if (signal == SIGHUP || (ends && (!has_gone_ || ++interrupts_ >= interrupts_max))) {
        given_up_ = signal;
        changed_.notify();
        co_return;
      }
      signal_tasks(signal);
    }
  }

  void returned(std::uint32_t rank, std::size_t bytes, int error) {
    if (error != 0) {
      fail(output_lost(error));
      return;
    }
    Task& task = tasks_[rank];
    task.owed += bytes;
    if (task.owed >= window_ / 4 && !task.has_ended && links_[task.link].connection) {
      proto::ExecControl control;
      control.credit = std::exchange(task.owed, 0);
      links_[task.link].connection->send(control, task.call);
    }
    if (sinks_.is_flushed()) changed_.notify();
  }

  asio::any_io_executor executor_;
  net::ConnectOptions controller_;
  const StepOptions& options_;
  const Program& program_;
  proto::TicketReply where_;
  std::vector<StepNode> nodes_;  // of the job
  StepLayout layout_;
  net::Wakeup changed_;
  asio::steady_timer killing_;
  StepSinks sinks_;
  std::uint64_t window_;
  std::vector<Link> links_;
  std::size_t head_ = 0;     // the link to the job's first node
  std::size_t dialled_ = 0;  // links before this one, and the head's
  std::vector<Task> tasks_;
  std::shared_ptr<InputPump> pump_;
  std::optional<StepPmix> pmix_;
  bool has_ordered_pmix_ = false;
  std::uint32_t number_ = 0;
  std::uint16_t port_ = 0;
  bool is_numbered_ = false;
  bool has_gone_ = false;
  bool is_ending_ = false;
  bool is_job_over_ = false;
  bool is_head_lost_ = false;
  std::uint32_t ready_ = 0;
  std::uint32_t ended_ = 0;
  int told_ = 0;
  int interrupts_ = 0;
  int given_up_ = 0;  // the signal
  std::optional<Error> failure_;
  int failed_code_ = 1;
  WorstCode worst_;
};

}  // namespace

/// A script may be faster than the controller is to hear of its start, and than the job's other
/// nodes are to be ready.
static awaitable<Result<proto::TicketReply>> tickets_for(net::ConnectOptions controller,
                                                         JobId job) {
  proto::TicketRequest request;
  request.job = job;
  request.purpose = "step";
  for (;;) {
    auto frame =
        co_await exchange(controller, proto::TicketRequest::number, proto::encode(request));
    if (!frame) co_return frame.error();
    auto where = net::reply_from<proto::TicketReply>(*frame);
    if (where || where.error().code != Errc::job_not_started) co_return where;
    const auto runs = [](const JobView& view) { return view.state != JobState::starting; };
    auto started = co_await wait_for_job(controller, job, std::chrono::minutes(10), runs);
    if (!started || started->state == JobState::pending) co_return where;
  }
}

awaitable<Result<int>> run_step(net::ConnectOptions controller, StepOptions options,
                                const Program& program, bool& is_job_over) {
  const auto executor = co_await asio::this_coro::executor;
  auto reply = co_await tickets_for(controller, options.job);
  if (!reply) co_return reply.error();
  proto::TicketReply where = *std::move(reply);
  if (where.nodes.empty())
    co_return Error{Errc::job_ended, format("job {} has no nodes", options.job.value)};
  std::vector<StepNode> nodes;
  for (const proto::NodeTicket& node : where.nodes)
    nodes.push_back({node.node, node.task_count, node.cpu_count, node.gpu_count});
  ROTA_CO_TRY(auto layout, lay_out(options.request, nodes));
  const auto client =
      std::make_shared<StepClient>(executor, std::move(controller), options, program,
                                   std::move(where), std::move(nodes), std::move(layout));
  ROTA_CO_CHECK(client->open_sinks());
  co_return co_await client->run(is_job_over);
}

}  // namespace rota::commands
