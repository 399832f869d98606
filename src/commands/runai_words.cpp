// commands/runai_words.cpp - one row for each option of runai's: what it is here.
#include "commands/runai_words.h"

#include <algorithm>
#include <array>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/job.h"

namespace rota::commands {
namespace {

enum class Way : std::uint8_t {
  same,
  named,    // ours by the name in `text`
  dropped,  // it is so anyway
  lost,     // `text` says why
  cpus,
  port,
  service,
  pools,
  git,
  data,
  host_path,
  pull,
  command,
  argument,
  name,
  workers,
  replicas_min,
  replicas_max,
};

struct Row {
  char letter;
  std::string_view name;
  std::string_view argument;
  Way way;
  std::string_view text = {};
};

constexpr std::string_view no_cluster = "there is no Kubernetes here";
constexpr std::string_view site = "this is for the site to configure";
constexpr std::string_view by_hand = "open a shell in the job with 'rota bash'";

/// Of the first command line (v1), and where the second has another name for the same, that too.
constexpr auto rows = std::to_array<Row>({
    {0, "name", "NAME", Way::name},
    {'i', "image", "IMAGE", Way::named, "image"},
    {'p', "project", "NAME", Way::named, "project"},
    {'g', "gpu", "N", Way::named, "gpus-per-task"},
    {0, "gpu-devices-request", "N", Way::named, "gpus-per-task"},
    {0, "gpu-portion-request", "PART", Way::named, "gpus-per-task"},
    {0, "gpu-memory", "SIZE", Way::named, "gpu-memory"},
    {0, "gpu-memory-request", "SIZE", Way::named, "gpu-memory"},
    {0, "mig-profile", "PROFILE", Way::named, "mig"},
    {'c', "cpu", "N", Way::cpus},
    {0, "cpu-core-request", "N", Way::cpus},
    {0, "cpu-limit", "N", Way::lost, "a job has the CPUs that it asks for"},
    {0, "cpu-core-limit", "N", Way::lost, "a job has the CPUs that it asks for"},
    {'m', "memory", "SIZE", Way::named, "mem"},
    {0, "cpu-memory-request", "SIZE", Way::named, "mem"},
    {0, "memory-limit", "SIZE", Way::lost, "a job has the memory that it asks for"},
    {0, "cpu-memory-limit", "SIZE", Way::lost, "a job has the memory that it asks for"},
    {'v', "volume", "SOURCE:TARGET[:ro]", Way::named, "container-mounts"},
    {0, "host-path", "path=P,mount=M", Way::host_path},
    {0, "pvc", "NAME:DIR", Way::data},
    {0, "existing-pvc", "claimname=NAME,path=DIR", Way::data},
    {0, "new-pvc", "SPEC", Way::lost, "volumes are the site's: --data"},
    {'e', "environment", "NAME=VALUE", Way::named, "env"},
    {0, "environment-variable", "NAME=VALUE", Way::named, "env"},
    {0, "port", "PORTS", Way::port},
    {'s', "service-type", "TYPE", Way::service},
    {0, "external-url", "container=PORT", Way::same},
    {0, "interactive", "", Way::same},
    {0, "preemptible", "", Way::same},
    {0, "preemptibility", "HOW", Way::same},
    {0, "priority", "NAME", Way::same},
    {0, "large-shm", "", Way::same},
    {0, "local-image", "", Way::same},
    {0, "always-pull-image", "", Way::pull},
    {0, "image-pull-policy", "WHEN", Way::named, "pull"},
    {0, "working-dir", "DIR", Way::named, "container-workdir"},
    {0, "command", "[COMMAND]", Way::command},
    {0, "args", "ARGUMENT", Way::argument},
    {0, "completions", "N", Way::named, "runs"},
    {0, "runs", "N", Way::same},
    {0, "parallelism", "N", Way::same},
    {0, "backoff-limit", "N", Way::named, "retries"},
    {0, "node-type", "TYPE", Way::named, "constraint"},
    {0, "node-pools", "LIST", Way::pools},
    {0, "git-sync", "source=URL,...", Way::git},
    {0, "template", "NAME", Way::same},
    {0, "label", "KEY=VALUE", Way::same},
    {0, "workers", "N", Way::workers},
    {0, "min-replicas", "N", Way::replicas_min},
    {0, "max-replicas", "N", Way::replicas_max},
    {0, "run-as-user", "", Way::dropped},
    {0, "prevent-privilege-escalation", "", Way::dropped},
    {0, "dry-run", "", Way::lost, "'rota translate' shows what a job would be"},
    {0, "job-name-prefix", "TEXT", Way::lost, "names are given in full"},
    {0, "annotation", "KEY=VALUE", Way::lost, "a job carries --label"},
    {0, "attach", "", Way::lost, by_hand},
    {0, "stdin", "", Way::lost, by_hand},
    {'t', "tty", "", Way::lost, by_hand},
    {0, "create-home-dir", "", Way::lost, "your home is there with --container-mount-home"},
    {0, "host-ipc", "", Way::lost, site},
    {0, "host-network", "", Way::lost, site},
    {0, "capability", "NAME", Way::lost, "nobody has root's rights in a container"},
    {0, "extended-resource", "SPEC", Way::lost, no_cluster},
    {0, "toleration", "SPEC", Way::lost, no_cluster},
    {0, "configmap-volume", "SPEC", Way::lost, no_cluster},
    {0, "secret-volume", "SPEC", Way::lost, "secrets are kept with rsecret: --secret"},
    {0, "image-pull-secret", "NAME", Way::lost, "logins to registries are kept with 'rota login'"},
    {0, "nfs", "SPEC", Way::lost, "volumes are the site's: --data"},
    {0, "s3", "SPEC", Way::lost, "volumes are the site's: --data"},
    {0, "ttl-after-finish", "TIME", Way::lost, "records are kept, containers are not"},
    {0, "auto-deletion-time-after-completion", "TIME", Way::lost,
     "records are kept, containers are not"},
    {0, "user-group-source", "SPEC", Way::lost, "you are who you are"},
});

const Command& command_table() {
  static const std::vector<Option> options = [] {
    std::vector<Option> made;
    for (std::size_t i = 0; i < rows.size(); ++i)
      made.push_back({static_cast<int>(i) + option_own, rows[i].letter, rows[i].name,
                      rows[i].argument,
                      rows[i].way == Way::lost      ? rows[i].text
                      : rows[i].way == Way::dropped ? "it is so anyway"
                                                    : "see rsubmit(1)",
                      Scope::command_line});
    for (const Option& option : {verbose_option, help_option}) made.push_back(option);
    return made;
  }();
  static constexpr std::array<std::string_view, 1> synopses{
      "submit NAME [OPTION...] [-- COMMAND [ARGUMENT...]]"};
  static const Command command{.name = "runai",
                               .synopses = synopses,
                               .summary = "Queue a job, with Run:ai's words: see rsubmit(1).",
                               .options = options};
  return command;
}

/// "source=URL,branch=B,target=DIR": the value of one of them.
std::string part_of(std::string_view list, std::initializer_list<std::string_view> keys) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    for (const std::string_view key : keys)
      if (part.substr(0, equals) == key) return std::string(part.substr(equals + 1));
  }
  return {};
}

class Submission {
 public:
  Result<Translation> take(const Arguments& arguments) {
    for (const Given& given : arguments.options) {
      if (given.option->id < option_own) {
        put(given.option->name, "", given.word);
        continue;
      }
      ROTA_CHECK(take_one(rows[static_cast<std::size_t>(given.option->id - option_own)], given));
    }
    return finish();
  }
  std::string name;
  std::vector<std::string> behind;  // a "--"
  std::uint32_t leaders = 0;        // tasks besides the workers

 private:
  Result<void> take_one(const Row& row, const Given& given) {
    switch (row.way) {
      case Way::same:
        put(row.name, given.value, given.word);
        break;
      case Way::named:
        put(row.text, given.value, given.word);
        break;
      case Way::dropped:
        break;
      case Way::lost:
        lose(given, row.text);
        break;
      case Way::pull:
        put("pull", "always", given.word);
        break;
      case Way::cpus:
        return take_cpus(given);
      case Way::port: {  // of "8080:80" only the container's counts
        const std::string& value = given.value;
        const std::size_t colon = value.rfind(':');
        put("port", colon == std::string::npos ? value : value.substr(colon + 1), given.word);
        break;
      }
      case Way::service:
        if (given.value.starts_with("ingress") || given.value.starts_with("external-url"))
          put("url", "", given.word);
        else
          lose(given, "ports are found with --url, or with 'rota port-forward'");
        break;
      case Way::pools:
        put("queue", given.value.substr(0, given.value.find_first_of(", ")), given.word);
        if (given.value.find_first_of(", ") != std::string::npos)
          lose(given, "a job goes through one queue, the first");
        break;
      case Way::git:
        take_git(given);
        break;
      case Way::data: {
        const std::string claim = part_of(given.value, {"claimname", "name"});
        const std::string path = part_of(given.value, {"path"});
        put("data",
            claim.empty()  ? given.value
            : path.empty() ? claim
                           : claim + ":" + path,
            given.word);
        break;
      }
      case Way::host_path: {
        const std::string path = part_of(given.value, {"path"});
        const std::string mount = part_of(given.value, {"mount"});
        if (path.empty() || mount.empty()) return bad_value(given, "write path=HERE,mount=THERE");
        put("container-mounts",
            path + ":" + mount + (given.value.find("readwrite") == std::string::npos ? ":ro" : ""),
            given.word);
        break;
      }
      case Way::command:
        has_command_ = true;
        if (!given.value.empty()) command_.push_back(given.value);
        break;
      case Way::argument:
        arguments_.push_back(given.value);
        break;
      case Way::name:
        name = given.value;
        break;
      case Way::workers:
      case Way::replicas_min:
      case Way::replicas_max: {
        const auto number = number_parse(given.value, JobBounds::node_count_max);
        if (!number) return bad_value(given, number.error().detail);
        (row.way == Way::workers        ? workers_
         : row.way == Way::replicas_min ? least_
                                        : most_) = static_cast<std::uint32_t>(*number);
        break;
      }
    }
    return {};
  }

  /// Whole ones, rounded up.
  Result<void> take_cpus(const Given& given) {
    const auto amount = decimal_parse(given.value, 3, 1'000'000'000);
    if (!amount) return bad_value(given, amount.error().detail);
    put("cpus-per-task", format("{}", std::max<std::int64_t>(1, (*amount + 999) / 1000)),
        given.word);
    return {};
  }

  void take_git(const Given& given) {
    const std::string url = part_of(given.value, {"source", "repository"});
    const std::string revision = part_of(given.value, {"branch", "revision", "rev"});
    const std::string target = part_of(given.value, {"target", "path"});
    if (url.empty() || target.empty())
      return lose(given, "write source=URL,branch=NAME,target=DIR");
    put("git", url + (revision.empty() ? "" : "@" + revision) + ":" + target, given.word);
    if (!part_of(given.value, {"username", "password", "secret"}).empty())
      lose(given, "its login; keep it with rsecret");
  }

  Result<Translation> finish() {
    if (workers_ || leaders > 0) put("ntasks", format("{}", workers_.value_or(1) + leaders), 0);
    if (least_ || most_)
      put("nodes",
          format("{}-{}", least_.value_or(1), std::max(least_.value_or(1), most_.value_or(1))), 0);
    if (!name.empty())
      out_.options.insert(out_.options.begin(), {long_option("job-name", name), 0});
    std::vector<std::string>& words = out_.operands;
    words = command_;
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    words.insert(words.end(), behind.begin(), behind.end());
    if (!words.empty()) put(has_command_ ? "no-entrypoint" : "entrypoint", "", 0);
    out_.after_dashes = !words.empty();
    return std::move(out_);
  }

  void put(std::string_view name_of_ours, std::string_view value, std::size_t word) {
    out_.options.push_back({long_option(name_of_ours, value), word});
  }
  void lose(const Given& given, std::string_view why) {
    out_.lost.push_back(
        {long_option(given.option->name, given.value), std::string(why), given.word});
  }

  Translation out_;
  std::vector<std::string> command_;
  std::vector<std::string> arguments_;
  bool has_command_ = false;
  std::optional<std::uint32_t> workers_, least_, most_;
};

/// `--command X` and `--command=X` are the same, and a bare one stands before "--" or an option.
std::vector<std::string> with_joined_commands(std::span<const std::string> words) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      joined.insert(joined.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const bool takes_next =
        words[i] == "--command" && i + 1 < words.size() && !words[i + 1].starts_with('-');
    joined.push_back(takes_next ? words[i] + "=" + words[i + 1] : words[i]);
    if (takes_next) ++i;
  }
  return joined;
}

Result<Translation> submit(std::span<const std::string> words, std::uint32_t leaders) {
  const std::vector<std::string> joined = with_joined_commands(words);
  const auto dashes = std::ranges::find(joined, "--");
  Submission submission;
  submission.leaders = leaders;
  if (dashes != joined.end()) submission.behind.assign(dashes + 1, joined.end());
  const std::vector<std::string> own(joined.begin(), dashes);
  Arguments arguments;
  if (const auto bad = parse_words(command_table(), own, arguments))
    return Error{Errc::usage, bad->what};
  if (arguments.operands.size() > 1)
    return Error{Errc::usage,
                 format("a job has one name, and {} is a second; the command stands behind --",
                        quoted(arguments.operands[1]))};
  if (!arguments.operands.empty()) submission.name = arguments.operands.front();
  return submission.take(arguments);
}

}  // namespace

const Command& runai_submit_command() { return command_table(); }

Result<Translation> runai_submit(std::span<const std::string> words) { return submit(words, 0); }

Result<Translation> runai_submit_dist(std::span<const std::string> words) {
  constexpr std::array<std::string_view, 5> kinds{"pytorch", "mpi", "tf", "tensorflow", "xgboost"};
  if (words.empty() || std::ranges::find(kinds, words.front()) == kinds.end())
    return Error{Errc::usage, "submit-dist needs a kind: pytorch, mpi, tf or xgboost"};
  // PyTorch's and XGBoost's master works as well, besides the workers.
  const bool has_leader = words.front() == "pytorch" || words.front() == "xgboost";
  return submit(words.subspan(1), has_leader ? 1 : 0);
}

}  // namespace rota::commands
