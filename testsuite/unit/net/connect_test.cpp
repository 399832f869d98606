// testsuite/unit/net/connect_test.cpp - no session: which address, why, what to check.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "common/sanitized.h"
#include "harness.h"
#include "net/handshake.h"
#include "net/munge.h"

namespace rota::net {
namespace {

using asio::ip::tcp;

/// Listens like a daemon, takes one connection, says `words` and waits until the other side closes.
class Impostor {
 public:
  explicit Impostor(std::string words, bool hangs_up = false)
      : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
        thread_([this, words, hangs_up] {
          boost::system::error_code ignored;
          tcp::socket socket = acceptor_.accept(ignored);
          char hello[1];
          asio::read(socket, asio::buffer(hello), ignored);
          asio::write(socket, asio::buffer(words), ignored);
          if (hangs_up) return;
          std::string rest;
          asio::read(socket, asio::dynamic_buffer(rest), ignored);
        }) {}
  ~Impostor() { thread_.join(); }
  std::string address() const { return format("127.0.0.1:{}", acceptor_.local_endpoint().port()); }

 private:
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

/// A port where nobody listens: bound, so that nobody else gets it.
class ClosedPort {
 public:
  ClosedPort() : socket_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}
  std::string port() const { return std::to_string(socket_.local_endpoint().port()); }

 private:
  asio::io_context io_;
  tcp::socket socket_;
};

const std::string check =
    "; is rctld running there? check controller.address in rota.yaml or $ROTA_CONTROLLER";

std::string error_of(ConnectOptions options) { return Client(std::move(options)).error(); }

TEST(Connect, NobodyListens) {
  ROTA_NEEDS_MUNGED();
  ClosedPort closed;
  const std::string address = "127.0.0.1:" + closed.port();
  EXPECT_EQ(error_of(options_for(address, shared_munged())),
            "cannot connect: " + address + ": Connection refused" + check);
}

TEST(Connect, EveryAddressOfANameIsTried) {
  ROTA_NEEDS_MUNGED();
  ClosedPort closed;
  const std::string error = error_of(options_for("localhost:" + closed.port(), shared_munged()));
  EXPECT_TRUE(error.starts_with("cannot connect: localhost:" + closed.port() +
                                ": Connection refused (127.0.0.1:" + closed.port() + "), "))
      << error;
  EXPECT_NE(error.find("([::1]:" + closed.port() + ")" + check), std::string::npos) << error;
}

TEST(Connect, LocalhostNeedsNoLookUp) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Client client(options_for(format("localhost:{}", server.port()), shared_munged()));
  EXPECT_EQ(client.ping(1), "pong 1");
}

TEST(Connect, UnknownName) {
  ROTA_NEEDS_MUNGED();
  const std::string error = error_of(options_for("no-such-host.invalid:7117", shared_munged()));
  EXPECT_TRUE(
      error.starts_with("cannot connect: no-such-host.invalid:7117: name "
                        "'no-such-host.invalid': "))
      << error;
  EXPECT_TRUE(error.ends_with(check)) << error;
}

TEST(Connect, AnAddressThatIsNone) {
  ROTA_NEEDS_MUNGED();
  EXPECT_EQ(
      error_of(options_for("rctld", shared_munged())),
      "invalid argument: address 'rctld': the port is missing; write host:port, 10.0.0.1:port "
      "or [::1]:port");
  EXPECT_EQ(error_of(options_for("127.0.0.1:0", shared_munged())),
            "invalid argument: address '127.0.0.1:0': port 0 is nobody's");
}

TEST(Connect, TheWordsFitAnotherDaemon) {
  ROTA_NEEDS_MUNGED();
  ClosedPort closed;
  ConnectOptions options = options_for("127.0.0.1:" + closed.port(), shared_munged());
  options.daemon = "rgpud";
  options.address_source = "node.address on node n1";
  EXPECT_EQ(error_of(options), "cannot connect: 127.0.0.1:" + closed.port() +
                                   ": Connection refused; is rgpud running there? check "
                                   "node.address on node n1");
}

TEST(Connect, NoMungedHere) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  ConnectOptions options = options_for(server.address(), shared_munged());
  options.munge_socket = "/nowhere/munge.socket";
  const std::string error = error_of(options);
  EXPECT_TRUE(error.starts_with("authentication failed: " + server.address() +
                                ": munged at /nowhere/munge.socket: "))
      << error;
  EXPECT_TRUE(error.ends_with("; is munged running?")) << error;
}

TEST(Connect, MungedHasCrashed) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Munged munged;
  munged.crash();
  const auto start = std::chrono::steady_clock::now();
  const std::string error = error_of(options_for(server.address(), munged));
  EXPECT_TRUE(error.starts_with("authentication failed: " + server.address() + ": munged at " +
                                munged.socket() + ": "))
      << error;
  EXPECT_TRUE(error.ends_with("; is munged running?")) << error;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

// libmunge itself would try for ten seconds.
TEST(Connect, MungedHangs) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Munged munged;
  munged.freeze();
  ConnectOptions options = options_for(server.address(), munged);
  options.limit = 200ms;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(error_of(options), "authentication failed: " + server.address() + ": munged at " +
                                   munged.socket() +
                                   " did not answer within 200ms; is munged running?");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

/// What a command says on standard error, and " exit N".
std::string end_of_command(const ConnectOptions& options) {
  int out[2];
  if (pipe(out) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDERR_FILENO);
    Client client(options);
    _exit(client.ping(1) == "pong 1" ? 0 : 1);
  }
  close(out[1]);
  std::string said;
  char piece[1024];
  for (ssize_t got; (got = read(out[0], piece, sizeof piece)) > 0;)
    said.append(piece, static_cast<std::size_t>(got));
  close(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return said + (WIFEXITED(status) ? format("exit {}", WEXITSTATUS(status)) : "died");
}

#ifdef ROTA_THREAD_SANITIZER
// The thread sanitizer keeps signals back in the child of a program with threads; a command is
// none.
constexpr bool children_hear_signals = false;
#else
constexpr bool children_hear_signals = true;
#endif

// A command asks munged on its only thread: it must end all the same.
TEST(Connect, MungedHangsUnderACommand) {
  ROTA_NEEDS_MUNGED();
  Server server(shared_munged());
  Munged munged(shared_munged().key());
  ConnectOptions options = options_for(server.address(), munged);
  options.hang_exit_code = 7;
  options.program = "rsubmit";
  EXPECT_EQ(end_of_command(options), "exit 0");
  Client here(options);
  EXPECT_EQ(here.ping(1), "pong 1");
  munged.freeze();
  options.limit = 200ms;
  if (children_hear_signals) {
    EXPECT_EQ(end_of_command(options),
              "rsubmit: authentication failed: " + server.address() + ": munged at " +
                  munged.socket() + " did not answer within 200ms; is munged running?\nexit 7");
  }
  options.munge_socket = "/nowhere/socket";
  EXPECT_NE(error_of(options).find("munged at /nowhere/socket: "), std::string::npos);
}

TEST(Connect, TheServersMungedIsGone) {
  ROTA_NEEDS_MUNGED();
  LogCapture log;
  Munged munged;
  Server server(munged, [](ListenerOptions& options) { options.munge_socket = "/nowhere/socket"; });
  EXPECT_EQ(error_of(options_for(server.address(), munged)),
            "authentication failed: " + server.address() +
                " refused: the other side cannot reach its own munged");
  EXPECT_NE(log.line_with("munged at /nowhere/socket").find("is munged running?"),
            std::string::npos);
}

TEST(Connect, ListensButNeverAnswers) {
  ROTA_NEEDS_MUNGED();
  Impostor silent("");
  ConnectOptions options = options_for(silent.address(), shared_munged());
  options.limit = 200ms;
  EXPECT_EQ(error_of(options), "cannot connect: " + silent.address() +
                                   ": no answer to the handshake within 200ms" + check);
}

TEST(Connect, HangsUpInsteadOfAnswering) {
  ROTA_NEEDS_MUNGED();
  Impostor rude("", true);
  const std::string error = error_of(options_for(rude.address(), shared_munged()));
  EXPECT_TRUE(
      error.starts_with("cannot connect: " + rude.address() + ": closed during the handshake ("))
      << error;
}

TEST(Connect, SomethingElseListensThere) {
  ROTA_NEEDS_MUNGED();
  Impostor web("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(error_of(options_for(web.address(), shared_munged())),
            "protocol mismatch: " + web.address() +
                ": not Rota's protocol: it answers 'HTTP/1.1 400 Bad'; is it rctld that listens "
                "there? check controller.address in rota.yaml or $ROTA_CONTROLLER");
}

TEST(Connect, AnswerOverItsLimit) {
  ROTA_NEEDS_MUNGED();
  Impostor large(std::string("\0\xff\xff\xff\xff", 5));
  EXPECT_EQ(error_of(options_for(large.address(), shared_munged())),
            "malformed message: " + large.address() +
                ": answer of 4294967295 bytes, 1 to 16384 are allowed; is it rctld that listens "
                "there? check controller.address in rota.yaml or $ROTA_CONTROLLER");
}

// Whoever took the port of a dead rctld has a munged of his own uid, and that is not the right one.
TEST(Connect, AnsweredByAnotherUid) {
  ROTA_NEEDS_MUNGED();
  const auto credential = munge_encode(shared_munged().socket(), "trust me", geteuid());
  ASSERT_TRUE(credential);
  Impostor other(encode_welcome(*credential));
  ConnectOptions options = options_for(other.address(), shared_munged());
  options.peer_uid = geteuid() + 1;
  EXPECT_EQ(
      error_of(options),
      format("authentication failed: {}: answered by uid {}, but rctld runs as uid {}: somebody "
             "else listens there, or controller.user in rota.yaml is wrong",
             other.address(), geteuid(), geteuid() + 1));
}

TEST(Connect, AnswerOfAnotherSession) {
  ROTA_NEEDS_MUNGED();
  const auto credential = munge_encode(
      shared_munged().socket(), proto::encode(make_server_secret(make_client_secret())), geteuid());
  ASSERT_TRUE(credential);
  Impostor other(encode_welcome(*credential));
  EXPECT_EQ(error_of(options_for(other.address(), shared_munged())),
            "authentication failed: " + other.address() +
                ": the answer belongs to another session's question");
}

TEST(Connect, AnswerOfAnotherMungeKey) {
  ROTA_NEEDS_MUNGED();
  Munged foreign;
  const auto credential = munge_encode(foreign.socket(), "trust me", geteuid());
  ASSERT_TRUE(credential);
  Impostor other(encode_welcome(*credential));
  EXPECT_EQ(error_of(options_for(other.address(), shared_munged())),
            "authentication failed: " + other.address() +
                ": credential made with another MUNGE key: is munge.key the same on both hosts?");
}

TEST(Listen, SaysWhyItCannot) {
  asio::io_context io;
  ClosedPort taken;
  ListenerOptions options;
  const auto failure = [&] {
    auto listener = Listener::start(io.get_executor(), options, [](auto) {});
    return listener ? "listens" : listener.error().message();
  };
  options.address = "127.0.0.1:" + taken.port();
  EXPECT_EQ(failure(),
            "input/output error: cannot listen on " + options.address + ": Address already in use");
  options.address = "192.0.2.1:7117";
  EXPECT_EQ(failure(),
            "input/output error: cannot listen on 192.0.2.1:7117: Cannot assign requested address");
  options.address = "7117";
  EXPECT_EQ(failure(),
            "invalid argument: address '7117': the port is missing; write host:port, 10.0.0.1:port "
            "or [::1]:port");
}

}  // namespace
}  // namespace rota::net
