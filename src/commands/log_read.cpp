// commands/log_read.cpp - asks the controller where the output is, and the node for it.
#include "commands/log_read.h"

#include <boost/asio/this_coro.hpp>

#include "commands/log_lines.h"
#include "commands/output.h"
#include "commands/watch.h"
#include "common/clock.h"
#include "common/format.h"
#include "proto/views.h"

namespace rota::commands {
namespace {

/// How often a silent node's session is looked at; TCP finds out when its host is gone.
constexpr Duration silence_limit = std::chrono::minutes(1);

bool has_started(const JobView& job) {
  return job.state != JobState::pending && job.state != JobState::starting;
}

/// Where the output is. With `follow`, a job that has not started is waited for.
awaitable<Result<proto::LogsReply>> find_log(net::ConnectOptions controller, LogOptions options) {
  const proto::LogsRequest request{.job = options.job, .task = options.task};
  for (bool waited = false;; waited = true) {
    auto frame = co_await exchange(controller, proto::LogsRequest::number, proto::encode(request));
    if (!frame) co_return frame.error();
    auto where = net::reply_from<proto::LogsReply>(*frame);
    const bool early = !where && where.error().code == Errc::job_not_started;
    if (!early || waited || !options.follow) co_return where;
    auto job = co_await wait_for_job(controller, options.job, patience, has_started);
    if (!job) co_return job.error();
  }
}

/// Prints what one session with the node brings; counts the bytes into `offset`.
awaitable<Result<void>> print_from_node(net::ConnectOptions node, proto::LogRead request,
                                        std::uint64_t& offset, LogLines& lines) {
  auto executor = co_await boost::asio::this_coro::executor;
  auto connection = co_await net::connect(executor, std::move(node));
  if (!connection) co_return connection.error();
  (*connection)->send(request, 1);
  for (;;) {
    auto frame = co_await (*connection)->read(silence_limit);
    if (!frame && frame.error().code == Errc::timed_out && request.follow) continue;
    if (!frame) co_return frame.error();
    auto chunk = net::reply_from<proto::LogChunkView>(*frame);
    if (!chunk) co_return chunk.error();
    if (lines.is_needed()) {
      ROTA_CO_CHECK(print(lines.take(chunk->data, wall_now())));
    } else {
      ROTA_CO_CHECK(print(chunk->data));
    }
    offset += chunk->data.size();
    if ((frame->flags & proto::frame_more) == 0) co_return Result<void>();
  }
}

bool may_come_back(Errc code) {
  return code == Errc::peer_lost || code == Errc::unreachable || code == Errc::node_unreachable ||
         code == Errc::malformed;
}

}  // namespace

awaitable<Result<bool>> print_log(net::ConnectOptions controller, LogOptions options) {
  std::uint64_t offset = 0;
  LogLines lines(options.since, options.timestamps);
  MonoTime heard = mono_now();
  for (bool first = true;; first = false) {
    Error error;
    const std::uint64_t before = offset;
    auto where = co_await find_log(controller, options);
    if (where) {
      proto::LogRead request;
      request.ticket = where->ticket;
      request.errors = options.errors;
      request.follow = options.follow;
      request.offset = offset;
      request.tail_lines = options.tail_lines;
      auto printed = co_await print_from_node(
          node_options(controller, where->node, where->address, where->node_uid), request, offset,
          lines);
      if (printed) {
        ROTA_CO_CHECK(print(lines.rest(wall_now())));
        co_return !lines.is_blind();
      }
      error = printed.error();
    } else {
      error = where.error();
    }
    if (offset > before) heard = mono_now();
    // The last lines cannot be taken up again: where they began is the node's knowledge.
    const bool resumable = options.follow && options.tail_lines < 0 && (offset > 0 || !first);
    if (!resumable || !may_come_back(error.code) || mono_now() - heard > patience) co_return error;
    co_await pause(std::chrono::milliseconds(500));
  }
}

}  // namespace rota::commands
