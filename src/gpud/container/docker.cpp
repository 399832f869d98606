// gpud/container/docker.cpp - images of dockerd, by requests to its socket.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>

#include "common/escape.h"
#include "common/format.h"
#include "gpud/container/engine.h"
#include "gpud/container/http.h"
#include "gpud/container/logins.h"
#include "net/wakeup.h"

namespace rota::gpud {
namespace {

using boost::asio::awaitable;
using boost::asio::local::stream_protocol;
using boost::system::error_code;
using namespace boost::asio::experimental::awaitable_operators;

constexpr std::size_t answer_bytes_max = 8 << 20;
constexpr std::size_t head_bytes_max = 64 << 10;

/// What a URL's path or query may hold as it is.
std::string in_url(std::string_view text) {
  std::string url;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain)
      url += c;
    else
      url += format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

/// One HTTP/1.0 exchange: the answer ends where the daemon closes.
class Exchange {
 public:
  using Heard = std::function<void(std::string_view)>;

  Exchange(boost::asio::any_io_executor executor, const std::string& path)
      : socket_(executor), timer_(executor), path_(path) {}

  /// The whole answer; with `heard`, the body of a good one goes there instead. `silence` is how
  /// long to wait for each part.
  awaitable<Result<HttpAnswer>> run(std::string request, Duration silence, Heard heard) {
    HttpAnswer answer;
    error_code error;
    socket_.connect(stream_protocol::endpoint(path_), error);  // a Unix socket: at once or not
    if (!error) {
      auto [failed, size] =
          co_await boost::asio::async_write(socket_, boost::asio::buffer(request), net::no_throw);
      error = failed;
    }
    if (error) co_return Error{Errc::io_failed, format("{}: {}", path_, error.message())};
    std::string bytes;
    bool in_head = true;
    for (;;) {
      std::string part(64 << 10, '\0');
      timer_.expires_after(silence);
      auto done = co_await (socket_.async_read_some(boost::asio::buffer(part), net::no_throw) ||
                            timer_.async_wait(net::no_throw));
      if (done.index() == 1)
        co_return Error{Errc::timed_out, format("{} does not go on with its answer", path_)};
      const auto [failed, size] = std::get<0>(done);
      if (failed == boost::asio::error::eof) break;
      if (failed) co_return Error{Errc::io_failed, format("{}: {}", path_, failed.message())};
      bytes.append(part, 0, size);
      if (in_head) {
        if (!take_head(bytes, answer)) continue;
        in_head = false;
      }
      if (heard && answer.status == 200)
        heard(std::exchange(bytes, {}));
      else if (bytes.size() > answer_bytes_max)
        co_return Error{Errc::too_large,
                        format("{} answers with more than {} bytes", path_, answer_bytes_max)};
    }
    if (in_head) co_return Error{Errc::malformed, format("{} does not speak HTTP", path_)};
    answer.body = std::move(bytes);
    co_return answer;
  }

 private:
  /// Takes the head away once it is all there.
  static bool take_head(std::string& bytes, HttpAnswer& answer) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (bytes.size() > head_bytes_max) bytes.clear();
      return false;
    }
    const std::size_t space = bytes.find(' ');
    if (space < end) answer.status = std::atoi(bytes.c_str() + space + 1);
    bytes.erase(0, end + 4);
    return true;
  }

  stream_protocol::socket socket_;
  boost::asio::steady_timer timer_;
  std::string path_;
};

/// `header`: one more line, with its end; "": none.
std::string request_line(std::string_view method, std::string_view path,
                         std::string_view header = {}) {
  return format("{} {} HTTP/1.0\r\nHost: docker\r\n{}Content-Length: 0\r\n\r\n", method, path,
                header);
}

class DockerImages : public ImageEngine {
 public:
  DockerImages(boost::asio::any_io_executor executor, EngineOptions options)
      : executor_(executor), options_(std::move(options)) {}

  awaitable<Result<std::optional<ImageFacts>>> find(std::string name) override {
    auto answer = co_await call("GET", format("/images/{}/json", in_url(name)));
    if (!answer) co_return std::move(answer).error();
    if (answer->status == 404) co_return std::optional<ImageFacts>();
    if (answer->status != 200) co_return Error{Errc::io_failed, escaped(message_of(*answer))};
    auto facts = image_facts(answer->body, name);
    if (!facts) co_return std::move(facts).error();
    co_return std::optional<ImageFacts>(*std::move(facts));
  }

  awaitable<Result<void>> pull(std::string name, proto::RegistryLogin login,
                               std::function<void(unsigned)> percent) override {
    PullProgress progress;
    const std::string path = format("/images/create?fromImage={}&tag={}",
                                    in_url(image_repository(name)), in_url(image_tag(name)));
    const Exchange::Heard heard = [&progress, &percent](std::string_view part) {
      progress.take(part);
      percent(progress.percent());
    };
    Exchange exchange(executor_, options_.docker_socket);
    std::string request = request_line("POST", path, docker_login_header(login, name));
    auto answer = co_await exchange.run(std::move(request), options_.pull_silence, heard);
    if (!answer) co_return std::move(answer).error();
    if (answer->status != 200) co_return pull_error(message_of(*answer));
    if (!progress.trouble().empty()) co_return pull_error(progress.trouble());
    co_return Result<void>();
  }

  awaitable<Result<void>> remove(std::string name) override {
    auto answer = co_await call("DELETE", format("/images/{}", in_url(name)));
    if (!answer) co_return std::move(answer).error();
    if (answer->status != 200 && answer->status != 404)
      co_return Error{Errc::io_failed, escaped(message_of(*answer))};
    co_return Result<void>();
  }

  awaitable<Result<std::set<std::string>>> ids() override {
    auto answer = co_await call("GET", "/images/json?all=true");
    if (!answer) co_return std::move(answer).error();
    if (answer->status != 200) co_return Error{Errc::io_failed, escaped(message_of(*answer))};
    co_return image_ids(answer->body);
  }

  awaitable<Result<std::string>> directory() override {
    auto answer = co_await call("GET", "/info");
    if (!answer) co_return std::move(answer).error();
    error_code error;
    const boost::json::value info = boost::json::parse(answer->body, error);
    const auto* object = error ? nullptr : info.if_object();
    const auto* root = object == nullptr ? nullptr : object->if_contains("DockerRootDir");
    if (root == nullptr || !root->is_string())
      co_return Error{Errc::malformed, "dockerd does not say where its images are"};
    co_return std::string(root->get_string());
  }

  awaitable<Result<void>> sweep(
      std::function<bool(const std::string& container)> is_wanted) override {
    auto answer = co_await call("GET", "/containers/json?all=true");
    if (!answer) co_return std::move(answer).error();
    if (answer->status != 200) co_return Error{Errc::io_failed, escaped(message_of(*answer))};
    std::string trouble;
    for (const std::string& name : names_of(answer->body)) {
      if (!name.starts_with(container_prefix(options_.node)) || is_wanted(name)) continue;
      auto removed = co_await call("DELETE", format("/containers/{}?force=true&v=true", name));
      if (!removed) co_return std::move(removed).error();
      // 404: it went by itself; 409: it is about to.
      if (removed->status != 204 && removed->status != 404 && removed->status != 409)
        trouble = escaped(message_of(*removed));
    }
    if (!trouble.empty()) co_return Error{Errc::io_failed, trouble};
    co_return co_await sweep_images(is_wanted);
  }

 private:
  /// Those that we made: of runs that are over, and more of a user than may be kept.
  awaitable<Result<void>> sweep_images(std::function<bool(const std::string&)> is_wanted) {
    std::vector<OwnImage> images;
    for (const std::string& filter :
         {format(R"({{"reference":["{}"]}})", file_images),
          format(R"({{"reference":["{}"]}})", kept_images),
          format(R"({{"dangling":["true"],"label":["{}"]}})", own_label)}) {
      auto answer = co_await call("GET", format("/images/json?filters={}", in_url(filter)));
      if (!answer) co_return std::move(answer).error();
      for (OwnImage& image : own_images(answer->body)) images.push_back(std::move(image));
    }
    for (const std::string& name :
         unwanted_images(std::move(images), options_.node, options_.kept_max, is_wanted)) {
      auto removed = co_await call("DELETE", format("/images/{}", in_url(name)));
      if (!removed) co_return std::move(removed).error();
    }
    co_return Result<void>();
  }

  awaitable<Result<HttpAnswer>> call(std::string_view method, std::string path) {
    Exchange exchange(executor_, options_.docker_socket);
    co_return co_await exchange.run(request_line(method, path), options_.call_limit, nullptr);
  }

  static std::vector<std::string> names_of(const std::string& body) {
    std::vector<std::string> names;
    error_code error;
    const boost::json::value list = boost::json::parse(body, error);
    if (error || !list.is_array()) return names;
    for (const boost::json::value& item : list.get_array()) {
      const auto* object = item.if_object();
      const auto* all = object == nullptr ? nullptr : object->if_contains("Names");
      if (all == nullptr || !all->is_array()) continue;
      for (const boost::json::value& name : all->get_array())
        if (name.is_string() && name.get_string().starts_with('/'))
          names.emplace_back(name.get_string().subview(1));
    }
    return names;
  }

  boost::asio::any_io_executor executor_;
  EngineOptions options_;
};

}  // namespace

std::unique_ptr<ImageEngine> docker_images(boost::asio::any_io_executor executor,
                                           EngineOptions options) {
  return std::make_unique<DockerImages>(executor, std::move(options));
}

}  // namespace rota::gpud
