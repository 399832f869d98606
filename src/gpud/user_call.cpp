// gpud/user_call.cpp - one packet, or none.
#include "gpud/user_call.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "common/escape.h"
#include "common/format.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

using boost::asio::as_tuple;
using boost::asio::use_awaitable;
using namespace boost::asio::experimental::awaitable_operators;

constexpr auto spare = std::chrono::seconds(10);
constexpr std::size_t line_bytes_max = 512;

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t start = text.rfind('\n');
  if (start != std::string_view::npos) text.remove_prefix(start + 1);
  return escaped(text.substr(0, line_bytes_max));
}

Result<std::string> verdict(const std::string& program, UserEnd end) {
  if (end.code == 0) return std::move(end.output);
  std::string text = format("{}: {}", program, end.trouble);
  const std::string said = last_line(end.output);
  if (end.trouble.empty())
    return Error{
        Errc::unsupported,
        format("{}: {}", program, said.empty() ? format("it ended with {}", end.code) : said)};
  if (!said.empty()) text += format(" ({})", said);
  return Error{Errc::unsupported, std::move(text)};
}

}  // namespace

boost::asio::awaitable<Result<std::string>> user_call_end(boost::asio::any_io_executor executor,
                                                          Fd socket, std::string program,
                                                          std::chrono::milliseconds limit) {
  boost::asio::posix::stream_descriptor line(executor, socket.release());
  boost::asio::steady_timer timer(executor, limit + spare);
  std::string bytes(user_bytes_max + 4096, '\0');
  ssize_t size = -1;
  for (bool is_over = false; !is_over;) {
    const auto done = co_await (line.async_wait(line.wait_read, as_tuple(use_awaitable)) ||
                                timer.async_wait(as_tuple(use_awaitable)));
    is_over = done.index() != 0;
    if (is_over) break;
    // What an earlier socket of the same number had to say can wake us for nothing.
    size = ::recv(line.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    is_over = size >= 0 || (errno != EAGAIN && errno != EINTR);
  }
  if (size <= 0)
    co_return Error{Errc::unsupported,
                    format("{}: rstepd's nursery does not tell its end", program)};
  bytes.resize(static_cast<std::size_t>(size));
  auto end = proto::decode<UserEnd>(bytes);
  if (!end) co_return std::move(end).error();
  co_return verdict(program, *std::move(end));
}

}  // namespace rota::gpud
