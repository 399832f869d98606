// gpud/launch/pmix_step.cpp - rota-pmix: the PMIx server of one step on one node.
//
// A process of its own, with the rights of the job's owner, inside the job: what libpmix does wrong
// hurts nobody else. rrun talks to it by its input and output (proto/pmix_words.h); the servers of
// a step talk to each other by way of the first one.
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <mutex>

#include "common/clock.h"
#include "common/format.h"
#include "gpud/launch/pmix.h"
#include "gpud/launch/pmix_book.h"
#include "gpud/launch/pmix_link.h"
#include "proto/pmix_words.h"

namespace rota::gpud {
namespace {

/// So long a caller may take to prove who it is, and so many may be at it at the same time.
constexpr Duration proof_limit = std::chrono::seconds(10);
constexpr std::size_t strangers_max = 64;
constexpr Duration connect_limit = std::chrono::seconds(30);
constexpr std::uint32_t places_max = 100'000;
constexpr std::uint32_t tasks_max = 1'000'000;

/// What libpmix's thread leaves for ours.
class Inbox {
 public:
  Inbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return wake_.get(); }
  void put(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof one) < 0) return;  // it is awake already
  }
  void run() {
    std::uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof count) < 0 && errno != EAGAIN) return;
    std::list<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(work_);
    }
    for (const auto& each : work) each();
  }

 private:
  Fd wake_;
  std::mutex mutex_;
  std::list<std::function<void()>> work_;
};

/// Files of the server, gone with it.
class Directory {
 public:
  Directory() = default;
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Result<void> make() {
    std::string pattern = "/tmp/rota-pmix.XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr)
      return Error{Errc::io_failed, format("cannot make {}: {}", pattern, std::strerror(errno))};
    path_ = pattern;
    return {};
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class PmixStep {
 public:
  int run() {
    if (const auto listening = listen(); !listening) return give_up(listening.error());
    proto::PmixNews hello;
    hello.port = port_;
    tell(hello);
    while (!is_over_) {
      if (const auto served = serve(); !served) return give_up(served.error());
    }
    server_.reset();
    return 0;
  }

 private:
  struct Caller {
    PmixLink link;
    MonoTime since;
  };
  struct Question {
    PmixServer::Done done;
  };

  // ---- rrun ----

  static void tell(const proto::PmixNews& news) {
    const std::string bytes = proto::pmix_pack(news);
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const ssize_t size = ::write(STDOUT_FILENO, rest.data(), rest.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return;  // nobody listens: our input will say so
      rest.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  static int give_up(const Error& error) {
    proto::PmixNews news;
    news.kind = proto::PmixNews::Kind::failed;
    news.text = error.detail;
    tell(news);
    return 1;
  }

  Result<void> read_order() {
    char block[64 << 10];
    const ssize_t size = ::read(STDIN_FILENO, block, sizeof block);
    if (size < 0 && errno == EINTR) return {};
    if (size <= 0) {  // rrun has done with us, or has gone
      is_over_ = true;
      return {};
    }
    input_.append(block, static_cast<std::size_t>(size));
    ROTA_TRY(const auto body, proto::pmix_unpack(input_));
    if (!body) return {};
    if (server_) return Error{Errc::malformed, "a second order"};
    ROTA_TRY(order_, proto::decode<proto::PmixOrder>(*body));
    ROTA_CHECK(check_order());
    return begin();
  }

  Result<void> check_order() const {
    const auto refuse = [](const char* why) { return Error{Errc::malformed, why}; };
    if (order_.nodes.empty() || order_.nodes.size() > places_max ||
        order_.nodes.size() != order_.tasks.size() || order_.place >= order_.nodes.size())
      return refuse("the order's nodes make no sense");
    std::uint64_t total = 0;
    for (const std::uint32_t count : order_.tasks) total += count;
    if (total == 0 || total > tasks_max) return refuse("the order's tasks make no sense");
    if (order_.secret.size() != proto::pmix_secret_bytes) return refuse("the order has no secret");
    if (order_.nspace.empty() || order_.nspace.size() > 200) return refuse("the step has no name");
    return {};
  }

  Result<void> begin() {
    map_.emplace(order_.tasks);
    book_.emplace(*map_);
    if (order_.place > 0) {
      door_.reset();
      ROTA_CHECK(call_first());
    }
    ROTA_CHECK(directory_.make());
    PmixServer::Events events;
    events.fence = [this](std::vector<std::uint32_t> ranks, std::string data,
                          PmixServer::Done done) {
      inbox_.put([this, ranks = std::move(ranks), data = std::move(data), done = std::move(done)] {
        fence(ranks, data, done);
      });
    };
    events.fetch = [this](std::uint32_t rank, PmixServer::Done done) {
      inbox_.put([this, rank, done = std::move(done)] { fetch(rank, done); });
    };
    events.abort = [this](std::uint32_t rank, int status, std::string text) {
      inbox_.put([rank, status, text = std::move(text)] {
        proto::PmixNews news;
        news.kind = proto::PmixNews::Kind::aborted;
        news.status = status;
        news.text = format("task {} called for the end of the step{}{}", rank,
                           text.empty() ? "" : ": ", text);
        tell(news);
      });
    };
    ROTA_TRY(server_, PmixServer::open(order_, directory_.path(), std::move(events)));
    proto::PmixNews ready;
    ready.kind = proto::PmixNews::Kind::ready;
    for (std::uint32_t local = 0; local < order_.tasks[order_.place]; ++local) {
      ROTA_TRY(auto variables, server_->variables_of(map_->first(order_.place) + local));
      ready.tasks.push_back({std::move(variables)});
    }
    tell(ready);
    return {};
  }

  // ---- other nodes ----

  Result<void> listen() {
    const auto failed = [] {
      return Error{Errc::io_failed, format("cannot listen: {}", std::strerror(errno))};
    };
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    socklen_t size = sizeof any;
    door_.reset(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int off = 0;
    if (door_) ::setsockopt(door_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (!door_ || ::bind(door_.get(), reinterpret_cast<sockaddr*>(&any), size) != 0) {
      sockaddr_in four{};  // a host without IPv6
      four.sin_family = AF_INET;
      door_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!door_ || ::bind(door_.get(), reinterpret_cast<sockaddr*>(&four), sizeof four) != 0)
        return failed();
    }
    if (::listen(door_.get(), 128) != 0) return failed();
    sockaddr_storage own{};
    size = sizeof own;
    if (::getsockname(door_.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return failed();
    port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(own).sin_port);
    return {};
  }

  /// Comes back connected: everything else waits for this.
  Result<void> call_first() {
    const std::size_t colon = order_.meeting.rfind(':');
    if (colon == std::string::npos) return Error{Errc::malformed, "no place to meet"};
    const std::string host = order_.meeting.substr(0, colon);
    const std::string port = order_.meeting.substr(colon + 1);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
      return Error{Errc::io_failed, format("cannot find {}: {}", host, ::gai_strerror(error))};
    const MonoTime limit = mono_now() + connect_limit;
    int error = ETIMEDOUT;
    Fd socket;
    for (const addrinfo* at = found; at != nullptr && !socket; at = at->ai_next) {
      Fd tried(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const timeval wait{
          .tv_sec = std::chrono::duration_cast<std::chrono::seconds>(connect_limit).count(),
          .tv_usec = 0};
      ::setsockopt(tried.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
      if (::connect(tried.get(), at->ai_addr, at->ai_addrlen) == 0)
        socket = std::move(tried);
      else
        error = errno;
      if (mono_now() > limit) break;
    }
    ::freeaddrinfo(found);
    if (!socket)
      return Error{Errc::io_failed, format("cannot reach the PMIx server at {}: {}", order_.meeting,
                                           std::strerror(error))};
    tune(socket);
    first_.emplace(PmixLink::calling(std::move(socket), order_.secret, order_.place));
    return {};
  }
  static void tune(const Fd& socket) {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }

  void accept() {
    for (;;) {
      Fd socket(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) return;
      const auto strangers = std::ranges::count_if(
          callers_, [](const Caller& caller) { return !caller.link.is_proved(); });
      if (strangers >= static_cast<std::ptrdiff_t>(strangers_max)) continue;
      tune(socket);
      callers_.push_back(
          {PmixLink::answering(std::move(socket), order_.secret, map_->place_count()), mono_now()});
    }
  }

  Result<void> serve() {
    const auto wait_for = [](int fd, bool writes) {
      return pollfd{
          .fd = fd, .events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), .revents = 0};
    };
    // Before the order nobody can prove anything: who calls waits. Only the first is called at all.
    const bool is_called = server_ != nullptr && order_.place == 0;
    std::vector<pollfd> waits = {
        wait_for(STDIN_FILENO, false), wait_for(inbox_.fd(), false),
        wait_for(is_called ? door_.get() : -1, false),
        wait_for(first_ ? first_->fd() : -1, first_ && first_->wants_to_write())};
    const std::size_t own = waits.size();
    for (const Caller& caller : callers_)
      waits.push_back(wait_for(caller.link.fd(), caller.link.wants_to_write()));
    if (::poll(waits.data(), waits.size(), 1000) < 0 && errno != EINTR)
      return Error{Errc::io_failed, std::strerror(errno)};
    if (waits[0].revents != 0) ROTA_CHECK(read_order());
    if (waits[1].revents != 0) inbox_.run();
    if (waits[3].revents != 0) {
      if (const auto heard = hear(*first_); !heard)
        return Error{heard.error().code, format("the PMIx server of {}: {}", order_.nodes.front(),
                                                heard.error().detail)};
    }
    std::size_t at = own;
    for (auto caller = callers_.begin(); caller != callers_.end(); ++at) {
      const bool is_ready = at < waits.size() && waits[at].revents != 0;
      const auto heard = is_ready ? hear(caller->link) : Result<void>();
      const bool is_late = !caller->link.is_proved() && mono_now() > caller->since + proof_limit;
      if (heard && !is_late) {
        ++caller;
        continue;
      }
      // A stranger is only turned away; one of ours that goes takes the step along.
      if (caller->link.is_proved() && !is_over_) {
        const std::string name = order_.nodes[caller->link.place()];
        return Error{Errc::peer_lost,
                     format("the PMIx server of {}: {}", name, heard ? "" : heard.error().detail)};
      }
      caller = callers_.erase(caller);
    }
    if (waits[2].revents != 0) accept();
    for (Caller& caller : callers_) ROTA_CHECK(flush(caller.link));
    if (first_) ROTA_CHECK(flush(*first_));
    if (failure_) return *failure_;
    return {};
  }
  static Result<void> flush(PmixLink& link) {
    if (!link.wants_to_write()) return {};
    auto written = link.write();
    return written || link.is_proved() ? std::move(written) : Result<void>();
  }

  Result<void> hear(PmixLink& link) {
    ROTA_CHECK(link.read());
    while (auto message = link.next()) {
      ROTA_TRY(auto word, proto::decode<PmixWord>(*message));
      ROTA_CHECK(order_.place == 0 ? route(std::move(word), link.place()) : obey(std::move(word)));
    }
    if (link.is_proved()) return send_waiting(link);
    return {};
  }

  // ---- fences and questions ----

  void fence(const std::vector<std::uint32_t>& ranks, const std::string& data,
             const PmixServer::Done& done) {
    fences_[ranks] = done;
    PmixWord word;
    word.kind = PmixWord::Kind::bring;
    word.ranks = ranks;
    word.data = data;
    pass(std::move(word), 0);
  }
  void fetch(std::uint32_t rank, const PmixServer::Done& done) {
    PmixWord word;
    word.kind = PmixWord::Kind::ask;
    word.rank = rank;
    word.number = ++asked_;
    word.place = order_.place;
    questions_[word.number] = done;
    pass(std::move(word), 0);
  }

  /// Ours goes straight to the book where we are the first, else to who is.
  void pass(PmixWord word, std::uint32_t to) {
    if (order_.place == to) {
      if (const auto done = order_.place == 0 ? route(std::move(word), 0) : obey(std::move(word));
          !done && !failure_)
        failure_ = done.error();
      return;
    }
    send(to, word);
  }
  /// Who has not called yet gets it when it does.
  void send(std::uint32_t to, const PmixWord& word) {
    PmixLink* link = nullptr;
    if (order_.place > 0)
      link = &*first_;
    else
      for (Caller& caller : callers_)
        if (caller.link.is_proved() && caller.link.place() == to) link = &caller.link;
    if (link == nullptr || !link->is_proved()) {
      waiting_[to].push_back(proto::encode(word));
      return;
    }
    if (const auto sent = link->send(proto::encode(word)); !sent && !failure_)
      failure_ = sent.error();
  }
  Result<void> send_waiting(PmixLink& link) {
    const std::uint32_t to = order_.place > 0 ? 0 : link.place();
    const auto waiting = waiting_.find(to);
    if (waiting == waiting_.end()) return {};
    const std::vector<std::string> messages = std::move(waiting->second);
    waiting_.erase(waiting);
    for (const std::string& message : messages) ROTA_CHECK(link.send(message));
    return {};
  }

  /// On the first node: what one of them, or we, want of whom.
  Result<void> route(PmixWord word, std::uint32_t from) {
    if (word.kind == PmixWord::Kind::bring) {
      bool is_good = false;
      auto outcome = book_->bring(word.ranks, from, std::move(word.data), is_good);
      if (!is_good)
        return Error{Errc::malformed, format("{} has no part in a fence", order_.nodes[from])};
      if (!outcome) return {};
      PmixWord answer;
      answer.kind = PmixWord::Kind::brought;
      answer.ranks = word.ranks;
      answer.data = std::move(outcome->data);
      for (const std::uint32_t place : outcome->places) {
        if (place == 0) {
          ROTA_CHECK(obey(answer));
        } else {
          send(place, answer);
        }
      }
      return {};
    }
    if (word.kind == PmixWord::Kind::ask) {
      word.place = from;  // whatever it says
      const auto place = map_->place_of(word.rank);
      if (!place) return Error{Errc::malformed, format("there is no task {}", word.rank)};
      if (*place == 0) return obey(std::move(word));
      send(*place, word);
      return {};
    }
    if (word.kind == PmixWord::Kind::told) {
      if (word.place >= map_->place_count()) return Error{Errc::malformed, "an answer for nobody"};
      if (word.place == 0) return obey(std::move(word));
      send(word.place, word);
      return {};
    }
    return Error{Errc::malformed, "a word that only the first says"};
  }

  /// On every node: what the first says.
  Result<void> obey(PmixWord word) {
    if (word.kind == PmixWord::Kind::brought) {
      const auto fence = fences_.find(word.ranks);
      if (fence == fences_.end()) return Error{Errc::malformed, "the end of no fence"};
      const PmixServer::Done done = std::move(fence->second);
      fences_.erase(fence);
      done(word.status, std::move(word.data));
      return {};
    }
    if (word.kind == PmixWord::Kind::told) {
      const auto question = questions_.find(word.number);
      if (question == questions_.end()) return Error{Errc::malformed, "an answer to no question"};
      const PmixServer::Done done = std::move(question->second);
      questions_.erase(question);
      done(word.status, std::move(word.data));
      return {};
    }
    if (word.kind != PmixWord::Kind::ask || map_->place_of(word.rank) != order_.place)
      return Error{Errc::malformed, "a word for somebody else"};
    PmixServer::Done done = [this, place = word.place, number = word.number](int status,
                                                                             std::string data) {
      inbox_.put([this, place, number, status, data = std::move(data)] {
        PmixWord answer;
        answer.kind = PmixWord::Kind::told;
        answer.place = place;
        answer.number = number;
        answer.status = status;
        answer.data = data;
        pass(std::move(answer), 0);
      });
    };
    server_->local(word.rank, std::move(done));
    return {};
  }

  proto::PmixOrder order_;
  std::string input_;
  Fd door_;
  std::uint16_t port_ = 0;
  Inbox inbox_;
  Directory directory_;
  std::optional<PmixMap> map_;
  std::optional<PmixBook> book_;   // used on the first node
  std::optional<PmixLink> first_;  // on the others
  std::list<Caller> callers_;
  std::map<std::uint32_t, std::vector<std::string>> waiting_;
  std::map<std::vector<std::uint32_t>, PmixServer::Done> fences_;
  std::map<std::uint64_t, PmixServer::Done> questions_;
  std::uint64_t asked_ = 0;
  std::optional<Error> failure_;
  bool is_over_ = false;
  std::unique_ptr<PmixServer> server_;  // the first to go: its thread uses the rest
};

}  // namespace
}  // namespace rota::gpud

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::puts(
        "Usage: rota-pmix\n\nThe PMIx server of a step. Started by rstepd, never by hand; see "
        "rrun(1).");
    return 0;
  }
  if (argc != 1) {
    std::fputs("rota-pmix: is started by rstepd, not by hand; see rrun(1)\n", stderr);
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  // Those are for the tasks. We end with our input.
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2})
    ::signal(signal, SIG_IGN);
  // Where the server is not root's, this is no difference; where it is, shared memory would be
  // closed to the tasks.
  ::setenv("PMIX_MCA_gds", "hash", 1);
  return rota::gpud::PmixStep().run();
}
