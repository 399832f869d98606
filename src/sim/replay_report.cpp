// sim/replay_report.cpp - one walk over what happened, and the sums of it.
#include "sim/replay_report.h"

#include <algorithm>
#include <numeric>

namespace rota::sim {
namespace {

constexpr std::size_t pieces = 240;  // of the timeline: more than a plot can show
constexpr double milli = 1'000;
constexpr double hour = 3'600 * milli;

double rank_value(const std::vector<SimTime>& sorted, std::size_t percent) {
  const std::size_t rank = (percent * sorted.size() + 99) / 100;
  return static_cast<double>(sorted[std::max<std::size_t>(rank, 1) - 1]) / milli;
}

/// A number that changes now and then, summed over pieces of time.
class Curve {
 public:
  Curve(SimTime begin, double piece) : last_(begin), begin_(begin), piece_(piece) {
    sums_.resize(pieces);
  }

  double value() const { return value_; }
  /// How long it has had its value, in milliseconds; from here on it is `value`.
  double set(SimTime at, double value) {
    const auto lasted = static_cast<double>(at - last_);
    spread(static_cast<double>(last_ - begin_), static_cast<double>(at - begin_));
    last_ = at;
    value_ = value;
    return lasted;
  }
  /// By piece.
  std::vector<double> means() const {
    std::vector<double> means = sums_;
    for (double& mean : means) mean /= piece_;
    return means;
  }

 private:
  void spread(double from, double to) {
    if (value_ == 0) return;
    while (from < to) {
      const auto at = std::min(static_cast<std::size_t>(from / piece_), pieces - 1);
      // The last piece takes what rounding leaves over.
      const double end = at + 1 == pieces ? to : std::min(to, static_cast<double>(at + 1) * piece_);
      sums_[at] += value_ * std::max(end - from, 0.0);
      if (end <= from) break;
      from = end;
    }
  }

  double value_ = 0;
  SimTime last_;
  SimTime begin_;
  double piece_;
  std::vector<double> sums_;
};

double gpus_of(const ReplayJob& job) { return static_cast<double>(job.gpu_amount) / gpu_unit; }

struct JobSums {
  SimTime ran = 0;  // in all of its runs
  SimTime started = 0;
  SimTime ended = -1;
};

class Counter {
 public:
  explicit Counter(const ReplayLog& log)
      : log_(log), begin_(first_time()), end_(last_time()), waiting_(begin_, piece()) {
    jobs_.resize(log.jobs.size());
    for (std::size_t i = 0; i < log.projects.size(); ++i) {
      held_.emplace_back(begin_, piece());
      ProjectReport& project = projects_.emplace_back();
      project.name = log.projects[i].name;
      project.quota = log.projects[i].quota;
      project.refused = project.jobs = log.refused[i];
    }
  }

  ReplayReport count() {
    for (const Happening& happening : log_.happenings) take(happening);
    for (std::uint32_t i = 0; i < held_.size(); ++i) hold(i, end_, 0);
    waiting_.set(end_, 0);
    ReplayReport report;
    report.gpu_count = log_.gpu_count;
    report.node_count = log_.node_count;
    report.makespan_seconds = static_cast<double>(end_ - begin_) / milli;
    sum_jobs(report);
    report.timeline.piece_seconds = piece() / milli;
    report.timeline.jobs_waiting = waiting_.means();
    put_in_order(report);
    return report;
  }

 private:
  SimTime first_time() const { return log_.happenings.empty() ? 0 : log_.happenings.front().at; }
  SimTime last_time() const { return log_.happenings.empty() ? 0 : log_.happenings.back().at; }
  double piece() const { return std::max(static_cast<double>(end_ - begin_) / pieces, 1e-3); }

  /// Its jobs hold so many GPUs from `at` on.
  void hold(std::uint32_t project, SimTime at, double gpus) {
    ProjectReport& report = projects_[project];
    const double held = held_[project].value();
    const double hours = held_[project].set(at, gpus) / hour;
    const double in_quota = std::min(held, static_cast<double>(report.quota) / gpu_unit);
    report.gpu_hours_in_quota += in_quota * hours;
    report.gpu_hours_over_quota += (held - in_quota) * hours;
  }

  void take(const Happening& happening) {
    using What = Happening::What;
    const ReplayJob& job = log_.jobs[happening.job];
    JobSums& sums = jobs_[happening.job];
    const SimTime at = happening.at;
    const double held = held_[job.project].value();
    const double waiting = waiting_.value();
    switch (happening.what) {
      case What::submitted:
        waiting_.set(at, waiting + 1);
        break;
      case What::started:
        waiting_.set(at, waiting - 1);
        sums.started = at;
        hold(job.project, at, held + gpus_of(job));
        break;
      case What::displaced:
        waiting_.set(at, waiting + 1);
        sums.ran += at - sums.started;
        hold(job.project, at, held - gpus_of(job));
        ++projects_[job.project].preemptions;
        projects_[job.project].gpu_hours_lost +=
            gpus_of(job) * static_cast<double>(happening.lost) / hour;
        break;
      case What::ended:
      case What::cancelled:
        sums.ran += at - sums.started;
        sums.ended = at;
        hold(job.project, at, held - gpus_of(job));
        break;
    }
  }

  void sum_jobs(ReplayReport& report) {
    const std::size_t count = projects_.size();
    std::vector<std::vector<SimTime>> waits(count), completions(count);
    std::vector<double> worked(count), asked(count);
    std::vector<SimTime> all_waits, all_completions;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const ReplayJob& job = log_.jobs[i];
      const JobSums& sums = jobs_[i];
      ProjectReport& project = projects_[job.project];
      ++project.jobs;
      const bool finished = sums.ended >= 0;
      const SimTime completion = (finished ? sums.ended : end_) - job.submitted;
      asked[job.project] += gpus_of(job) * static_cast<double>(completion);
      if (!finished) {
        ++project.unfinished;
        continue;
      }
      ++project.finished;
      worked[job.project] += gpus_of(job) * static_cast<double>(job.work);
      waits[job.project].push_back(completion - sums.ran);
      completions[job.project].push_back(completion);
    }
    for (std::size_t i = 0; i < count; ++i) {
      projects_[i].wait = spread_of(waits[i]);
      projects_[i].completion = spread_of(completions[i]);
      if (asked[i] > 0) projects_[i].served = worked[i] / asked[i];
      all_waits.insert(all_waits.end(), waits[i].begin(), waits[i].end());
      all_completions.insert(all_completions.end(), completions[i].begin(), completions[i].end());
    }
    report.all.wait = spread_of(all_waits);
    report.all.completion = spread_of(all_completions);
    for (const SimTime wait : all_waits)
      report.waits_seconds.push_back(static_cast<double>(wait) / milli);
    const double all_asked = std::accumulate(asked.begin(), asked.end(), 0.0);
    if (all_asked > 0)
      report.all.served = std::accumulate(worked.begin(), worked.end(), 0.0) / all_asked;
    sum_projects(report);
  }

  void sum_projects(ReplayReport& report) {
    const double supply = static_cast<double>(log_.gpu_count) * report.makespan_seconds / 3'600;
    const auto part_of_supply = [supply](const ProjectReport& project) {
      const double hours = project.gpu_hours_in_quota + project.gpu_hours_over_quota;
      return supply > 0 ? hours / supply : 0;
    };
    std::vector<double> served;
    ProjectReport& all = report.all;
    all.name = "all";
    for (ProjectReport& project : projects_) {
      project.utilisation = part_of_supply(project);
      all.quota += project.quota;
      all.jobs += project.jobs;
      all.finished += project.finished;
      all.refused += project.refused;
      all.unfinished += project.unfinished;
      all.gpu_hours_in_quota += project.gpu_hours_in_quota;
      all.gpu_hours_over_quota += project.gpu_hours_over_quota;
      all.preemptions += project.preemptions;
      all.gpu_hours_lost += project.gpu_hours_lost;
      if (project.served) served.push_back(*project.served);
    }
    all.utilisation = part_of_supply(all);
    report.fairness = jain_index(served);
  }

  /// Projects, and what belongs to them, by name.
  void put_in_order(ReplayReport& report) {
    std::vector<std::size_t> order(projects_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return projects_[a].name < projects_[b].name;
    });
    for (const std::size_t i : order) {
      report.projects.push_back(std::move(projects_[i]));
      report.timeline.gpus_held.push_back(held_[i].means());
    }
  }

  const ReplayLog& log_;
  SimTime begin_, end_;
  Curve waiting_;
  std::vector<Curve> held_;  // by project
  std::vector<ProjectReport> projects_;
  std::vector<JobSums> jobs_;
};

}  // namespace

Spread spread_of(std::vector<SimTime>& values) {
  Spread spread;
  if (values.empty()) return spread;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const SimTime value : values) sum += static_cast<double>(value);
  spread.mean = sum / static_cast<double>(values.size()) / milli;
  spread.p50 = rank_value(values, 50);
  spread.p95 = rank_value(values, 95);
  spread.p99 = rank_value(values, 99);
  spread.max = static_cast<double>(values.back()) / milli;
  return spread;
}

double jain_index(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

ReplayReport report_of(const ReplayLog& log) { return Counter(log).count(); }

}  // namespace rota::sim
