// gpud/prolog.cpp - one file per run says that an epilog is owed.
#include "gpud/prolog.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/log.h"
#include "gpud/launch/file.h"
#include "gpud/launch/record.h"

namespace rota::gpud {
namespace {

/// Of what one program prints.
constexpr std::size_t logged_bytes_max = 16 << 10;
constexpr std::size_t line_bytes_max = 512;
constexpr std::size_t marker_bytes_max = 1 << 20;

/// Its lines go to the log as they come.
class Lines {
 public:
  explicit Lines(std::string who) : who_(std::move(who)) {}
  ~Lines() {
    if (!line_.empty()) put();
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void add(std::string_view text) {
    for (const char letter : text) {
      if (logged_ >= logged_bytes_max) return;
      if (++logged_ == logged_bytes_max) {
        log::warning("{} prints more than {} bytes; the rest is not shown", who_, logged_bytes_max);
        line_.clear();
        return;
      }
      if (letter == '\n' || line_.size() == line_bytes_max) put();
      if (letter != '\n') line_ += letter;
    }
  }

 private:
  void put() {
    log::info("{}: {}", who_, escaped(line_));
    line_.clear();
  }

  std::string who_;
  std::string line_;
  std::size_t logged_ = 0;
};

/// Variables with a NUL behind each; the first is the boot.
std::vector<std::string> split(std::string_view bytes) {
  std::vector<std::string> words;
  for (std::size_t end; (end = bytes.find('\0')) != std::string_view::npos;) {
    words.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
  return words;
}

Prologs::OnFailure on_failure(const std::string& word) {
  using OnFailure = Prologs::OnFailure;
  if (word == "requeue") return OnFailure::requeue;
  if (word == "fail") return OnFailure::fail;
  return word == "ignore" ? OnFailure::ignore : OnFailure::drain;
}

}  // namespace

Prologs::Options prolog_options(const Config& config) {
  Prologs::Options options;
  options.prolog = config.node_prolog;
  options.epilog = config.node_epilog;
  options.limit = config.node_prolog_limit;
  options.prolog_failure = on_failure(config.node_prolog_failure);
  options.epilog_failure = on_failure(config.node_epilog_failure);
  return options;
}

std::vector<std::string> prolog_environment(const proto::LaunchRun& launch, const std::string& node,
                                            bool slurm_environment) {
  std::vector<std::string> list;
  const auto rota = [&list](std::string_view name, const auto& value) {
    list.push_back(format("ROTA_{}={}", name, value));
  };
  const auto both = [&](std::string_view name, const auto& value) {
    rota(name, value);
    if (slurm_environment) list.push_back(format("SLURM_{}={}", name, value));
  };
  const std::string gpus = format("{}", fmt::join(launch.part.gpus_used(), ","));
  const std::string uuids = format("{}", fmt::join(launch.gpu_uuids, ","));
  both("JOB_ID", launch.run.job.value);
  both("JOB_NAME", launch.spec.name);
  both("JOB_UID", launch.owner.uid);
  both("JOB_GID", launch.owner.gid);
  both("JOB_USER", launch.owner.user.str());
  rota("JOB_PROJECT", launch.spec.project.str());
  both("JOB_PARTITION", launch.spec.queue.str());
  both("JOB_NODELIST", hostlist_fold(launch.nodes));
  both("JOB_GPUS", gpus);
  rota("JOB_GPU_UUIDS", uuids);
  both("RESTART_COUNT", launch.run.restart);
  rota("NODENAME", node);
  if (slurm_environment) {
    list.push_back(format("SLURM_JOB_ACCOUNT={}", launch.spec.project.str()));
    list.push_back(format("SLURMD_NODENAME={}", node));
  }
  list.push_back(format("CUDA_VISIBLE_DEVICES={}", uuids));
  return list;
}

Prologs::Prologs(boost::asio::any_io_executor executor, Options options, Drain drain)
    : executor_(executor), options_(std::move(options)), drain_(std::move(drain)) {}

std::string Prologs::path_of(RunId run) const { return options_.directory + '/' + run_name(run); }

void Prologs::before(const proto::LaunchRun& launch, bool slurm_environment, Answer done) {
  if (options_.prolog.empty() && options_.epilog.empty()) return done({});
  const RunId run = launch.run;
  std::string marker = options_.boot_id + '\0';
  for (const std::string& each : prolog_environment(launch, options_.node, slurm_environment))
    marker += each + '\0';
  const auto start = [this, run, marker = std::move(marker), done = std::move(done)] {
    ::mkdir(options_.directory.c_str(), 0700);
    if (const int error = file_replace(path_of(run), marker); error != 0)
      return done(Error{Errc::io_failed,
                        format("cannot write {}: {}", path_of(run), strerrordesc_np(error))});
    begin(run, done);
  };
  if (const auto busy = runs_.find(run); busy != runs_.end()) {
    busy->second.next = start;
    return;
  }
  start();
}

void Prologs::begin(RunId run, Answer done) {
  if (options_.prolog.empty()) return done({});
  ProgramOrder order = order_of(run, "prolog", options_.prolog);
  Run& entry = runs_[run];
  entry.program = run_program(executor_, std::move(order), [this, run, done](Result<void> result) {
    const auto found = runs_.find(run);
    const bool is_over = found->second.is_over;
    found->second.program.reset();
    if (!is_over) runs_.erase(found);
    Result<void> answer;
    if (!result) {
      const Error why{
          options_.prolog_failure == OnFailure::fail ? Errc::launch_failed : Errc::unsupported,
          format("prolog of job {}: {}", run.job.value, result.error().detail)};
      log::warning("{}", why.detail);
      if (options_.prolog_failure == OnFailure::drain) drain_(options_.prolog, why);
      answer = why;
    }
    // Whoever ended it meanwhile has had his answer.
    if (is_over) return run_epilog(run);
    done(std::move(answer));
  });
}

void Prologs::after(RunId run, const RunEnd& end, std::function<void()> done) {
  const auto busy = runs_.find(run);
  if (busy == runs_.end() && ::access(path_of(run).c_str(), F_OK) != 0) return done();
  Run& entry = runs_[run];
  const bool waits = entry.program != nullptr;
  entry.is_over = true;
  entry.end = end;
  entry.ended.push_back(std::move(done));
  if (!waits) run_epilog(run);
}

void Prologs::run_epilog(RunId run) {
  if (options_.epilog.empty()) return epilog_done(run, {});
  Run& entry = runs_.at(run);
  ProgramOrder order = order_of(run, "epilog", options_.epilog);
  const RunEnd& end = entry.end;
  const int status = end.exit_signal != 0 ? end.exit_signal : end.exit_code << 8;
  order.environment.push_back(format("ROTA_JOB_EXIT_CODE={}", end.exit_code));
  order.environment.push_back(format("ROTA_JOB_EXIT_SIGNAL={}", end.exit_signal));
  const auto is_slurms = [](const std::string& each) { return each.starts_with("SLURM_"); };
  if (std::ranges::any_of(order.environment, is_slurms))
    order.environment.push_back(format("SLURM_JOB_EXIT_CODE={}", status));
  entry.program = run_program(executor_, std::move(order),
                              [this, run](Result<void> result) { epilog_done(run, result); });
}

void Prologs::epilog_done(RunId run, const Result<void>& result) {
  if (!result) {
    const Error why{Errc::unsupported,
                    format("epilog of job {}: {}", run.job.value, result.error().detail)};
    log::warning("{}", why.detail);
    if (options_.epilog_failure == OnFailure::drain) drain_(options_.epilog, why);
  }
  ::unlink(path_of(run).c_str());
  Run entry = std::move(runs_.at(run));
  runs_.erase(run);
  for (const auto& done : entry.ended) done();
  if (entry.next) entry.next();
}

ProgramOrder Prologs::order_of(RunId run, const char* what, const std::string& program) const {
  ProgramOrder order;
  order.words = {program};
  order.environment = split(file_read(path_of(run), marker_bytes_max));
  if (!order.environment.empty()) order.environment.erase(order.environment.begin());
  order.environment.push_back(format("ROTA_SCRIPT={}", what));
  order.limit = options_.limit;
  const auto lines = std::make_shared<Lines>(format("{} of job {}", what, run_name(run)));
  order.heard = [lines](std::string_view text) { lines->add(text); };
  return order;
}

bool Prologs::owes_epilog(RunId run) const {
  const auto words = split(file_read(path_of(run), marker_bytes_max));
  return !words.empty() && words.front() == options_.boot_id;
}

std::vector<RunId> Prologs::left_over() const {
  std::vector<RunId> runs;
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(options_.directory, error)) {
    const auto run = run_from_name(item.path().filename().string());
    if (!run) continue;
    if (!owes_epilog(*run))
      ::unlink(item.path().c_str());
    else
      runs.push_back(*run);
  }
  return runs;
}

void Prologs::stop() { runs_.clear(); }

}  // namespace rota::gpud
