// gpud/launch/exec_room.cpp - words of rgpud in, ends of processes out. In rstepd: no libfmt.
#include "gpud/launch/exec_room.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>

#include "gpud/launch/packet.h"
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

void ExecRoom::add(Fd socket, const ExecOrder& order, pid_t pid) {
  if (pid == 0) send(socket, {});  // it is as open as it will be
  entries_.push_back({std::move(socket), pid, order.ends_run});
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
  char packet[256];
  const ssize_t size = ::recv(entry.socket.get(), packet, sizeof packet, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return hang_up(entry);
  const auto word =
      proto::decode<ExecWord>(std::string_view(packet, static_cast<std::size_t>(size)));
  if (!word) return;
  if (word->signal > 0 && word->signal <= SIGRTMAX && entry.pid > 0)
    ::kill(-entry.pid, word->signal);
  if (word->finish && entry.ends_run && !finished_) finished_ = (*word->finish & 0xff) << 8;
}

/// As a terminal does it: its whole group hears, also one that is stopped.
void ExecRoom::hang_up(Entry& entry) {
  entry.socket.reset();
  entry.is_hung_up = true;
  if (entry.pid == 0) return;
  ::kill(-entry.pid, SIGHUP);
  ::kill(-entry.pid, SIGCONT);
}

}  // namespace rota::gpud
