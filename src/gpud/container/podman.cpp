// gpud/container/podman.cpp - images of podman, by its program.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "common/escape.h"
#include "common/format.h"
#include "gpud/container/engine.h"
#include "gpud/container/logins.h"
#include "gpud/health/program.h"
#include "gpud/launch/secrets.h"
#include "net/wakeup.h"

namespace rota::gpud {
namespace {

using boost::asio::awaitable;

constexpr std::size_t output_bytes_max = 4 << 20;

/// How one call of the program ended, and what it printed.
struct Said {
  Result<void> end;
  std::string output;
};

class PodmanImages : public ImageEngine {
 public:
  PodmanImages(boost::asio::any_io_executor executor, EngineOptions options)
      : executor_(executor), options_(std::move(options)) {}

  awaitable<Result<std::optional<ImageFacts>>> find(std::string name) override {
    // A call of the program costs more than the start of many a job. What it would say of an image
    // changes only with the list of images that it keeps.
    const std::string version = co_await store_version();
    if (version.empty() || version != known_version_) known_.clear();
    known_version_ = version;
    if (const auto known = known_.find(name); known != known_.end())
      co_return std::optional<ImageFacts>(known->second);
    std::vector<std::string> words = {"image", "inspect", name};
    Said said = co_await call(std::move(words), options_.call_limit, nullptr);
    if (!said.end && lacks(said.output)) co_return std::optional<ImageFacts>();
    if (!said.end) co_return std::move(said.end).error();
    auto facts = image_facts(said.output, name);
    if (!facts) co_return std::move(facts).error();
    // What was read may be older or newer than the list was then.
    const std::string after = co_await store_version();
    if (!version.empty() && version == after && version == known_version_) known_[name] = *facts;
    co_return std::optional<ImageFacts>(*std::move(facts));
  }

  awaitable<Result<void>> pull(std::string name, proto::RegistryLogin login,
                               std::function<void(unsigned)> percent) override {
    // To a pipe it tells each layer as it begins with it, and neither how many nor how large they
    // are. What it draws on a terminal has all that.
    PullProgress progress(PullProgress::Of::podman);
    const auto heard = [&progress, &percent](std::string_view part) {
      progress.take(part);
      percent(progress.percent());
    };
    std::vector<std::string> words = {"pull", "--quiet=false", "--tls-verify=true", name};
    if (is_on_loopback(name)) words[2] = "--tls-verify=false";
    // In memory, and named by our own descriptor of it: there is no such file when we are gone.
    Fd login_file;
    if (!login.empty()) {
      auto made = memory_file(podman_login_file(login, name));
      if (!made) co_return std::move(made).error();
      login_file = *std::move(made);
      words.insert(words.begin() + 1,
                   format("--authfile=/proc/{}/fd/{}", ::getpid(), login_file.get()));
    }
    Said said = co_await call(std::move(words), options_.pull_limit, heard, true);
    if (said.end) co_return Result<void>();
    co_return pull_error(complaint(said.output, said.end.error().detail));
  }

  awaitable<Result<void>> remove(std::string name) override {
    std::vector<std::string> words = {"rmi", name};
    Said said = co_await call(std::move(words), options_.call_limit, nullptr);
    if (said.end || lacks(said.output)) co_return Result<void>();
    co_return Error{Errc::io_failed, escaped(complaint(said.output, said.end.error().detail))};
  }

  awaitable<Result<std::set<std::string>>> ids() override {
    std::vector<std::string> words = {"images", "--all", "--format=json"};
    Said said = co_await call(std::move(words), options_.call_limit, nullptr);
    if (!said.end) co_return std::move(said.end).error();
    co_return image_ids(said.output);
  }

  awaitable<Result<std::string>> directory() override {
    std::vector<std::string> words = {"info", "--format={{.Store.GraphRoot}}"};
    Said said = co_await call(std::move(words), options_.call_limit, nullptr);
    if (!said.end) co_return std::move(said.end).error();
    co_return said.output.substr(0, said.output.find('\n'));
  }

  awaitable<Result<void>> sweep(
      std::function<bool(const std::string& container)> is_wanted) override {
    std::vector<std::string> words = {"ps", "--all", "--format={{.Names}}"};
    Said said = co_await call(std::move(words), options_.call_limit, nullptr);
    if (!said.end) co_return std::move(said.end).error();
    std::vector<std::string> remove = {"rm", "--force", "--time=0", "--ignore"};
    const std::size_t before = remove.size();
    for (std::size_t at = 0; at < said.output.size();) {
      const std::size_t end = std::min(said.output.find('\n', at), said.output.size());
      const std::string name = said.output.substr(at, end - at);
      if (name.starts_with(container_prefix(options_.node)) && !is_wanted(name))
        remove.push_back(name);
      at = end + 1;
    }
    if (remove.size() > before) {
      Said removed = co_await call(std::move(remove), options_.call_limit, nullptr);
      if (!removed.end) co_return std::move(removed.end);
    }
    co_return co_await sweep_images(is_wanted);
  }

 private:
  /// Those that we made: of runs that are over, and more of a user than may be kept.
  awaitable<Result<void>> sweep_images(std::function<bool(const std::string&)> is_wanted) {
    std::vector<std::string> words = {"images", "--format=json"};
    Said said = co_await call(std::move(words), options_.call_limit, nullptr);
    if (!said.end) co_return std::move(said.end);
    // Without force: it would end the containers that one is in use by.
    std::vector<std::string> remove = {"rmi", "--"};
    const std::size_t before = remove.size();
    for (std::string& name :
         unwanted_images(own_images(said.output), options_.node, options_.kept_max, is_wanted))
      remove.push_back(std::move(name));
    if (remove.size() == before) co_return Result<void>();
    Said removed = co_await call(std::move(remove), options_.call_limit, nullptr);
    co_return std::move(removed.end);
  }

  static bool lacks(std::string_view output) {
    return output.find("image not known") != std::string_view::npos ||
           output.find("no such image") != std::string_view::npos ||
           output.find("failed to find image") != std::string_view::npos;
  }

  /// The line with its complaint, without its own decoration.
  static std::string complaint(const std::string& output, const std::string& otherwise) {
    std::string text = output;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const std::size_t error = text.rfind("Error: ");
    if (error == std::string::npos) return otherwise;
    text.erase(0, error + 7);
    return text.substr(0, text.find('\n'));
  }

  /// When the list of images was last written; "": it cannot be told.
  awaitable<std::string> store_version() {
    if (!store_) {
      std::vector<std::string> words = {
          "info", "--format={{.Store.GraphRoot}}/{{.Store.GraphDriverName}}-images/images.json"};
      Said said = co_await call(std::move(words), options_.call_limit, nullptr);
      if (!said.end) co_return std::string();
      while (!said.output.empty() && said.output.back() == '\n') said.output.pop_back();
      store_ = std::move(said.output);
    }
    struct stat status {};
    if (::stat(store_->c_str(), &status) != 0) co_return std::string();
    co_return format("{}.{}.{}", status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }

  awaitable<Said> call(std::vector<std::string> words, Duration limit,
                       std::function<void(std::string_view)> heard, bool on_terminal = false) {
    ProgramOrder order;
    order.words = podman_words(options_.podman);
    order.words.insert(order.words.end(), words.begin(), words.end());
    order.limit = limit;
    order.on_terminal = on_terminal;
    struct State {
      explicit State(const boost::asio::any_io_executor& executor) : done(executor) {}
      net::Wakeup done;
      Said said{Error{Errc::timed_out, "podman does not answer"}, {}};
    };
    const auto state = std::make_shared<State>(executor_);
    order.heard = [state, heard](std::string_view part) {
      if (state->said.output.size() < output_bytes_max) state->said.output += part;
      if (heard) heard(part);
    };
    const auto running = run_program(executor_, std::move(order), [state](Result<void> end) {
      state->said.end = std::move(end);
      state->done.notify();
    });
    const net::Deadline deadline = net::deadline_after(limit + std::chrono::minutes(1));
    co_await state->done.wait(deadline);
    co_return std::move(state->said);
  }

  boost::asio::any_io_executor executor_;
  EngineOptions options_;
  std::map<std::string, ImageFacts> known_;
  std::string known_version_;
  std::optional<std::string> store_;  // the file with the list
};

}  // namespace

std::unique_ptr<ImageEngine> podman_images(boost::asio::any_io_executor executor,
                                           EngineOptions options) {
  return std::make_unique<PodmanImages>(executor, std::move(options));
}

}  // namespace rota::gpud
