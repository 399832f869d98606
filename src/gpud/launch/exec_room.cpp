// gpud/launch/exec_room.cpp - words of rgpud in, ends of processes out. In rstepd: no libfmt.
#include "gpud/launch/exec_room.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

#include "common/clock.h"
#include "gpud/launch/packet.h"
#include "gpud/launch/step_task.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

/// A reader that does not take its news is rgpud's matter; nothing here waits for it.
void send(const Fd& socket, const ExecNews& news) {
  if (socket) packet_send(socket.get(), proto::encode(news), {}, MSG_DONTWAIT);
}

}  // namespace

std::optional<ExecOrder> ExecRoom::read_order(int socket) {
  const auto buffer = std::make_unique<char[]>(exec_order_bytes_max);
  const ssize_t size = ::recv(socket, buffer.get(), exec_order_bytes_max, MSG_DONTWAIT);
  if (size <= 0) return std::nullopt;
  auto order =
      proto::decode<ExecOrder>(std::string_view(buffer.get(), static_cast<std::size_t>(size)));
  if (!order) return std::nullopt;
  return *std::move(order);
}

void ExecRoom::refuse(const Fd& socket, const std::string& why) {
  ExecNews news;
  news.kind = ExecNews::Kind::failed;
  news.code = 1;
  news.text = why;
  send(socket, news);
}

void ExecRoom::add(Fd socket, const ExecOrder& order, pid_t pid, Fd gate) {
  if (pid == 0) {  // it is as open as it will be
    ExecNews news;
    if (order.kind == proto::ExecKind::step) news.code = static_cast<std::int32_t>(next_step_++);
    send(socket, news);
  }
  Entry entry;
  entry.socket = std::move(socket);
  entry.pid = pid;
  entry.ends_run = order.ends_run;
  entry.kind = order.kind;
  entry.gate = std::move(gate);
  entries_.push_back(std::move(entry));
}

bool ExecRoom::has_processes() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return entry.pid != 0; });
}

bool ExecRoom::is_held() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return !entry.is_hung_up; });
}

bool ExecRoom::child_ended(pid_t pid, int status) {
  const auto entry = std::ranges::find(entries_, pid, &Entry::pid);
  if (pid == 0 || entry == entries_.end()) return false;
  ExecNews news;
  news.kind = ExecNews::Kind::ended;
  news.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  news.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  send(entry->socket, news);
  if (entry->ends_run && !finished_) finished_ = status;
  entries_.erase(entry);
  return true;
}

void ExecRoom::tell(const std::string& text) {
  ExecNews news;
  news.kind = ExecNews::Kind::notice;
  news.text = text;
  for (const Entry& entry : entries_) send(entry.socket, news);
}

void ExecRoom::add_waits(std::vector<pollfd>& waits) const {
  for (const Entry& entry : entries_)
    if (entry.socket) waits.push_back({.fd = entry.socket.get(), .events = POLLIN, .revents = 0});
}

void ExecRoom::serve(const std::vector<pollfd>& waits) {
  for (const pollfd& wait : waits) {
    if (wait.revents == 0) continue;
    const auto entry = std::ranges::find_if(
        entries_, [&wait](const Entry& each) { return each.socket.get() == wait.fd; });
    if (entry != entries_.end()) hear(*entry);
  }
  std::erase_if(entries_, [](const Entry& entry) { return entry.is_hung_up && entry.pid == 0; });
}

void ExecRoom::hear(Entry& entry) {
  static char packet[exec_word_bytes_max];
  std::vector<Fd> none;  // rgpud sends no files this way
  const ssize_t size =
      packet_receive(entry.socket.get(), packet, sizeof packet, none, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return hang_up(entry);
  const auto word =
      proto::decode<ExecWord>(std::string_view(packet, static_cast<std::size_t>(size)));
  if (!word) return;
  if (word->signal > 0 && word->signal <= SIGRTMAX && entry.pid > 0)
    ::kill(-entry.pid, word->signal);
  if (word->go && entry.gate) {
    open_gate(entry.gate.get(), word->environment);
    entry.gate.reset();
  }
  if (word->finish && entry.ends_run && !finished_) finished_ = (*word->finish & 0xff) << 8;
}

/// As a terminal does it: its whole group hears, also one that is stopped.
void ExecRoom::hang_up(Entry& entry) {
  entry.socket.reset();
  entry.gate.reset();
  entry.is_hung_up = true;
  // A step cannot be taken up again, so what was only there for it is over.
  if (entry.kind == proto::ExecKind::step && entry.ends_run && !finished_) finished_ = SIGHUP;
  if (entry.pid == 0) return;
  ::kill(-entry.pid, SIGHUP);
  ::kill(-entry.pid, SIGCONT);
  if (entry.kind == proto::ExecKind::task) entry.kill_at = mono_now() + kill_wait_;
}

std::optional<MonoTime> ExecRoom::kill_at() const {
  std::optional<MonoTime> first;
  for (const Entry& entry : entries_)
    if (entry.kill_at && (!first || *entry.kill_at < *first)) first = entry.kill_at;
  return first;
}

void ExecRoom::end_late(MonoTime now) {
  for (Entry& entry : entries_) {
    if (!entry.kill_at || now < *entry.kill_at) continue;
    entry.kill_at.reset();
    ::kill(-entry.pid, SIGKILL);
  }
}

}  // namespace rota::gpud
