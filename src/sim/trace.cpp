// sim/trace.cpp - rows to jobs, each checked where it is read.
#include "sim/trace.h"

#include <algorithm>
#include <array>
#include <map>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "sim/csv.h"
#include "sim/text_file.h"

namespace rota::sim {
namespace {

constexpr std::size_t text_size_max = std::size_t{1} << 30;
constexpr std::size_t jobs_max = 4'000'000;
constexpr std::int64_t submit_seconds_max = 4'000'000'000;  // dates since 1970 fit too
constexpr std::int64_t gpus_max = 1'000'000;
constexpr std::int64_t cpus_max = 1'000'000;
constexpr std::int64_t memory_mib_max = std::int64_t{1} << 30;

constexpr std::size_t user_size_max = 256;

constexpr std::array<std::string_view, 8> columns{
    "submit_s", "duration_s", "gpus", "project", "cpus", "mem_mib", "gpu_fraction", "user"};
enum : std::size_t { submit_s, duration_s, gpus, project, cpus, mem_mib, gpu_fraction, user };
constexpr std::size_t required = project;  // those before it

class Reader {
 public:
  explicit Reader(const TraceOptions& options) : options_(options) {}

  Result<Trace> read(CsvTable table) {
    for (;;) {
      ROTA_TRY(const bool is_there, table.next());
      if (!is_there) break;
      if (trace_.jobs.size() == jobs_max)
        return table.fault(submit_s, format("more than {} jobs", jobs_max));
      ROTA_TRY(const auto job, read_job(table));
      trace_.jobs.push_back(job);
    }
    std::stable_sort(
        trace_.jobs.begin(), trace_.jobs.end(),
        [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
    return std::move(trace_);
  }

 private:
  Result<TraceJob> read_job(const CsvTable& row) {
    TraceJob job;
    ROTA_TRY(job.submitted, row.decimal(submit_s, 3, 0, submit_seconds_max));
    ROTA_TRY(job.duration, row.decimal(duration_s, 3, 0, JobBounds::time_limit_seconds_max));
    ROTA_TRY(const auto gpu_count, row.number(gpus, 0, gpus_max));
    job.gpu_count = static_cast<std::uint32_t>(gpu_count);
    if (!row.field(gpu_fraction).empty() && job.gpu_count > 0) {
      ROTA_TRY(job.gpu_share, read_share(row));
    }
    if (!row.field(cpus).empty()) {
      ROTA_TRY(const auto count, row.decimal(cpus, 0, 0, cpus_max));
      job.cpu_count = static_cast<std::uint32_t>(count);
    }
    if (!row.field(mem_mib).empty()) {
      ROTA_TRY(const auto mib, row.decimal(mem_mib, 0, 0, memory_mib_max));
      job.memory_bytes = static_cast<std::uint64_t>(mib) << 20;
    }
    ROTA_TRY(job.project, project_of(row));
    ROTA_TRY(job.user, user_of(row));
    return job;
  }

  /// All of a GPU is no share.
  static Result<std::uint32_t> read_share(const CsvTable& row) {
    ROTA_TRY(const auto micro, row.decimal(gpu_fraction, 6, 0, 1));
    if (micro < JobBounds::gpu_share_min)
      return row.fault(gpu_fraction, format("{} is not a part of a GPU from {} to 1",
                                            quoted(row.field(gpu_fraction)),
                                            decimal_format(JobBounds::gpu_share_min, 6)));
    return micro == gpu_unit ? 0 : static_cast<std::uint32_t>(micro);
  }

  Result<std::uint32_t> project_of(const CsvTable& row) {
    std::string_view name = options_.one_project ? "" : row.field(project);
    if (name.empty()) name = default_project;
    if (const auto at = numbers_.find(name); at != numbers_.end()) return at->second;
    if (options_.org != nullptr && find_project(*options_.org, name) == nullptr)
      return row.fault(project, format("there is no project {}; {}", quoted(name),
                                       known_projects(*options_.org, name)));
    if (options_.org == nullptr) ROTA_CHECK(check_name(row, name));
    const auto number = static_cast<std::uint32_t>(trace_.projects.size());
    trace_.projects.emplace_back(name);
    numbers_.emplace(name, number);
    return number;
  }

  Result<std::uint32_t> user_of(const CsvTable& row) {
    const std::string_view name = row.field(user);
    if (name.empty()) return std::uint32_t{0};
    if (const auto at = users_.find(name); at != users_.end()) return at->second;
    if (name.size() > user_size_max)
      return row.fault(user, format("longer than {} bytes", user_size_max));
    const auto number = static_cast<std::uint32_t>(trace_.users.size());
    trace_.users.emplace_back(name);
    users_.emplace(name, number);
    return number;
  }

  /// By the rules of projects.yaml: a name that stands there is good.
  static Result<void> check_name(const CsvTable& row, std::string_view name) {
    Org org;
    org.projects.emplace_back();
    org.projects.back().name = name;
    if (const auto fault = find_fault(org)) return row.fault(project, fault->what);
    return {};
  }

  const TraceOptions& options_;
  Trace trace_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of projects
  std::map<std::string, std::uint32_t, std::less<>> users_;
};

}  // namespace

Result<Trace> trace_load(const std::string& path, const TraceOptions& options) {
  ROTA_TRY(auto text, read_text_file(path, text_size_max));
  ROTA_TRY(auto table, CsvTable::open(path, std::move(text), columns, required));
  ROTA_TRY(auto trace, Reader(options).read(std::move(table)));
  if (trace.jobs.empty()) return Error{Errc::invalid_argument, format("{}: no jobs", path)};
  return trace;
}

}  // namespace rota::sim
