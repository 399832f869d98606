// model/job_rules.h - what hardly any job asks for: when it may start, how often it is tried,
// whether it stands for many, and what people write on it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "model/ids.h"
#include "model/index_set.h"

namespace rota {

/// Numbers are on the wire and in the store: never changed, never reused.
enum class DependencyKind : std::uint8_t {
  after = 1,         // it has started, or will not
  after_ok = 2,      // it has ended well
  after_any = 3,     // it has ended
  after_not_ok = 4,  // it has ended, and not well
  after_corr = 5,    // of arrays: the task with the same number has ended well
  singleton = 6,     // no earlier job of this owner and name is left
};
/// "afterok", as in --dependency.
std::string_view name_of(DependencyKind kind);

struct Dependency {
  DependencyKind kind = DependencyKind::after_any;
  JobId job;                       // none: of a singleton
  std::int64_t delay_seconds = 0;  // of `after`: so long after its start
  bool is_task = false;            // the array's task `task`, not all of it
  std::uint32_t task = 0;

  friend bool operator==(const Dependency&, const Dependency&) = default;
  static auto fields(auto& m) {
    return std::tie(m.kind, m.job, m.delay_seconds, m.is_task, m.task);
  }
};

/// All of them, or one of them, before the job may start.
struct Dependencies {
  std::vector<Dependency> all;
  bool any = false;  // one is enough

  friend bool operator==(const Dependencies&, const Dependencies&) = default;
  static auto fields(auto& m) { return std::tie(m.all, m.any); }
};
/// "afterok:12:13,singleton" (all), "afterok:12?afterany:13" (any), "after:12+5" (minutes later),
/// "afterok:12_3" (a task of an array).
Result<Dependencies> dependencies_parse(std::string_view text);
std::string text_of(const Dependencies& dependencies);
std::string text_of(const Dependency& dependency);

/// The tasks of a job that stands for many alike. None: it stands for itself.
struct ArrayWish {
  IndexSet tasks;
  std::uint32_t parallel_max = 0;   // at a time; 0: no bound
  std::uint32_t successes_max = 0;  // it is over when so many have ended well; 0: when all have
  std::uint32_t step = 1;           // as it was written, for SLURM_ARRAY_TASK_STEP

  friend bool operator==(const ArrayWish&, const ArrayWish&) = default;
  static auto fields(auto& m) { return std::tie(m.tasks, m.parallel_max, m.successes_max, m.step); }
};
/// "0-99%8", "1,3,5", "0-15:4".
Result<ArrayWish> array_parse(std::string_view text);
/// "0-99%8".
std::string text_of(const ArrayWish& array);

/// Events that people want to hear of, as bits.
enum MailEvent : std::uint32_t {
  mail_begin = 1,
  mail_end = 2,
  mail_fail = 4,
  mail_requeue = 8,
  mail_time_limit = 16,
  mail_time_limit_90 = 32,
  mail_time_limit_80 = 64,
  mail_time_limit_50 = 128,
  mail_invalid_depend = 256,
  mail_array_tasks = 512,  // of every task of an array, not of the array as a whole
};
/// "BEGIN,END,FAIL", "ALL", "NONE".
Result<std::uint32_t> mail_events_parse(std::string_view text);
std::string mail_events_text(std::uint32_t events);

/// A word that people sort jobs by.
struct Label {
  std::string key;
  std::string value;

  friend bool operator==(const Label&, const Label&) = default;
  static auto fields(auto& m) { return std::tie(m.key, m.value); }
};
/// "team=vision", or a key alone.
Result<Label> label_parse(std::string_view text);

struct JobRules {
  WallTime begin;     // not before; never: at once
  WallTime deadline;  // ended by then, whatever it does; never: none
  Dependencies dependencies;
  bool kill_on_invalid_dependency = false;
  bool held = false;               // waits until it is released
  bool signal_batch_only = false;  // --signal goes to the script alone, not to what it started
  std::int32_t nice = 0;           // so much below its priority
  std::uint32_t retries = 0;       // started again so often after it failed by itself
  ArrayWish array;
  std::string comment;
  std::vector<Label> labels;
  std::uint32_t mail_events = 0;
  std::string mail_user;
  std::string webhook;     // told of the same events
  bool exclusive = false;  // has its nodes to itself, with all that they have

  friend bool operator==(const JobRules&, const JobRules&) = default;
  static auto fields(auto& m) {
    return std::tie(m.begin, m.deadline, m.dependencies, m.kill_on_invalid_dependency, m.held,
                    m.signal_batch_only, m.nice, m.retries, m.array, m.comment, m.labels,
                    m.mail_events, m.mail_user, m.webhook, m.exclusive);
  }
};

struct RuleBounds {
  static constexpr std::size_t dependencies_max = 1000;
  static constexpr std::int64_t delay_seconds_max = 365LL * 24 * 3600;
  static constexpr std::int32_t nice_max = 1'000'000;
  static constexpr std::uint32_t retries_max = 1000;
  static constexpr std::uint64_t array_tasks_max = 1'000'000;
  static constexpr std::size_t comment_bytes_max = 1024;
  static constexpr std::size_t labels_max = 64;
  static constexpr std::size_t label_bytes_max = 128;
  static constexpr std::size_t address_bytes_max = 320;
  static constexpr std::size_t url_bytes_max = 2048;
};
Result<void> validate(const JobRules& rules);

}  // namespace rota
