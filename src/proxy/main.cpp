// proxy/main.cpp - rproxy: flags, configuration, wiring.
#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <functional>
#include <optional>

#include "common/config.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/log.h"
#include "common/names.h"
#include "common/notify.h"
#include "common/units.h"
#include "common/version.h"
#include "proxy/server.h"

namespace rota::proxy {
namespace {

namespace asio = boost::asio;

constexpr char usage_text[] =
    "Usage: rproxy [--config FILE] [--check FILE] [--ready-fd N]\n"
    "Leads browsers to the ports of jobs that were submitted with --url.\n"
    "\n"
    "  -c, --config FILE   configuration (default: $ROTA_CONFIG, then the system's rota.yaml)\n"
    "      --check FILE    check FILE and end: 0 if it is good\n"
    "      --ready-fd N    write the listening address to descriptor N when ready\n"
    "  -h, --help          this text\n"
    "  -V, --version       the version\n";

struct Flags {
  std::string config;
  std::string check;
  int ready_fd = -1;
};

int fail(const Error& error) {
  std::fprintf(stderr, "rproxy: %s\n", error.message().c_str());
  return 1;
}

/// The exit code, if the flags were all there was to it.
std::optional<int> parse_flags(int argc, char** argv, Flags& flags) {
  static const option options[] = {
      {"config", required_argument, nullptr, 'c'},   {"check", required_argument, nullptr, 'k'},
      {"ready-fd", required_argument, nullptr, 'r'}, {"help", no_argument, nullptr, 'h'},
      {"version", no_argument, nullptr, 'V'},        {nullptr, 0, nullptr, 0}};
  for (int letter; (letter = getopt_long(argc, argv, "c:hV", options, nullptr)) != -1;) {
    if (letter == 'h') return std::fputs(usage_text, stdout), 0;
    if (letter == 'V') return std::printf("rproxy %s\n", std::string(version()).c_str()), 0;
    if (letter == 'c') flags.config = optarg;
    if (letter == 'k') flags.check = optarg;
    if (letter == 'r') {
      const auto fd = number_parse(optarg, 1 << 20);
      if (!fd) return fail(fd.error()), 2;
      flags.ready_fd = static_cast<int>(*fd);
    }
    if (letter == '?') return std::fputs("Try 'rproxy --help'.\n", stderr), 2;
  }
  if (optind == argc) return std::nullopt;
  std::fprintf(stderr, "rproxy: unexpected argument '%s'\n", argv[optind]);
  return 2;
}

Result<net::ConnectOptions> controller_of(const Config& config) {
  net::ConnectOptions options;
  options.address = config.controller_address;
  options.munge_socket = config.munge_socket;
  if (config.controller_user == "root") return options;
  if (const auto number = number_parse(config.controller_user, UINT32_MAX - 1)) {
    options.peer_uid = static_cast<std::uint32_t>(*number);
    return options;
  }
  ROTA_TRY(const auto uid, uid_of_user(config.controller_user));
  if (!uid)
    return Error{Errc::config_invalid, format("controller.user: this host has no user {}",
                                              quoted(config.controller_user))};
  options.peer_uid = *uid;
  return options;
}

/// Each connection has three descriptors.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) log::warning("cannot raise the limit of open files");
}

/// Calls `heed` each time the signal comes.
class OnSignal {
 public:
  OnSignal(asio::io_context& io, int number, std::function<void()> heed)
      : set_(io, number), heed_(std::move(heed)) {
    wait();
  }

 private:
  void wait() {
    set_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      heed_();
      wait();
    });
  }
  asio::signal_set set_;
  std::function<void()> heed_;
};

Result<void> run(const Config& config, int ready_fd) {
  ROTA_TRY(const auto level, log::level_from(config.log_level));
  ROTA_CHECK(log::open("rproxy", config.log_file, level));
  raise_file_limit();
  ROTA_TRY(auto controller, controller_of(config));
  asio::io_context io(1);
  Server server(io, config, std::move(controller));
  const auto end = [&io] {
    (void)notify_stopping();
    io.stop();
  };
  const OnSignal terminate(io, SIGTERM, end);
  const OnSignal interrupt(io, SIGINT, end);
  const OnSignal rotate(io, SIGUSR2, [] { log::reopen(); });
  const OnSignal renew(io, SIGHUP, [&server] {
    const auto loaded = server.load_certificate();
    if (loaded)
      log::info("the certificate was read anew");
    else
      log::error("{}; the one before stays", loaded.error().message());
  });
  ROTA_TRY(const std::uint16_t port, server.start());
  const std::string& listen = config.proxy_listen;
  const std::string address = listen.substr(0, listen.rfind(':') + 1) + std::to_string(port);
  log::info("rproxy {} listens on {} for {}", version(), address, config.proxy_url);
  if (ready_fd >= 0) ROTA_CHECK(notify_ready_fd(ready_fd, address));
  ROTA_CHECK(notify_ready());
  io.run();
  return {};
}

int main_of(int argc, char** argv) {
  Flags flags;
  if (const auto code = parse_flags(argc, argv, flags)) return *code;
  signal(SIGPIPE, SIG_IGN);
  if (!flags.check.empty()) {
    const auto checked = config_load(flags.check);
    if (!checked) return fail(checked.error());
    std::printf("%s is good\n", flags.check.c_str());
    return 0;
  }
  const auto config = flags.config.empty() ? config_default() : config_load(flags.config);
  if (!config) return fail(config.error());
  if (const auto done = run(*config, flags.ready_fd); !done) {
    log::error("{}", done.error().message());
    return fail(done.error());
  }
  return 0;
}

}  // namespace
}  // namespace rota::proxy

int main(int argc, char** argv) { return rota::proxy::main_of(argc, argv); }
