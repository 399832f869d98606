// commands/watch.cpp - a watch that outlives sessions.
#include "commands/watch.h"

#include <boost/asio/this_coro.hpp>

#include "common/clock.h"
#include "common/format.h"

namespace rota::commands {
JobWatch::JobWatch(net::ConnectOptions options, JobFilter filter, Duration patience)
    : options_(std::move(options)), filter_(std::move(filter)), patience_(patience) {}

awaitable<Result<void>> JobWatch::open() {
  auto executor = co_await boost::asio::this_coro::executor;
  const MonoTime deadline = mono_now() + patience_;
  // Not `first ? co_await a : co_await b`: g++ 12 destroys the chosen one's temporaries twice.
  if (generation_ == 0) {
    ROTA_CO_TRY(connection_, co_await net::connect(executor, options_));
  } else {
    ROTA_CO_TRY(connection_, co_await reconnect(options_, deadline));
  }
  ++generation_;
  const proto::QueueRequest request{.filter = filter_, .watch = true};
  connection_->send(request, 1);
  co_return Result<void>();
}

awaitable<Result<proto::QueueReply>> JobWatch::next(Duration limit) {
  const MonoTime deadline = mono_now() + limit;
  for (;;) {
    if (!connection_) ROTA_CO_CHECK(co_await open());
    // A controller that is silent is not lost: TCP itself finds out when its host is gone.
    auto frame = co_await connection_->read(deadline - mono_now());
    if (frame) co_return net::reply_from<proto::QueueReply>(*frame);
    if (frame.error().code == Errc::timed_out) co_return frame.error();
    connection_.reset();
  }
}

awaitable<Result<JobView>> wait_for_job(net::ConnectOptions options, JobId id, Duration patience,
                                        bool (*done)(const JobView&)) {
  JobFilter filter;
  filter.jobs.push_back(id);
  JobWatch watch(std::move(options), std::move(filter), patience);
  int generation = 0;
  bool seen = false;
  for (;;) {
    auto reply = co_await watch.next(std::chrono::hours(1));
    if (!reply && reply.error().code == Errc::timed_out && watch.generation() > 0) continue;
    if (!reply) co_return reply.error();
    if (watch.generation() != generation) seen = false;
    generation = watch.generation();
    for (JobView& job : reply->jobs) {
      if (job.id != id) continue;
      seen = true;
      if (done(job)) co_return std::move(job);
    }
    if (reply->complete && !seen)
      co_return Error{Errc::no_such_job, format("{} is not on the controller's record", id.value)};
  }
}

}  // namespace rota::commands
