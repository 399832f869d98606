// gpud/link.cpp - dial, greet, keep alive; and after any of them failed, wait and dial again.
#include "gpud/link.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "common/units.h"
#include "net/client.h"
#include "net/log_end.h"
#include "net/wakeup.h"

namespace rota::gpud {
namespace {

constexpr Duration first_pause = std::chrono::milliseconds(100);
constexpr Duration lasting_session = std::chrono::seconds(2);
constexpr Duration greeting_limit = std::chrono::seconds(30);
/// A controller that sets it to nothing would make us send without end.
constexpr Duration heartbeat_min = std::chrono::milliseconds(50);

}  // namespace

Duration BackOff::next() {
  Duration bound = first_pause;
  for (int i = 0; i < attempts_ && bound < longest_; ++i) bound *= 2;
  bound = std::min(bound, longest_);
  ++attempts_;
  return Duration(std::uniform_int_distribution<std::int64_t>(0, bound.count())(random_));
}

Link::Link(boost::asio::any_io_executor executor, Dial dial, Events events, BackOff back_off)
    : executor_(executor),
      dial_(std::move(dial)),
      events_(std::move(events)),
      back_off_(back_off),
      timer_(executor) {}

void Link::start() { boost::asio::co_spawn(executor_, run(), net::log_end("link")); }

void Link::stop() {
  stopped_ = true;
  timer_.cancel();
  if (connection_) connection_->close("rgpud ends");
}

net::awaitable<void> Link::run() {
  while (!stopped_) {
    auto connection = co_await dial_();
    bool lasted = false;
    if (connection)
      lasted = co_await serve(*std::move(connection));
    else
      failed(connection.error());
    // A session that worked and ended is worth an attempt at once: the controller was restarted.
    // One that ended as soon as it began would make us dial without a break.
    if (lasted) back_off_.reset();
    if (!stopped_ && !lasted) co_await pause();
  }
}

net::awaitable<void> Link::pause() {
  timer_.expires_after(back_off_.next());
  co_await timer_.async_wait(net::no_throw);
}

/// Says the same thing once, not every thirty seconds.
void Link::failed(const Error& error) {
  if (stopped_) return;
  std::string text = error.message();
  if (text == last_failure_) return log::debug("controller: {}", text);
  log::warning("controller: {}", text);
  last_failure_ = std::move(text);
}

/// True when the controller took us, and not only for a moment.
net::awaitable<bool> Link::serve(std::shared_ptr<net::Connection> connection) {
  connection_ = connection;
  const MonoTime greeted = mono_now();
  events_.connected(connection);
  auto welcome = co_await greet(connection);
  const MonoTime begun = mono_now();
  if (welcome) {
    last_failure_.clear();
    log::info("joined the cluster {} at {}", welcome->settings.cluster_name,
              connection->peer().address);
    events_.welcomed(*welcome);
    events_.in_contact(greeted);
    const Error end = co_await keep(connection, welcome->settings);
    if (!stopped_) log::warning("session with the controller ended: {}", end.message());
  } else {
    failed(welcome.error());
  }
  connection->close("session over");
  connection_.reset();
  events_.disconnected();
  co_return welcome.has_value() && mono_now() - begun >= lasting_session;
}

net::awaitable<Result<proto::NodeWelcome>> Link::greet(
    std::shared_ptr<net::Connection> connection) {
  const MonoTime deadline = mono_now() + greeting_limit;
  for (;;) {
    const Duration left = std::max(deadline - mono_now(), Duration::zero());
    auto frame = co_await connection->read(left);
    if (!frame) co_return frame.error();
    if (frame->type == proto::NodeWelcome::number || frame->type == proto::ErrorReply::number)
      co_return net::reply_from<proto::NodeWelcome>(*frame);
    // Orders may come before the answer; they mean the same then.
    ROTA_CO_CHECK(take(*frame));
  }
}

net::awaitable<Error> Link::keep(std::shared_ptr<net::Connection> connection,
                                 NodeSettings settings) {
  const Duration interval =
      std::max<Duration>(std::chrono::milliseconds(settings.heartbeat_ms), heartbeat_min);
  const Duration silence_max =
      std::max<Duration>(std::chrono::milliseconds(settings.lost_after_ms), 2 * interval);
  MonoTime beat_at = mono_now();
  MonoTime heard_at = beat_at;
  for (;;) {
    const MonoTime before = mono_now();
    if (before >= beat_at) {
      beat_sent_ = before;
      connection->send(events_.heartbeat(), ++beat_call_);
      beat_at = before + interval;
    }
    auto frame = co_await connection->read(beat_at - before);
    if (frame) {
      heard_at = mono_now();
      if (const auto taken = take(*frame); !taken) co_return taken.error();
    } else if (frame.error().code != Errc::timed_out) {
      co_return frame.error();
    } else if (mono_now() - heard_at > silence_max) {
      co_return Error{Errc::timed_out,
                      format("nothing was heard of it for {}", duration_format(silence_max))};
    }
  }
}

Result<void> Link::take(const proto::Frame& frame) {
  if (frame.type != proto::HeartbeatReply::number) return events_.received(frame);
  ROTA_TRY(const auto reply, proto::decode<proto::HeartbeatReply>(frame.body));
  if (!reply.known) return Error{Errc::no_such_node, "the controller has forgotten this node"};
  if (frame.call == beat_call_) events_.in_contact(beat_sent_);
  return {};
}

}  // namespace rota::gpud
