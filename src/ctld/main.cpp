// ctld/main.cpp - rctld: flags, configuration, wiring.
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "common/config.h"
#include "common/format.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/units.h"
#include "common/version.h"
#include "ctld/controller.h"

namespace rota::ctld {
namespace {

namespace asio = boost::asio;

constexpr char usage_text[] =
    "Usage: rctld [--config FILE] [--check FILE] [--ready-fd N]\n"
    "Rota's controller: holds the queue, places jobs on nodes, keeps the record.\n"
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
  std::fprintf(stderr, "rctld: %s\n", error.message().c_str());
  return 1;
}

/// What to do, or the exit code if the flags were all there was to it.
std::optional<int> parse_flags(int argc, char** argv, Flags& flags) {
  static const option options[] = {
      {"config", required_argument, nullptr, 'c'},   {"check", required_argument, nullptr, 'k'},
      {"ready-fd", required_argument, nullptr, 'r'}, {"help", no_argument, nullptr, 'h'},
      {"version", no_argument, nullptr, 'V'},        {nullptr, 0, nullptr, 0}};
  for (int letter; (letter = getopt_long(argc, argv, "c:hV", options, nullptr)) != -1;) {
    switch (letter) {
      case 'c':
        flags.config = optarg;
        break;
      case 'k':
        flags.check = optarg;
        break;
      case 'r': {
        const auto fd = number_parse(optarg, 1 << 20);
        if (!fd) return fail(fd.error()), 2;
        flags.ready_fd = static_cast<int>(*fd);
        break;
      }
      case 'h':
        std::fputs(usage_text, stdout);
        return 0;
      case 'V':
        std::printf("rctld %s\n", std::string(version()).c_str());
        return 0;
      default:
        std::fputs("Try 'rctld --help'.\n", stderr);
        return 2;
    }
  }
  if (optind < argc) {
    std::fprintf(stderr, "rctld: unexpected argument '%s'\n", argv[optind]);
    return 2;
  }
  return std::nullopt;
}

/// One controller per state directory: the lock lives as long as the process.
Result<void> lock_state_dir(const std::string& dir) {
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST)
    return Error{Errc::io_failed,
                 format("cannot create {} (controller.state_dir): {}", dir, std::strerror(errno))};
  const std::string path = dir + "/rctld.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return Error{Errc::io_failed, format("cannot open {}: {}", path, std::strerror(errno))};
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return Error{Errc::io_failed, format("{} is in use by another rctld", dir)};
  return {};
}

std::string address_of(const std::string& listen, std::uint16_t port) {
  return listen.substr(0, listen.rfind(':') + 1) + std::to_string(port);
}

Result<void> run(const Config& config, int ready_fd) {
  umask(077);
  ROTA_TRY(const auto level, log::level_from(config.log_level));
  ROTA_CHECK(log::open("rctld", config.log_file, level));
  ROTA_CHECK(lock_state_dir(config.controller_state_dir));
  ROTA_TRY(auto store, open_sqlite(config.controller_state_dir + "/rota.db"));

  asio::io_context io(1);
  Controller controller(io, config, std::move(store));
  asio::signal_set ends(io, SIGTERM, SIGINT);
  ends.async_wait([&controller](const boost::system::error_code& error, int number) {
    if (error) return;
    log::info("ends on signal {}", number);
    (void)notify_stopping();
    controller.stop();
  });
  asio::signal_set reopens(io, SIGUSR2);
  std::function<void(const boost::system::error_code&, int)> on_reopen =
      [&reopens, &on_reopen](const boost::system::error_code& error, int) {
        if (error) return;
        log::reopen();
        reopens.async_wait(on_reopen);
      };
  reopens.async_wait(on_reopen);

  ROTA_TRY(const std::uint16_t port, controller.start());
  const std::string address = address_of(config.controller_listen, port);
  log::info("rctld {} of cluster {} listens on {}", version(), config.cluster_name, address);
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
    const auto config = config_load(flags.check);
    if (!config) return fail(config.error());
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
}  // namespace rota::ctld

int main(int argc, char** argv) { return rota::ctld::main_of(argc, argv); }
