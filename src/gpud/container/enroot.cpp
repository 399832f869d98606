// gpud/container/enroot.cpp - images of enroot: files that it makes from what a registry has, one
// for each digest.
//
// Below the directory: images/ holds the files, and for each name that was pulled which of them it
// means; import/ is where an account without rights puts them together; data/UID/ has the unpacked
// containers of a user, run/UID/ what enroot needs meanwhile.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/escape.h"
#include "common/format.h"
#include "gpud/container/engine.h"
#include "gpud/health/program.h"
#include "gpud/launch/file.h"
#include "net/wakeup.h"

namespace rota::gpud {
namespace {

using boost::asio::awaitable;

constexpr std::size_t key_bytes_max = 200;
constexpr const char* staged_name = "image.sqsh";

/// A name as a file's: one for one, and never with a way out.
std::string file_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (is_plain)
      key += c;
    else
      key += format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (key.starts_with('.')) key.replace(0, 1, "%2E");
  if (key.size() <= key_bytes_max) return key;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return format("{}-{:016x}", key.substr(0, key_bytes_max - 20), hash);
}

bool is_digest(std::string_view text) {
  return text.size() == 71 && text.starts_with("sha256:") &&
         text.find_first_not_of("0123456789abcdef", 7) == std::string_view::npos;
}

class EnrootImages : public ImageEngine {
 public:
  EnrootImages(boost::asio::any_io_executor executor, EngineOptions options)
      : executor_(executor), options_(std::move(options)) {}

  awaitable<Result<std::optional<ImageFacts>>> find(std::string name) override {
    ImageFacts facts;
    if (name.starts_with('/')) {  // a file of the owner's, who alone can say whether it is there
      facts.id = std::move(name);
      co_return std::optional<ImageFacts>(std::move(facts));
    }
    std::string digest(image_tag(name));
    if (!is_digest(digest)) digest = trimmed(file_read(tag_path(name)));
    facts.id = is_digest(digest) ? image_path(name, digest) : untold_path(name);
    struct stat status {};
    if (::stat(facts.id.c_str(), &status) != 0) co_return std::optional<ImageFacts>();
    if (is_digest(digest)) facts.digest = format("{}@{}", image_repository(name), digest);
    facts.size_bytes = static_cast<std::uint64_t>(status.st_size);
    co_return std::optional<ImageFacts>(std::move(facts));
  }

  /// Without a login: what is imported is a file that every user of the node can read.
  awaitable<Result<void>> pull(std::string name, proto::RegistryLogin login,
                               std::function<void(unsigned)> percent) override {
    percent(0);  // of the rest it tells nothing that could be counted
    std::string place = format("{}/import/{}.{}", options_.enroot_dir, ::getpid(), ++count_);
    if (auto made = stage(place); !made) co_return std::move(made).error();
    Result<void> end = co_await import(name, place);
    std::vector<std::string> words = {"rm", "-rf", "--one-file-system", "--", place};
    static_cast<void>(co_await call(std::move(words)));
    if (!end && end.error().code == Errc::denied && !login.empty()) {
      Error error = std::move(end).error();
      error.detail += " (enroot asks without your login; docker and podman use it)";
      co_return error;
    }
    co_return end;
  }

  awaitable<Result<void>> remove(std::string name) override {
    std::string digest(image_tag(name));
    const bool is_pinned = is_digest(digest);
    if (!is_pinned) digest = trimmed(file_read(tag_path(name)));
    // A container that was made from it has files of its own.
    const std::string path = is_digest(digest) ? image_path(name, digest) : untold_path(name);
    const bool is_free =
        !is_digest(digest) || !is_meant(name, digest, is_pinned ? "" : tag_path(name));
    if (is_free && ::unlink(path.c_str()) != 0 && errno != ENOENT)
      co_return Error{Errc::io_failed,
                      format("cannot remove {}: {}", path, strerrordesc_np(errno))};
    if (!is_pinned) ::unlink(tag_path(name).c_str());
    co_return Result<void>();
  }

  awaitable<Result<std::string>> directory() override { co_return options_.enroot_dir; }

  awaitable<Result<void>> sweep(
      std::function<bool(const std::string& container)> is_wanted) override {
    std::vector<std::string> words = {"rm", "-rf", "--one-file-system", "--"};
    const std::size_t before = words.size();
    std::error_code ignored;
    using Iterator = std::filesystem::directory_iterator;
    // What an earlier rgpud was at when it ended.
    for (const auto& item : Iterator(options_.enroot_dir + "/import", ignored))
      if (!item.path().filename().string().starts_with(format("{}.", ::getpid())))
        words.push_back(item.path());
    for (const auto& user : Iterator(options_.enroot_dir + "/data", ignored)) {
      add_old(user.path(), words);
      for (const auto& item : Iterator(user.path(), ignored)) {
        const std::string name = item.path().filename();
        const bool is_ours = name.starts_with(container_prefix(options_.node));
        if (is_ours && !is_wanted(name)) words.push_back(item.path());
      }
    }
    if (words.size() == before) co_return Result<void>();
    co_return co_await call(std::move(words));
  }

 private:
  /// The oldest of what a user keeps, beyond what one may keep.
  void add_old(const std::filesystem::path& place, std::vector<std::string>& words) const {
    std::vector<std::pair<std::int64_t, std::string>> kept;
    std::error_code ignored;
    for (const auto& item : std::filesystem::directory_iterator(place, ignored)) {
      struct stat status {};
      if (item.path().filename().string().starts_with(kept_root("")) &&
          ::lstat(item.path().c_str(), &status) == 0)
        kept.emplace_back(-status.st_mtim.tv_sec, item.path());
    }
    std::ranges::sort(kept);
    for (std::size_t i = options_.kept_max; i < kept.size(); ++i) words.push_back(kept[i].second);
  }

  static std::string trimmed(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  std::string in_images(const std::string& key, const char* suffix) const {
    return format("{}/images/{}{}", options_.enroot_dir, key, suffix);
  }
  std::string image_path(std::string_view name, std::string_view digest) const {
    return in_images(file_key(format("{}@{}", image_repository(name), digest)), ".sqsh");
  }
  std::string tag_path(std::string_view name) const {
    return in_images(file_key(format("{}:{}", image_repository(name), image_tag(name))), ".tag");
  }
  /// Of an image whose digest enroot did not tell.
  std::string untold_path(std::string_view name) const {
    return in_images(file_key(format("{}:{}", image_repository(name), image_tag(name))), ".sqsh");
  }

  /// "docker://host:5000#team/torch:2.4": what is before the first '/' is a registry if it has a
  /// dot or a port, as docker has it.
  static std::string uri_of(std::string_view name) {
    const std::size_t slash = name.find('/');
    const std::string_view first = name.substr(0, slash);
    const bool is_registry =
        slash != std::string_view::npos &&
        (first.find_first_of(".:") != std::string_view::npos || first == "localhost");
    if (!is_registry) return format("docker://{}", name);
    return format("docker://{}#{}", first, name.substr(slash + 1));
  }

  /// Another name means the same file.
  bool is_meant(std::string_view name, const std::string& digest, const std::string& but) const {
    const std::string repository = file_key(image_repository(name));
    std::error_code ignored;
    for (const auto& item :
         std::filesystem::directory_iterator(options_.enroot_dir + "/images", ignored)) {
      const std::string file = item.path();
      if (file == but || !file.ends_with(".tag")) continue;
      if (item.path().filename().string().starts_with(repository + "%3A") &&
          trimmed(file_read(file)) == digest)
        return true;
    }
    return false;
  }

  /// A directory that is the account's own.
  Result<void> stage(const std::string& place) const {
    const Owner& account = options_.enroot_account;
    if (::mkdir(place.c_str(), 0700) != 0 || ::chown(place.c_str(), account.uid, account.gid) != 0)
      return Error{Errc::io_failed, format("cannot make {}: {}", place, strerrordesc_np(errno))};
    return {};
  }

  UserOrder order_for(std::string_view name, const std::string& place) const {
    UserOrder order;
    order.owner = options_.enroot_account;
    order.limit_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.pull_limit).count();
    order.with_children = true;
    const std::string& program = options_.enroot;
    order.environment = {
        format("PATH={}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               program.substr(0, program.rfind('/'))),
        format("HOME={}", place),
        format("ENROOT_CACHE_PATH={}/cache", place),
        format("ENROOT_DATA_PATH={}/data", place),
        format("ENROOT_RUNTIME_PATH={}/run", place),
        format("ENROOT_CONFIG_PATH={}/config", place),
        format("ENROOT_TEMP_PATH={}", place),
    };
    // As docker treats them: nobody can listen between this host and itself.
    if (is_on_loopback(name)) order.environment.push_back("ENROOT_ALLOW_HTTP=yes");
    return order;
  }

  awaitable<Result<void>> import(std::string name, std::string place) {
    const std::string wanted(image_tag(name));
    // Asked for what is named by its digest too: the registry says whether this user may have it.
    UserOrder ask = order_for(name, place);
    ask.words = {options_.enroot, "digest", "--", uri_of(name)};
    const Result<std::string> told = co_await options_.run_as(std::move(ask));
    // One that is too old to know the question shows how it is used; of others it is the answer.
    const bool is_old = !told && told.error().detail.find("COMMAND") != std::string::npos;
    if (!told && !is_old) co_return pull_error(told.error().detail);
    const std::string digest = is_digest(wanted) ? wanted : told ? last_word(*told) : "";
    if (told && !is_digest(digest)) co_return pull_error("enroot tells no digest");
    struct stat status {};
    const bool is_known = is_digest(digest);
    const std::string path = is_known ? image_path(name, digest) : untold_path(name);
    if (is_old || ::stat(path.c_str(), &status) != 0) {
      UserOrder order = order_for(name, place);
      const std::string pinned =
          is_known ? format("{}@{}", image_repository(name), digest) : std::string(name);
      order.words = {
          options_.enroot, "import", "--output", format("{}/{}", place, staged_name), "--",
          uri_of(pinned)};
      Result<std::string> made = co_await options_.run_as(std::move(order));
      if (!made) co_return pull_error(made.error().detail);
      if (auto taken = take(place, path); !taken) co_return taken;
    }
    if (is_known && !is_digest(wanted) && !file_replace(tag_path(name), digest + '\n'))
      co_return Error{Errc::io_failed,
                      format("cannot write {}: {}", tag_path(name), strerrordesc_np(errno))};
    co_return Result<void>();
  }

  static std::string last_word(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
    return std::string(text.substr(text.find_last_of(" \n") + 1));
  }

  /// From now on nobody but root can change it.
  static Result<void> take(const std::string& place, const std::string& path) {
    const std::string from = format("{}/{}", place, staged_name);
    const Fd file(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        ::fchown(file.get(), 0, 0) != 0 || ::fchmod(file.get(), 0644) != 0 ||
        ::rename(from.c_str(), path.c_str()) != 0)
      return Error{Errc::io_failed, format("cannot take {}: {}", from, strerrordesc_np(errno))};
    return {};
  }

  static bool file_replace(const std::string& path, const std::string& text) {
    const std::string fresh = path + ".new";
    ::unlink(fresh.c_str());
    Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    return file &&
           ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
           ::rename(fresh.c_str(), path.c_str()) == 0;
  }

  awaitable<Result<void>> call(std::vector<std::string> words) {
    struct State {
      explicit State(const boost::asio::any_io_executor& executor) : done(executor) {}
      net::Wakeup done;
      Result<void> end = Error{Errc::timed_out, "it does not end"};
    };
    const auto state = std::make_shared<State>(executor_);
    ProgramOrder order;
    order.words = std::move(words);
    order.limit = options_.pull_limit;
    const auto running = run_program(executor_, std::move(order), [state](Result<void> end) {
      state->end = std::move(end);
      state->done.notify();
    });
    const net::Deadline deadline = net::deadline_after(options_.pull_limit);
    co_await state->done.wait(deadline);
    co_return std::move(state->end);
  }

  boost::asio::any_io_executor executor_;
  EngineOptions options_;
  std::uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<ImageEngine> enroot_images(boost::asio::any_io_executor executor,
                                           EngineOptions options) {
  return std::make_unique<EnrootImages>(executor, std::move(options));
}

}  // namespace rota::gpud
