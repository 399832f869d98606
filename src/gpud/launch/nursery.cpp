// gpud/launch/nursery.cpp - orders in, children out. Linked into both ends, so without libfmt.
#include "gpud/launch/nursery.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "gpud/launch/log_reader.h"
#include "gpud/launch/record.h"
#include "gpud/launch/secrets.h"
#include "gpud/launch/supervisor.h"
#include "gpud/launch/task.h"
#include "gpud/launch/user_program.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr std::size_t order_bytes_max = 64 << 10;
constexpr std::size_t fds_max = 3;

/// argv's memory: what `ps` shows of this process.
struct Title {
  char* text;
  std::size_t size;

  void set(const std::string& words) const { std::strncpy(text, words.c_str(), size); }
};

/// For a run that could not even be begun.
void refuse(const NurseryPacket& packet, const std::string& why, bool is_free) {
  StepReport report;
  report.is_free = is_free;
  report.kind = StepReport::Kind::ended;
  report.end.cause = EndCause::launch_failed;
  report.end.detail = why;
  report.end.by_node = true;
  static_cast<void>(record_append(packet.first.get(), RecordEnd{report.end, {}}));
  const std::string bytes = proto::encode(report);
  static_cast<void>(::send(packet.second.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

/// Runs it; true when rgpud was told to give this process another, and the line is still there.
bool run_step(NurseryPacket& packet, const Title& title, bool may_go_on) {
  const auto bytes = record_read(packet.first.get());
  Record record = bytes ? record_parse(*bytes) : Record{};
  if (!record.order) {
    refuse(packet, "rstepd cannot read the run's record", may_go_on);
    return may_go_on;
  }
  if (const Fd secrets = std::exchange(packet.third, Fd());
      secrets && !put_secrets_in(*record.order, secrets.get())) {
    refuse(packet, "rstepd cannot read the run's secrets", may_go_on);
    return may_go_on;
  }
  title.set(run_name(record.order->launch.run));
  Supervisor supervisor(*std::move(record.order), std::move(packet.first),
                        std::move(packet.second));
  if (!supervisor.run(may_go_on)) return false;
  packet.second = supervisor.take_line();
  return static_cast<bool>(packet.second);
}

void serve_runs(NurseryPacket packet, const Title& title) {
  for (int left = step_runs_max - 1; run_step(packet, title, left > 0); --left) {
    title.set("idle");
    auto next = nursery_receive(packet.second.get());
    if (!next || next->order != NurseryOrder::run || !next->first) return;
    packet.first = std::move(next->first);
    // The line is there already, so that secrets come second.
    if (next->body == run_with_secrets) packet.third = std::move(next->second);
  }
}

void serve(NurseryPacket packet, const Title& title) {
  ::close(nursery_fd);
  if (packet.order == NurseryOrder::run) return serve_runs(std::move(packet), title);
  if (packet.order == NurseryOrder::user) {
    title.set("user");
    if (const auto order = proto::decode<UserOrder>(packet.body))
      run_user_program(*order, packet.first.get());
    return;
  }
  if (packet.order != NurseryOrder::log) return;
  title.set("log");
  if (const auto order = proto::decode<LogOrder>(packet.body))
    read_log(*order, packet.first.get(), packet.second.get());
}

/// posix_spawn leaves two signals of glibc's own ignored, which its signal() refuses to touch; a
/// job should start with none.
void default_private_signals() {
  struct {
    void* handler = nullptr;  // SIG_DFL
    unsigned long flags = 0;
    void* restorer = nullptr;
    unsigned long mask = 0;
  } action;
  for (const int signal : {32, 33})
    ::syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
}

}  // namespace

Result<void> nursery_send(int nursery, NurseryOrder order, const std::string& body, int first,
                          int second, int third) {
  char kind = static_cast<char>(order);
  iovec parts[2] = {{.iov_base = &kind, .iov_len = 1},
                    {.iov_base = const_cast<char*>(body.data()), .iov_len = body.size()}};
  int fds[fds_max] = {-1, -1, -1};
  std::size_t count = 0;
  for (const int fd : {first, second, third})
    if (fd >= 0) fds[count++] = fd;
  const std::size_t fds_size = count * sizeof(int);
  alignas(cmsghdr) char control[CMSG_SPACE(fds_max * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds_size);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds_size);
  std::memcpy(CMSG_DATA(header), fds, fds_size);
  if (1 + body.size() > order_bytes_max)
    return Error{Errc::too_large, "order for rstepd is too long"};
  if (::sendmsg(nursery, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return {};
  const int error = errno;
  // Too many descriptors under way is a matter of time, as a full buffer is.
  const bool is_full = error == EAGAIN || error == ETOOMANYREFS;
  const bool is_gone = error == EPIPE || error == ECONNRESET;
  return Error{is_full   ? Errc::busy
               : is_gone ? Errc::peer_lost
                         : Errc::io_failed,
               std::string("cannot reach rstepd: ") + strerrordesc_np(error)};
}

std::optional<NurseryPacket> nursery_receive(int socket) {
  static char buffer[order_bytes_max];
  for (;;) {
    iovec part{.iov_base = buffer, .iov_len = sizeof buffer};
    alignas(cmsghdr) char control[CMSG_SPACE(fds_max * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    NurseryPacket packet;
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
        header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      int fds[fds_max] = {-1, -1, -1};
      std::memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
      packet.first.reset(fds[0]);
      packet.second.reset(fds[1]);
      packet.third.reset(fds[2]);
    }
    packet.order = static_cast<NurseryOrder>(buffer[0]);
    packet.body.assign(buffer + 1, static_cast<std::size_t>(size) - 1);
    return packet;
  }
}

void nursery_run(char* title, std::size_t title_size) {
  default_private_signals();
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps: nobody asks how a child ended
  Supervisor::take_signals();
  look_at_oom_score();
  while (auto packet = nursery_receive(nursery_fd)) {
    const pid_t pid = ::_Fork();
    if (pid == 0) {
      serve(*std::move(packet), {title, title_size});
      ::_exit(0);
    }
    if (pid < 0 && packet->order == NurseryOrder::run)
      refuse(*packet, std::string("cannot start a process: ") + strerrordesc_np(errno), false);
  }
}

}  // namespace rota::gpud
