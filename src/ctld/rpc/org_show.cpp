// ctld/rpc/org_show.cpp - radmin, rproject, rshare: the organisation and who holds what, in slices.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/clock.h"
#include "ctld/rpc/rpc.h"
#include "ctld/shares.h"

namespace rota::ctld::rpc {
namespace {

constexpr std::size_t jobs_per_slice = 5000;
constexpr std::size_t bytes_per_frame = 1u << 20;
constexpr std::size_t backlog_high = 4u << 20;

/// The next items of `list`, as long as there is room, which shrinks by what they take.
template <class T>
void take_some(const std::vector<T>& list, std::size_t& position, std::size_t& room,
               std::vector<T>& out) {
  for (; position < list.size() && room > 0; ++position) {
    room -= std::min(room, bytes_of(list[position]));
    out.push_back(list[position]);
  }
}

/// How far each list has been sent.
struct Position {
  std::size_t departments = 0, projects = 0, queues = 0, users = 0, shares = 0;
};

}  // namespace

net::awaitable<void> org_show(Controller& controller, std::shared_ptr<net::Connection> connection,
                              std::uint32_t call, proto::OrgShowRequest request) {
  // Each job is looked at once, between other work: a long queue never holds up the engine.
  ShareTally tally;
  if (request.shares) {
    JobId last;
    for (bool done = false; !done && connection->is_open();) {
      const auto& jobs = controller.engine().jobs();
      auto at = jobs.upper_bound(last);
      for (std::size_t i = 0; i < jobs_per_slice && at != jobs.end(); ++i, ++at) {
        tally.add(at->second, controller.engine().scheduler().gpu_amount(at->second.spec));
        last = at->first;
      }
      done = at == jobs.end();
      co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                                 boost::asio::use_awaitable);
    }
  }
  // One state of it, whatever changes while it is sent.
  const Org org = controller.engine().org();
  const std::uint64_t revision = controller.engine().org_revision();
  std::vector<ShareView> shares;
  if (request.shares) {
    const Now now{mono_now(), wall_now()};
    for (const Project& project : org.projects)
      for (const auto& line : controller.engine().usage_of(project.name, now))
        tally.add_usage(project.name, line.user, line.used);
    shares = controller.engine().with_fair_shares(tally.views(org));
  }
  Position position;
  for (;;) {
    proto::OrgShowReply reply;
    reply.revision = revision;
    std::size_t room = bytes_per_frame;
    take_some(org.departments, position.departments, room, reply.org.departments);
    take_some(org.projects, position.projects, room, reply.org.projects);
    take_some(org.queues, position.queues, room, reply.org.queues);
    take_some(org.users, position.users, room, reply.org.users);
    take_some(shares, position.shares, room, reply.shares);
    const bool done = room > 0;
    controller.answer(connection, reply, call, done ? 0 : proto::frame_more);
    if (done || !connection->is_open()) co_return;
    co_await connection->backlog_below(backlog_high);
    co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                               boost::asio::use_awaitable);
  }
}

}  // namespace rota::ctld::rpc
