// ctld/rpc/queue.cpp - rqueue: the jobs that match, in slices, then changes as they come.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "ctld/rpc/rpc.h"

namespace rota::ctld::rpc {
namespace {

constexpr std::size_t looked_at_per_slice = 500;  // half a millisecond: nobody waits longer
constexpr std::size_t sent_per_frame = 500;
constexpr std::size_t backlog_high = 4u << 20;

/// Then their tasks are meant too, wherever they stand.
bool names_arrays(const Engine& engine, const JobFilter& filter) {
  return !filter.tasks.empty() || std::ranges::any_of(filter.jobs, [&engine](JobId id) {
    const Job* job = engine.find(id);
    return job != nullptr && job->spec.is_array();
  });
}

/// The ids to look at after `last`, at most a slice of them.
std::vector<JobId> next_ids(const Engine& engine, const JobFilter& filter, std::size_t& position,
                            JobId last) {
  std::vector<JobId> ids;
  if (filter.names_jobs() && !names_arrays(engine, filter)) {
    while (position < filter.jobs.size() && ids.size() < looked_at_per_slice)
      ids.push_back(filter.jobs[position++]);
    return ids;
  }
  for (auto at = engine.jobs().upper_bound(last);
       at != engine.jobs().end() && ids.size() < looked_at_per_slice; ++at)
    ids.push_back(at->first);
  return ids;
}

}  // namespace

net::awaitable<void> queue(Controller& controller, std::shared_ptr<net::Connection> connection,
                           std::uint32_t call, proto::QueueRequest request) {
  // Watching begins first: a change during the listing is then told after it, never missed.
  if (request.watch) controller.watchers().add({connection, call, request.filter});
  std::size_t position = 0;
  JobId last;
  for (bool done = false; !done && connection->is_open();) {
    const auto ids = next_ids(controller.engine(), request.filter, position, last);
    done = ids.empty();
    if (!done) last = ids.back();
    proto::QueueReply reply;
    for (const JobId id : ids) {
      const Job* job = controller.engine().find(id);
      if (job == nullptr || !matches(request.filter, *job)) continue;
      reply.jobs.push_back(controller.engine().view(*job));
      if (reply.jobs.size() < sent_per_frame) continue;
      controller.answer(connection, reply, call, proto::frame_more);
      reply.jobs.clear();
    }
    reply.complete = done;
    if (done || !reply.jobs.empty())
      controller.answer(connection, reply, call, done && !request.watch ? 0 : proto::frame_more);
    co_await connection->backlog_below(backlog_high);
    co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                               boost::asio::use_awaitable);
  }
}

}  // namespace rota::ctld::rpc
