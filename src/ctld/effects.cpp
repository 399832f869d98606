// ctld/effects.cpp - carries effects out: the store first, then answers, orders and news.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/clock.h"
#include "common/log.h"
#include "ctld/controller.h"
#include "ctld/secrets.h"
#include "model/door.h"
#include "net/log_end.h"

namespace rota::ctld {

namespace asio = boost::asio;

namespace {

net::awaitable<Result<void>> commit_rows(Store* store,
                                         std::shared_ptr<const std::vector<Row>> rows) {
  co_return store->commit(*rows);
}

Controller::Payloads payloads_in(const std::vector<Row>& rows) {
  Controller::Payloads payloads;
  for (const Row& row : rows)
    if (const auto* put = std::get_if<PayloadPut>(&row)) payloads.emplace(put->job, &put->payload);
  return payloads;
}

}  // namespace

void Controller::answer(Answer answer) {
  if (!trouble_.empty()) {
    // The engine holds nothing but what is committed: there is nothing to wait for.
    answer.connection->send_frame(answer.type, answer.call, answer.flags, std::move(answer.body));
    return;
  }
  answers_.push_back(std::move(answer));
  wake();
}

void Controller::answer_error(std::shared_ptr<net::Connection> connection, const Error& error,
                              std::uint32_t call) {
  const proto::ErrorReply reply{static_cast<std::uint16_t>(error.code), error.detail};
  answer(std::move(connection), reply, call);
}

void Controller::wake() {
  woken_ = true;
  if (pumping_ || stopping_) return;
  pumping_ = true;
  asio::co_spawn(io_, pump(), net::log_end("pump"));
}

net::awaitable<Result<void>> Controller::commit(std::shared_ptr<const std::vector<Row>> rows) {
  auto work = commit_rows(store_.get(), std::move(rows));
  auto result = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  co_return result;
}

/// While one batch is being committed the engine goes on with the next: durability costs one
/// synchronisation per batch, not per job.
net::awaitable<void> Controller::pump() {
  while (woken_ && !stopping_) {
    // Whatever has already arrived joins this batch.
    co_await asio::post(io_, asio::use_awaitable);
    woken_ = false;
    engine_->schedule(now());
    Effects effects = engine_->take_effects();
    std::vector<Answer> answers;
    answers.swap(answers_);
    const auto news = watchers_.empty() ? std::vector<Watchers::News>()
                                        : watchers_.news_of(*engine_, effects.changed);
    const auto rows = std::make_shared<const std::vector<Row>>(std::move(effects.rows));
    if (!rows->empty()) {
      const auto committed = co_await commit(rows);
      if (!committed) {
        co_await recover(committed.error(), std::move(answers));
        woken_ = true;
        continue;
      }
    }
    for (auto& answer : answers)
      answer.connection->send_frame(answer.type, answer.call, answer.flags, std::move(answer.body));
    deliver(effects.orders, *rows);
    for (const std::string& note : effects.notes) log::info("{}", note);
    for (const Notice& notice : effects.notices) post_.send(notice);
    for (const NodeId id : effects.silent) links_.close(id, "the node does not answer");
    for (const auto& each : news) tell(each);
  }
  pumping_ = false;
}

void Controller::deliver(const std::vector<NodeOrder>& orders, const std::vector<Row>& rows) {
  if (orders.empty()) return;
  const Payloads fresh = payloads_in(rows);
  for (const NodeOrder& order : orders) {
    const NodeLink* link = links_.find(order.node);
    // An order for a session that is gone must not reach the next one: what was settled at that
    // join may contradict it. The node hears what still matters whenever it joins.
    if (link == nullptr || link->join != order.join) continue;
    if (const auto* launch = std::get_if<proto::LaunchRun>(&order.message)) {
      if (const auto sent = deliver_launch(*link, *launch, fresh); !sent) {
        log::error("job {}: {}", launch->run.job.value, sent.error().message());
        engine_->run_ended(order.node, launch->run,
                           {.cause = EndCause::launch_failed, .detail = sent.error().detail}, {},
                           now());
        wake();
      }
      continue;
    }
    if (const auto* fetch = std::get_if<proto::FetchImage>(&order.message)) {
      deliver_fetch(*link, *fetch, fresh);
      continue;
    }
    std::visit([link](const auto& message) { link->connection->send(message); }, order.message);
  }
}

Result<void> Controller::deliver_launch(const NodeLink& link, proto::LaunchRun launch,
                                        const Payloads& fresh) {
  // All tasks of an array have that of the array.
  ROTA_TRY(launch.payload, payload_of(launch.array.of ? launch.array.of : launch.run.job, fresh));
  ROTA_CHECK(add_secrets(*store_, vault_, launch));
  set_door_variables(config_.proxy_url, launch.run.job, *launch.spec.service,
                     launch.payload.environment);
  link.connection->send(launch);
  return {};
}

/// Nothing depends on it: the launch will bring the image, too.
void Controller::deliver_fetch(const NodeLink& link, proto::FetchImage fetch,
                               const Payloads& fresh) {
  const auto payload = payload_of(fetch.job, fresh);
  if (!payload) return log::warning("job {}: {}", fetch.job.value, payload.error().message());
  if (payload->container.pull == PullPolicy::never) return;
  fetch.runtime = payload->container.runtime;
  auto login = login_for(*store_, vault_, fetch.owner, fetch.image);
  if (!login) return log::warning("job {}: {}", fetch.job.value, login.error().message());
  fetch.login = *std::move(login);
  link.connection->send(fetch);
}

Result<JobPayload> Controller::payload_of(JobId job, const Payloads& fresh) {
  if (const auto payload = fresh.find(job); payload != fresh.end()) return *payload->second;
  ROTA_TRY(auto stored, store_->payload(job));
  if (!stored) return Error{Errc::launch_failed, "the store has no script for it"};
  return *std::move(stored);
}

}  // namespace rota::ctld
