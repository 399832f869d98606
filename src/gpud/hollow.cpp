// gpud/hollow.cpp - orders taken and answered as a node does, with nobody behind them.
#include "gpud/hollow.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <csignal>
#include <random>
#include <string_view>
#include <variant>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/version.h"
#include "gpud/daemon.h"
#include "gpud/meeting_ports.h"
#include "net/address.h"
#include "net/log_end.h"
#include "net/ticket.h"
#include "net/wakeup.h"

namespace rota::gpud {
namespace {

constexpr std::uint32_t gpu_count = 8;
constexpr std::uint32_t cpu_count = 128;
constexpr std::uint64_t memory_bytes = std::uint64_t{2} << 40;
constexpr std::uint64_t gpu_memory_bytes = std::uint64_t{80} << 30;
constexpr std::int32_t nvlinks = 18;  // to each other GPU, through the switches
/// So many dial at a time: the controller bounds the handshakes that are under way.
constexpr std::size_t dialling_max = 32;
constexpr std::uint64_t input_window = 1 << 20;
constexpr Duration idle_limit = std::chrono::minutes(5);

template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;  // clang 14 does not find it by itself

/// FNV-1a: the same on every host and in every release.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

std::string uuid_of(const std::string& text) {
  const std::uint64_t high = hash_of("high " + text);
  const std::uint64_t low = hash_of("low " + text);
  return format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                high & 0xffff, low >> 48, low & 0xffff'ffff'ffff);
}

/// Two sockets for each node, and one for each command that talks to it.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

/// The same host with any free port: there is one for each node.
Result<std::string> with_any_port(const std::string& address) {
  if (address.empty()) return address;
  ROTA_CHECK(net::parse_host_port(address));
  return address.substr(0, address.rfind(':')) + ":0";
}

RunEnd killed(EndCause cause, int signal, std::string detail) {
  RunEnd end;
  end.cause = cause;
  end.exit_signal = signal;
  end.detail = std::move(detail);
  return end;
}

}  // namespace

std::string hollow_name(const std::string& prefix, std::uint32_t number) {
  return format("{}-{:04}", prefix, number);
}

NodeInventory hollow_inventory(const std::string& name) {
  NodeInventory inventory;
  inventory.cpu_count = cpu_count;
  inventory.memory_bytes = memory_bytes;
  for (std::uint32_t i = 0; i < gpu_count; ++i) {
    Gpu& gpu = inventory.gpus.emplace_back();
    gpu.uuid = "GPU-" + uuid_of(format("{}/{}", name, i));
    gpu.model = "NVIDIA H100 80GB HBM3";
    gpu.memory_bytes = gpu_memory_bytes;
    gpu.index = gpu.minor = i;
    gpu.pci_bus_id = format("00000000:{:02X}:00.0", 0x10 + 0x10 * i);
    gpu.numa_node = i < gpu_count / 2 ? 0 : 1;
    gpu.links.assign(gpu_count, nvlinks);
    gpu.links[i] = 0;
  }
  return inventory;
}

HollowNode::HollowNode(boost::asio::any_io_executor executor, std::string name, std::string boot_id,
                       net::ConnectOptions controller, Duration reconnect_max)
    : executor_(executor),
      inventory_(hollow_inventory(name)),
      ticket_key_(net::make_ticket_key()),
      agent_(inventory_, {}),
      link_(
          executor, [executor, controller] { return net::connect(executor, controller); },
          link_events(), BackOff(reconnect_max, std::random_device()())) {
  identity_.name = std::move(name);
  identity_.version = version();
  identity_.boot_id = std::move(boot_id);
}

Result<void> HollowNode::listen(const Config& config, const std::string& host) {
  net::ListenerOptions options;
  options.address = config.node_listen;
  options.munge_socket = config.munge_socket;
  ROTA_TRY(listener_, net::Listener::start(executor_, std::move(options),
                                           [this](std::shared_ptr<net::Connection> connection) {
                                             boost::asio::co_spawn(executor_,
                                                                   session(std::move(connection)),
                                                                   net::log_end("hollow session"));
                                           }));
  identity_.address = public_address(config, host, listener_->port());
  return {};
}

void HollowNode::join(std::function<void()> welcomed) {
  first_welcome_ = std::move(welcomed);
  link_.start();
}

void HollowNode::stop() {
  link_.stop();
  if (listener_) listener_->stop();
}

// ---- the controller ----

Link::Events HollowNode::link_events() {
  Link::Events events;
  events.connected = [this](std::shared_ptr<net::Connection> controller) {
    connected(std::move(controller));
  };
  events.welcomed = [this](const proto::NodeWelcome& welcome) {
    agent_.welcomed(welcome.settings);
    carry_out();
    if (const auto first = std::exchange(first_welcome_, nullptr)) first();
  };
  events.received = [this](const proto::Frame& frame) { return received(frame); };
  events.disconnected = [this] { controller_.reset(); };
  events.in_contact = [](MonoTime) {};
  events.heartbeat = [this] {
    proto::Heartbeat beat;  // of the size that a node's has
    for (const Gpu& gpu : inventory_.gpus) beat.usage.emplace_back().uuid = gpu.uuid;
    return beat;
  };
  return events;
}

void HollowNode::connected(std::shared_ptr<net::Connection> controller) {
  controller_ = std::move(controller);
  proto::NodeHello hello;
  hello.identity = identity_;
  hello.inventory = inventory_;
  hello.runs = agent_.connected();
  hello.ticket_key = ticket_key_;
  controller_->send(hello, 1);
  carry_out();
}

Result<void> HollowNode::received(const proto::Frame& frame) {
  ROTA_TRY(const bool is_of_run, agent_.take(frame));
  if (is_of_run) {
    carry_out();
    return {};
  }
  switch (frame.type) {
    case proto::FetchImage::number:  // nothing is answered to these
    case proto::GpuHealthTaken::number:
    case proto::HealthOrder::number:
      return {};
    default:
      return Error{Errc::protocol_mismatch,
                   format("the controller sent a message of type {}", frame.type)};
  }
}

/// What is carried out may have effects of its own: a start that is reported.
void HollowNode::carry_out() {
  for (auto effects = agent_.take_effects(); !effects.empty(); effects = agent_.take_effects())
    for (const AgentEffect& effect : effects) carry_out_one(effect);
}

void HollowNode::carry_out_one(const AgentEffect& effect) {
  std::visit(overloaded{
                 [this](const StartStep& step) { start(step.launch); },
                 [this](const EndStep& step) {
                   const int signal = step.order.signal == 0 ? SIGTERM : step.order.signal;
                   end(step.order.run, killed(step.cause, signal, step.detail));
                 },
                 [](const SignalStep&) {},  // nobody is there to hear it, or the line
                 [](const TellStep&) {},
                 [this](const LimitStep& step) {
                   const auto run = running_.find(step.run);
                   if (run != running_.end()) run->second.limit_seconds = step.seconds;
                 },
                 [](const DropStep&) {},
                 [this](const ToController& message) {
                   if (!controller_) return;
                   std::visit([this](const auto& report) { controller_->send(report); }, message);
                 },
             },
             effect);
}

void HollowNode::start(const proto::LaunchRun& launch) {
  Running run;
  run.begun = mono_now();
  run.limit_seconds = launch.spec.time_limit_seconds;
  run.is_allocation = launch.payload.mode == LaunchMode::hold;
  run.next_step = launch.payload.mode == LaunchMode::tasks ? 1 : 0;  // its tasks are step 0
  running_.insert_or_assign(launch.run, run);
  ++run_count_;
  agent_.started(launch.run, wall_now());
}

void HollowNode::end(RunId id, RunEnd how) {
  const auto run = running_.find(id);
  if (run == running_.end()) return;
  how.elapsed_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(mono_now() - run->second.begun).count();
  running_.erase(run);
  proto::ExecEnd last;
  last.exit_code = 1;
  last.detail = "the job has ended";
  std::erase_if(calls_, [&](const auto& entry) {
    const auto& [key, call] = entry;
    if (call.run != id) return false;
    call.connection->send(last, key.second);
    return true;
  });
  agent_.ended(id, std::move(how));
}

void HollowNode::tick(MonoTime now) {
  std::vector<RunId> over;
  for (const auto& [id, run] : running_)
    if (run.limit_seconds > 0 && now - run.begun >= std::chrono::seconds(run.limit_seconds))
      over.push_back(id);
  for (const RunId id : over) end(id, killed(EndCause::timeout, SIGTERM, {}));
  carry_out();
}

// ---- commands ----

net::awaitable<void> HollowNode::session(std::shared_ptr<net::Connection> connection) {
  for (;;) {
    auto frame = co_await connection->read(idle_limit);
    if (!frame && frame.error().code == Errc::timed_out && is_busy(*connection)) continue;
    if (!frame || !take(connection, *frame)) break;
  }
  close_all(*connection);
  connection->close("session over");
}

bool HollowNode::is_busy(const net::Connection& connection) const {
  const auto first = calls_.lower_bound({&connection, 0});
  return first != calls_.end() && first->first.first == &connection;
}

Result<void> HollowNode::take(const std::shared_ptr<net::Connection>& connection,
                              const proto::Frame& frame) {
  Result<void> taken;
  switch (frame.type) {
    case proto::ExecStart::number: {
      ROTA_TRY(const auto request, proto::decode<proto::ExecStart>(frame.body));
      taken = open(connection, frame.call, request);
      break;
    }
    case proto::ExecControl::number: {
      ROTA_TRY(const auto order, proto::decode<proto::ExecControl>(frame.body));
      control({connection.get(), frame.call}, order);
      break;
    }
    case proto::ExecData::number:  // nobody reads it
      break;
    default:
      taken = Error{Errc::unsupported,
                    format("a hollow node has no answer to a message of type {}", frame.type)};
  }
  if (taken) return {};
  const Error& error = taken.error();
  connection->send(proto::ErrorReply{static_cast<std::uint16_t>(error.code), error.detail},
                   frame.call);
  return {};
}

Result<void> HollowNode::open(const std::shared_ptr<net::Connection>& connection,
                              std::uint32_t call, const proto::ExecStart& request) {
  using proto::ExecKind;
  const proto::Ticket& ticket = request.ticket;
  ROTA_CHECK(net::verify(ticket, ticket_key_, connection->peer().uid, wall_now()));
  if (ticket.purpose != "exec")
    return Error{Errc::denied, format("the ticket is for '{}', not for exec", ticket.purpose)};
  const bool is_known = request.kind == ExecKind::hold || request.kind == ExecKind::step ||
                        request.kind == ExecKind::task;
  if (!is_known) return Error{Errc::unsupported, "a hollow node runs nothing"};
  const RunId id{ticket.job, ticket.restart, ticket.growth};
  const auto run = running_.find(id);
  if (run == running_.end())
    return Error{Errc::job_ended, format("job {} does not run on this node", id.job.value)};
  const bool holds = request.kind != ExecKind::task && request.ends_run;
  if ((holds || request.kind == ExecKind::hold) && !run->second.is_allocation)
    return Error{Errc::invalid_argument, "the job is no allocation that could be held"};
  if (!calls_.emplace(Key{connection.get(), call}, Call{connection, id, request.kind, holds})
           .second)
    return Error{Errc::invalid_argument, "this call is open already"};
  proto::ExecStarted started;
  started.credit = input_window;
  if (request.kind == ExecKind::step) started.step = run->second.next_step++;
  if (request.wants_port) started.port = MeetingPorts::first_choice(id);  // nobody meets there
  connection->send(started, call, proto::frame_more);
  return {};
}

void HollowNode::control(const Key& key, const proto::ExecControl& order) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return;  // late, not wrong
  const Call call = found->second;
  if (call.ends_run && order.finish) {
    RunEnd how;
    how.exit_code = *order.finish & 0xff;
    end(call.run, std::move(how));
    return carry_out();
  }
  if (call.kind != proto::ExecKind::task || (!order.go && order.signal == 0)) return;
  calls_.erase(found);
  task_count_ += order.go ? 1 : 0;
  // Both streams end first, as those of a process do.
  for (const auto stream : {proto::ExecStream::output, proto::ExecStream::errors})
    call.connection->send(proto::ExecData{stream, {}}, key.second, proto::frame_more);
  proto::ExecEnd last;
  last.exit_signal = order.go ? 0 : order.signal;
  call.connection->send(last, key.second);
}

/// The command has gone; what was there for it alone goes too.
void HollowNode::close_all(const net::Connection& connection) {
  std::vector<RunId> left;
  for (auto at = calls_.lower_bound({&connection, 0});
       at != calls_.end() && at->first.first == &connection; at = calls_.erase(at))
    if (at->second.ends_run) left.push_back(at->second.run);
  for (const RunId id : left) end(id, killed(EndCause::exited, SIGHUP, {}));
  carry_out();
}

// ---- all of them ----

HollowNodes::HollowNodes(boost::asio::any_io_executor executor, Config config, std::uint32_t count,
                         int ready_fd)
    : executor_(executor),
      config_(std::move(config)),
      count_(count),
      ready_fd_(ready_fd),
      timer_(executor) {}

Result<void> HollowNodes::start() {
  raise_file_limit();
  ROTA_TRY(const net::ConnectOptions controller, controller_options(config_));
  const std::string prefix = config_.node_name.empty() ? "hollow" : config_.node_name;
  config_.node_name = hollow_name(prefix, count_);
  ROTA_CHECK(node_name(config_));  // it is a good one
  config_.node_name.clear();
  ROTA_TRY(const std::string host, node_name(config_));
  ROTA_TRY(config_.node_listen, with_any_port(config_.node_listen));
  ROTA_TRY(config_.node_address, with_any_port(config_.node_address));
  // What ran on them went with the last process: to the controller they have booted.
  const std::string boot_id = uuid_of(net::make_ticket_key());
  for (std::uint32_t number = 1; number <= count_; ++number) {
    nodes_.push_back(std::make_unique<HollowNode>(executor_, hollow_name(prefix, number), boot_id,
                                                  controller, config_.node_reconnect_max));
    ROTA_CHECK(nodes_.back()->listen(config_, host));
  }
  log::warning("rgpud {} makes up {} nodes, {} to {}: jobs on them run nothing", version(), count_,
               hollow_name(prefix, 1), hollow_name(prefix, count_));
  while (dialled_ < std::min(nodes_.size(), dialling_max)) join_next();
  tick();
  return {};
}

void HollowNodes::join_next() {
  if (dialled_ < nodes_.size()) nodes_[dialled_++]->join([this] { joined(); });
}

void HollowNodes::joined() {
  join_next();
  if (++joined_ < nodes_.size()) return;
  log::info("all {} nodes have joined", nodes_.size());
  if (ready_fd_ < 0) return;
  if (const auto told = notify_ready_fd(ready_fd_, config_.node_listen); !told)
    log::warning("{}", told.error().message());
}

void HollowNodes::tick() {
  timer_.expires_after(std::chrono::seconds(1));
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    const MonoTime now = mono_now();
    for (const auto& node : nodes_) node->tick(now);
    tick();
  });
}

void HollowNodes::stop() {
  timer_.cancel();
  std::uint64_t runs = 0;
  std::uint64_t tasks = 0;
  for (const auto& node : nodes_) {
    runs += node->run_count();
    tasks += node->task_count();
    node->stop();
  }
  log::info("started {} runs and let {} tasks of steps run", runs, tasks);
}

}  // namespace rota::gpud
