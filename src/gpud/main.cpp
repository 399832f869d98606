// gpud/main.cpp - rgpud: flags, configuration, wiring.
#include <getopt.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "common/config.h"
#include "common/log.h"
#include "common/units.h"
#include "common/version.h"
#include "gpud/daemon.h"
#include "gpud/hollow.h"

namespace rota::gpud {
namespace {

namespace asio = boost::asio;

constexpr char usage_text[] =
    "Usage: rgpud [--config FILE] [--name NAME] [--controller HOST:PORT] [--check FILE]\n"
    "             [--ready-fd N] [--hollow N]\n"
    "Rota's node daemon: tells the controller what this node has, and runs its jobs here.\n"
    "\n"
    "  -c, --config FILE          configuration (default: $ROTA_CONFIG, then the system's "
    "rota.yaml)\n"
    "      --name NAME            name of this node (default: node.name, then the host's short "
    "name)\n"
    "      --controller HOST:PORT the controller (default: controller.address)\n"
    "      --check FILE           check FILE and end: 0 if it is good\n"
    "      --ready-fd N           write the listening address to descriptor N once the controller\n"
    "                             has taken this node\n"
    "      --hollow N             for measuring only: be N made-up nodes, NAME-0001 and so on, "
    "that\n"
    "                             take jobs and run nothing\n"
    "  -h, --help                 this text\n"
    "  -V, --version              the version\n";

constexpr std::uint64_t hollow_max = 10'000;

struct Flags {
  std::string config;
  std::string check;
  std::string name;
  std::string controller;
  int ready_fd = -1;
  std::uint32_t hollow_count = 0;  // 0: a real node
};

int fail(const Error& error) {
  std::fprintf(stderr, "rgpud: %s\n", error.message().c_str());
  return 1;
}

/// What to do, or the exit code if the flags were all there was to it.
std::optional<int> parse_flags(int argc, char** argv, Flags& flags) {
  static const option options[] = {{"config", required_argument, nullptr, 'c'},
                                   {"check", required_argument, nullptr, 'k'},
                                   {"name", required_argument, nullptr, 'n'},
                                   {"controller", required_argument, nullptr, 'a'},
                                   {"ready-fd", required_argument, nullptr, 'r'},
                                   {"hollow", required_argument, nullptr, 'o'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {"version", no_argument, nullptr, 'V'},
                                   {nullptr, 0, nullptr, 0}};
  for (int letter; (letter = getopt_long(argc, argv, "c:hV", options, nullptr)) != -1;) {
    switch (letter) {
      case 'c':
        flags.config = optarg;
        break;
      case 'k':
        flags.check = optarg;
        break;
      case 'n':
        flags.name = optarg;
        break;
      case 'a':
        flags.controller = optarg;
        break;
      case 'r': {
        const auto fd = number_parse(optarg, 1 << 20);
        if (!fd) return fail(fd.error()), 2;
        flags.ready_fd = static_cast<int>(*fd);
        break;
      }
      case 'o': {
        const auto count = number_parse(optarg, hollow_max);
        if (!count) return fail(count.error()), 2;
        if (*count == 0) return fail({Errc::invalid_argument, "--hollow 0: no node at all"}), 2;
        flags.hollow_count = static_cast<std::uint32_t>(*count);
        break;
      }
      case 'h':
        std::fputs(usage_text, stdout);
        return 0;
      case 'V':
        std::printf("rgpud %s\n", std::string(version()).c_str());
        return 0;
      default:
        std::fputs("Try 'rgpud --help'.\n", stderr);
        return 2;
    }
  }
  if (optind < argc) {
    std::fprintf(stderr, "rgpud: unexpected argument '%s'\n", argv[optind]);
    return 2;
  }
  return std::nullopt;
}

/// Until a signal ends it; `daemon` is a Daemon or HollowNodes.
template <class Served>
Result<void> serve(asio::io_context& io, Served& daemon) {
  asio::signal_set ends(io, SIGTERM, SIGINT);
  ends.async_wait([&daemon, &io](const boost::system::error_code& error, int number) {
    if (error) return;
    log::info("ends on signal {}; running jobs go on", number);
    daemon.stop();
    io.stop();
  });
  asio::signal_set reopens(io, SIGUSR2);
  std::function<void(const boost::system::error_code&, int)> on_reopen =
      [&reopens, &on_reopen](const boost::system::error_code& error, int) {
        if (error) return;
        log::reopen();
        reopens.async_wait(on_reopen);
      };
  reopens.async_wait(on_reopen);

  ROTA_CHECK(daemon.start());
  io.run();
  return {};
}

Result<void> run(Config config, const Flags& flags) {
  umask(077);
  ROTA_TRY(const auto level, log::level_from(config.log_level));
  ROTA_CHECK(log::open("rgpud", config.log_file, level));
  asio::io_context io(1);
  if (flags.hollow_count > 0) {
    HollowNodes nodes(io.get_executor(), std::move(config), flags.hollow_count, flags.ready_fd);
    return serve(io, nodes);
  }
  Daemon daemon(io.get_executor(), std::move(config), flags.ready_fd);
  return serve(io, daemon);
}

int main_of(int argc, char** argv) {
  Flags flags;
  if (const auto code = parse_flags(argc, argv, flags)) return *code;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGCHLD,
              SIG_IGN);  // the nursery's end shows on its socket; nobody asks for its status
  if (!flags.check.empty()) {
    const auto config = config_load(flags.check);
    if (!config) return fail(config.error());
    if (const auto health = monitor_options(*config); !health) return fail(health.error());
    std::printf("%s is good\n", flags.check.c_str());
    return 0;
  }
  auto config = flags.config.empty() ? config_default() : config_load(flags.config);
  if (!config) return fail(config.error());
  if (!flags.name.empty()) config->node_name = flags.name;
  if (!flags.controller.empty()) config->controller_address = flags.controller;
  if (const auto done = run(*std::move(config), flags); !done) {
    log::error("{}", done.error().message());
    return fail(done.error());
  }
  return 0;
}

}  // namespace
}  // namespace rota::gpud

int main(int argc, char** argv) { return rota::gpud::main_of(argc, argv); }
