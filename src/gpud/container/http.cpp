// gpud/container/http.cpp - HTTP/1.0: the daemon closes behind its answer, so its end is the end.
#include "gpud/container/http.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include "gpud/launch/file.h"

namespace rota::gpud {
namespace {

constexpr std::size_t answer_bytes_max = 1 << 20;

std::string system_trouble(const std::string& what) {
  const bool late = errno == EAGAIN || errno == EWOULDBLOCK;
  return what + ": " + (late ? "no answer in time" : strerrordesc_np(errno));
}

bool connect_to(const Fd& fd, const std::string& socket) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (socket.size() >= sizeof name.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(name.sun_path, socket.data(), socket.size());
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

bool send_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, std::string& bytes) {
  char part[16 << 10];
  for (;;) {
    const ssize_t got = ::recv(fd, part, sizeof part, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    if (bytes.size() < answer_bytes_max) bytes.append(part, static_cast<std::size_t>(got));
  }
}

void take_answer(const std::string& bytes, HttpAnswer& answer) {
  const std::size_t space = bytes.find(' ');
  const std::size_t head = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.") || space == std::string::npos || head == std::string::npos) {
    answer.trouble = "it does not answer as an HTTP server does";
    return;
  }
  std::from_chars(bytes.data() + space + 1, bytes.data() + bytes.size(), answer.status);
  answer.body = bytes.substr(head + 4);
}

/// Connects and sends the head of a request, to which `more` belongs; the body is the caller's.
bool begin_call(const std::string& socket, const std::string& what, const std::string& more,
                Duration patience, Fd& fd, HttpAnswer& answer) {
  fd.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(patience).count();
  const timeval limit{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
      !connect_to(fd, socket)) {
    answer.trouble = system_trouble("cannot reach " + socket);
    return false;
  }
  if (send_all(fd.get(), what + " HTTP/1.0\r\nHost: docker\r\n" + more + "\r\n")) return true;
  answer.trouble = system_trouble(socket);
  return false;
}

}  // namespace

HttpAnswer http_call(const std::string& socket, const std::string& method, const std::string& path,
                     const std::string& body, Duration patience) {
  HttpAnswer answer;
  Fd fd;
  std::string head;
  if (!body.empty())
    head =
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  std::string bytes;
  if (!begin_call(socket, method + ' ' + path, head, patience, fd, answer)) return answer;
  if (!send_all(fd.get(), body) || !receive_all(fd.get(), bytes))
    answer.trouble = system_trouble(socket);
  else
    take_answer(bytes, answer);
  return answer;
}

HttpAnswer http_begin(const std::string& socket, const std::string& path, Fd& stream,
                      Duration patience) {
  HttpAnswer answer;
  if (!begin_call(socket, "GET " + path, {}, patience, stream, answer)) return answer;
  std::string bytes;
  while (bytes.find("\r\n\r\n") == std::string::npos) {
    char part[4096];
    const ssize_t got = ::recv(stream.get(), part, sizeof part, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) answer.trouble = system_trouble(socket);
    if (got <= 0 || bytes.size() > answer_bytes_max) break;
    bytes.append(part, static_cast<std::size_t>(got));
  }
  if (!answer.trouble.empty()) return answer;
  take_answer(bytes, answer);
  if (answer.status != 200 && answer.trouble.empty()) receive_all(stream.get(), answer.body);
  return answer;
}

HttpAnswer http_send(const std::string& socket, const std::string& path, int file,
                     std::uint64_t size, Duration patience) {
  HttpAnswer answer;
  Fd fd;
  const std::string head =
      "Content-Type: application/x-tar\r\nContent-Length: " + std::to_string(size) + "\r\n";
  if (!begin_call(socket, "POST " + path, head, patience, fd, answer)) return answer;
  // One that refuses the archive in the middle says why, and reads no more.
  off_t at = 0;
  while (at < static_cast<off_t>(size)) {
    const ssize_t sent = ::sendfile(fd.get(), file, &at,
                                    static_cast<std::size_t>(size) - static_cast<std::size_t>(at));
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;
  }
  std::string bytes;
  if (!receive_all(fd.get(), bytes))
    answer.trouble = system_trouble(socket);
  else
    take_answer(bytes, answer);
  return answer;
}

std::string message_of(const HttpAnswer& answer) {
  if (!answer.trouble.empty()) return answer.trouble;
  constexpr std::string_view key = "\"message\":\"";
  std::string text;
  if (const std::size_t at = answer.body.find(key); at != std::string::npos) {
    for (std::size_t i = at + key.size(); i < answer.body.size() && answer.body[i] != '"'; ++i) {
      if (answer.body[i] == '\\' && i + 1 < answer.body.size()) {
        ++i;
        text += answer.body[i] == 'n' || answer.body[i] == 't' ? ' ' : answer.body[i];
      } else {
        text += answer.body[i];
      }
    }
  } else {
    text = answer.body.substr(0, 512);
  }
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.empty() ? "status " + std::to_string(answer.status) : text;
}

}  // namespace rota::gpud
