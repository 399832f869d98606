// ctld/watchers.cpp - changes of the queue, pushed.
#include "ctld/watchers.h"

#include <algorithm>

#include "proto/messages.h"

namespace rota::ctld {
namespace {
constexpr std::size_t backlog_max = 16u << 20;

/// A watcher must also hear that a job left what it watches: states do not restrict news.
bool concerns(JobFilter filter, const Job& job) {
  filter.states.clear();
  filter.ended_too = true;
  return matches(filter, job);
}
}  // namespace

void Watchers::add(Watch watch) { watches_.push_back(std::move(watch)); }

void Watchers::remove(const net::Connection* connection) {
  std::erase_if(watches_,
                [connection](const Watch& watch) { return watch.connection.get() == connection; });
}

std::vector<Watchers::News> Watchers::news_of(const Engine& engine,
                                              const std::vector<JobId>& changed) const {
  std::vector<News> all;
  for (const Watch& watch : watches_) {
    News news{watch, {}};
    for (const JobId id : changed) {
      const Job* job = engine.find(id);
      if (job != nullptr && concerns(watch.filter, *job)) news.jobs.push_back(engine.view(*job));
    }
    if (!news.jobs.empty()) all.push_back(std::move(news));
  }
  return all;
}

void tell(const Watchers::News& news) {
  constexpr std::size_t jobs_per_frame = 1000;
  for (std::size_t at = 0; at < news.jobs.size(); at += jobs_per_frame) {
    if (news.watch.connection->backlog_bytes() > backlog_max) {
      news.watch.connection->close("it watches the queue but does not read");
      return;
    }
    proto::QueueReply reply;
    const auto end = std::min(news.jobs.size(), at + jobs_per_frame);
    reply.jobs.assign(news.jobs.begin() + static_cast<std::ptrdiff_t>(at),
                      news.jobs.begin() + static_cast<std::ptrdiff_t>(end));
    reply.complete = true;
    news.watch.connection->send(reply, news.watch.call, proto::frame_more);
  }
}

}  // namespace rota::ctld
