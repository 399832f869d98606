// testsuite/bench/bench.cpp - one measuring client: pipelined submits, start latency, jobs end to
// end. Prints one number per line: "name value unit".
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/config.h"
#include "net/client.h"
#include "net/log_end.h"

namespace rota::bench {
namespace {

using net::awaitable;
using net::Connection;

double seconds_since(MonoTime start) {
  return static_cast<double>((mono_now() - start).count()) / 1e9;
}

void print(const char* name, double value, const char* unit) {
  std::printf("%s %.3f %s\n", name, value, unit);
  std::fflush(stdout);
}

proto::SubmitRequest make_request(std::vector<std::string> command, std::uint32_t gpus) {
  proto::SubmitRequest request;
  std::uint64_t id[2];
  if (getrandom(id, sizeof id, 0) != sizeof id) std::abort();
  request.request = {id[0], id[1]};
  request.spec.name = "bench";
  request.spec.task.gpu_count = gpus;
  request.payload.mode = LaunchMode::tasks;
  request.payload.arguments = std::move(command);
  request.payload.environment = {"PATH=/usr/bin:/bin", "HOME=/", "LANG=C"};
  request.payload.working_directory = "/";
  request.payload.stdout_pattern = "/dev/null";
  return request;
}

awaitable<Result<std::shared_ptr<Connection>>> connect(boost::asio::any_io_executor executor) {
  ROTA_CO_TRY(const auto config, config_default());
  net::ConnectOptions options;
  options.address = config.controller_address;
  options.munge_socket = config.munge_socket;
  options.peer_uid = geteuid();  // a minicluster runs as its user
  co_return co_await net::connect(executor, options);
}

/// Keeps `window` submits under way until `count` are acknowledged.
awaitable<Result<void>> submit_many(std::shared_ptr<Connection> session, int count, int window,
                                    std::uint32_t gpus, std::vector<std::string> command) {
  int sent = 0;
  for (int answered = 0; answered < count; ++answered) {
    for (; sent < count && sent - answered < window; ++sent)
      session->send(make_request(command, gpus), static_cast<std::uint32_t>(sent + 1));
    const auto frame = co_await session->read(std::chrono::seconds(60));
    if (!frame) co_return frame.error();
    if (const auto reply = net::reply_from<proto::SubmitReply>(*frame); !reply)
      co_return reply.error();
  }
  co_return Result<void>();
}

awaitable<Result<void>> bench_submit(boost::asio::any_io_executor executor, int count, int gpus) {
  ROTA_CO_TRY(auto session, co_await connect(executor));
  const MonoTime start = mono_now();
  std::vector<std::string> command{"true"};
  ROTA_CO_CHECK(co_await submit_many(session, count, 1000, static_cast<std::uint32_t>(gpus),
                                     std::move(command)));
  print("submit_rate", count / seconds_since(start), "jobs/s");
  co_return Result<void>();
}

/// One job at a time on an idle cluster: from the submit to the news that it runs.
awaitable<Result<void>> bench_latency(boost::asio::any_io_executor executor, int count, int) {
  ROTA_CO_TRY(auto watcher, co_await connect(executor));
  ROTA_CO_TRY(auto session, co_await connect(executor));
  proto::QueueRequest watch;
  watch.watch = true;
  watch.filter.names = {"bench"};
  watcher->send(watch, 1);
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const MonoTime start = mono_now();
    session->send(make_request({"true"}, 1), 1);
    const auto frame = co_await session->read(std::chrono::seconds(10));
    if (!frame) co_return frame.error();
    ROTA_CO_TRY(const auto submitted, net::reply_from<proto::SubmitReply>(*frame));
    bool ran = false, ended = false;
    while (!ended) {
      const auto news = co_await watcher->read(std::chrono::seconds(10));
      if (!news) co_return news.error();
      ROTA_CO_TRY(const auto reply, net::reply_from<proto::QueueReply>(*news));
      for (const auto& job : reply.jobs) {
        if (job.id != submitted.job) continue;
        if (!ran && job.state >= JobState::running) {
          times.push_back(seconds_since(start) * 1000);
          ran = true;
        }
        ended = is_final(job.state);
      }
    }
  }
  std::sort(times.begin(), times.end());
  print("start_latency_p50", times[times.size() / 2], "ms");
  print("start_latency_p95", times[times.size() * 95 / 100], "ms");
  co_return Result<void>();
}

/// Trivial jobs from submit to end, as many as the nodes take.
awaitable<Result<void>> bench_throughput(boost::asio::any_io_executor executor, int count,
                                         int gpus) {
  ROTA_CO_TRY(auto watcher, co_await connect(executor));
  ROTA_CO_TRY(auto session, co_await connect(executor));
  proto::QueueRequest watch;
  watch.watch = true;
  watch.filter.names = {"bench"};
  watcher->send(watch, 1);
  const MonoTime start = mono_now();
  std::vector<std::string> command{"/bin/true"};
  ROTA_CO_CHECK(co_await submit_many(session, count, 1000, static_cast<std::uint32_t>(gpus),
                                     std::move(command)));
  std::set<JobId> ended;
  while (static_cast<int>(ended.size()) < count) {
    const auto news = co_await watcher->read(std::chrono::seconds(60));
    if (!news) co_return news.error();
    ROTA_CO_TRY(const auto reply, net::reply_from<proto::QueueReply>(*news));
    for (const auto& job : reply.jobs) {
      if (!is_final(job.state)) continue;
      if (job.state != JobState::completed)
        co_return Error{Errc::internal, "a job ended as " + std::string(name_of(job.state))};
      ended.insert(job.id);
    }
  }
  print("jobs_end_to_end", count / seconds_since(start), "jobs/s");
  co_return Result<void>();
}

using Measure = awaitable<Result<void>> (*)(boost::asio::any_io_executor, int, int);

awaitable<void> run(Measure measure, boost::asio::any_io_executor executor, int count, int gpus,
                    int& code) {
  const auto done = co_await measure(executor, count, gpus);
  if (!done) std::fprintf(stderr, "bench: %s\n", done.error().message().c_str());
  code = done ? 0 : 1;
}

int main_of(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench submit|latency|throughput COUNT [GPUS]\n");
    return 2;
  }
  const std::string what = argv[1];
  const int count = std::atoi(argv[2]);
  const int gpus = argc > 3 ? std::atoi(argv[3]) : 1;
  const Measure measure = what == "submit"    ? bench_submit
                          : what == "latency" ? bench_latency
                                              : bench_throughput;
  boost::asio::io_context io(1);
  int code = 1;
  boost::asio::co_spawn(io, run(measure, io.get_executor(), count, gpus, code),
                        net::log_end("bench"));
  io.run();
  return code;
}

}  // namespace
}  // namespace rota::bench

int main(int argc, char** argv) { return rota::bench::main_of(argc, argv); }
