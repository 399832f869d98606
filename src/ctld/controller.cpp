// ctld/controller.cpp - starting, stopping, and going on when the store fails.
#include "ctld/controller.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/clock.h"
#include "common/log.h"
#include "ctld/secrets.h"
#include "ctld/url_key.h"
#include "net/log_end.h"
#include "sched/policy_config.h"

namespace rota::ctld {

namespace asio = boost::asio;

namespace {

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}
std::int64_t seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

EngineSettings settings_from(const Config& config) {
  EngineSettings settings;
  settings.node.cluster_name = config.cluster_name;
  settings.node.heartbeat_ms = milliseconds(config.nodes_heartbeat);
  settings.node.lost_after_ms = milliseconds(config.nodes_lost_after);
  settings.node.fence_after_ms = milliseconds(config.nodes_fence_after);
  settings.node.kill_wait_ms = milliseconds(config.jobs_kill_wait);
  settings.node.slurm_environment = config.jobs_slurm_environment;
  settings.node.idle_window_ms = milliseconds(config.jobs_idle_window);
  settings.interactive_idle_limit_seconds = seconds(config.jobs_interactive_idle_limit);
  settings.train_idle_limit_seconds = seconds(config.jobs_train_idle_limit);
  settings.restarts_max = config.jobs_restarts_max;
  settings.launch_backoff_ms = milliseconds(config.jobs_launch_backoff);
  settings.job_count_max = config.jobs_count_max;
  settings.ended_kept = config.jobs_ended_kept;
  settings.time_limit_default_seconds = seconds(config.jobs_time_limit_default);
  settings.time_limit_max_seconds = seconds(config.jobs_time_limit_max);
  settings.root_allowed = config.jobs_root_allowed;
  settings.node_groups = config.node_groups;
  settings.topology = config.topology;
  settings.data = config.data;
  settings.proxy_url = config.proxy_url;
  settings.policy = sched::policy_from(config);
  return settings;
}

net::awaitable<UserEntry> look_up(std::uint32_t uid) { co_return look_up_user(uid); }

net::awaitable<Result<void>> probe(Store* store) { co_return store->probe(); }

}  // namespace

Controller::Controller(asio::io_context& io, Config config, std::unique_ptr<Store> store)
    : io_(io),
      pool_(2),
      config_(std::move(config)),
      store_(std::move(store)),
      vault_(config_.controller_state_dir + "/secret.key"),
      post_(config_) {}

Result<std::uint16_t> Controller::start() {
  up_since_ = wall_now();
  ROTA_TRY(url_key_, load_url_key(config_.controller_state_dir + "/url.key"));
  ROTA_CHECK(load());
  net::ListenerOptions options;
  options.address = config_.controller_listen;
  options.munge_socket = config_.munge_socket;
  options.sessions_max = config_.controller_sessions_max;
  options.half_open_max = config_.controller_half_open_max;
  ROTA_TRY(listener_, net::Listener::start(io_.get_executor(), std::move(options),
                                           [this](std::shared_ptr<net::Connection> connection) {
                                             serve(*this, std::move(connection));
                                           }));
  asio::co_spawn(io_, tick(), net::log_end("tick"));
  return listener_->port();
}

void Controller::stop() {
  stopping_ = true;
  listener_->stop();
  links_.close_all("the controller stops");
  pool_.join();
  io_.stop();
}

Result<void> Controller::load() {
  WallTime past_since;
  if (config_.scheduler_history_weight > 0)
    past_since = {wall_now().microseconds - std::chrono::duration_cast<std::chrono::microseconds>(
                                                config_.scheduler_history_window)
                                                .count()};
  ROTA_TRY(auto snapshot, store_->load(config_.jobs_ended_kept, past_since));
  const std::size_t jobs = snapshot.jobs.size();
  const std::size_t nodes = snapshot.nodes.size();
  engine_ = std::make_unique<Engine>(settings_from(config_), std::move(snapshot), now());
  log::info("loaded {} jobs ({} waiting, {} not ended) and {} nodes", jobs,
            engine_->waiting_count(), engine_->live_count(), nodes);
  // All else goes on: only jobs that ask for a secret cannot start.
  if (const std::string trouble = vault_trouble(*store_, vault_, engine_->secrets());
      !trouble.empty())
    log::error("no secret can be opened: {}", trouble);
  return {};
}

bool Controller::is_trusted(std::uint32_t uid) const { return uid == 0 || uid == geteuid(); }

net::awaitable<Caller> Controller::caller_of(net::Peer peer) {
  Caller caller;
  caller.owner = {peer.uid, peer.gid, {}};
  caller.is_admin = is_trusted(peer.uid);
  const UserEntry* known = users_.find(peer.uid, mono_now());
  if (known == nullptr) {
    auto work = look_up(peer.uid);
    UserEntry user = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
    users_.put(peer.uid, std::move(user), mono_now());
    known = users_.find(peer.uid, mono_now());
  }
  if (known != nullptr) {
    caller.owner.user = known->name;
    caller.groups = known->groups;
  }
  co_return caller;
}

net::awaitable<void> Controller::tick() {
  asio::steady_timer timer(io_);
  while (!stopping_) {
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    if (!trouble_.empty()) continue;
    engine_->tick(now());
    wake();
  }
}

/// The engine has gone ahead of a store that would not take the rows. Nothing of that was told to
/// anybody, so go back: answer what waits with the error, let the nodes go, and begin again from
/// what is committed, as after a crash. Reads work meanwhile; changes are refused until a row can
/// be written.
net::awaitable<void> Controller::recover(Error cause, std::vector<Answer> unanswered) {
  trouble_ = cause.detail;
  log::error("{}; no changes are accepted until it can be", cause.message());
  for (auto& answer : answers_) unanswered.push_back(std::move(answer));
  answers_.clear();
  proto::ErrorReply reply{static_cast<std::uint16_t>(Errc::store_unavailable), cause.detail};
  for (const auto& answer : unanswered) answer.connection->send(reply, answer.call);
  links_.close_all("the controller's store cannot be written");
  asio::steady_timer timer(io_);
  bool is_loaded = false;
  while (!stopping_) {
    if (!is_loaded) {
      const auto loaded = load();
      is_loaded = loaded.has_value();
      if (!is_loaded) log::error("{}", loaded.error().message());
    }
    timer.expires_after(std::chrono::seconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    auto work = probe(store_.get());
    const auto probed = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
    if (probed && is_loaded) break;
    if (!probed) trouble_ = probed.error().detail;
  }
  log::info("the store can be written again; changes are accepted");
  trouble_.clear();
}

}  // namespace rota::ctld
