// sim/pack_command.cpp - rsim pack: one line for every order of arrival, and their mean.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "commands/exit_code.h"
#include "commands/json.h"
#include "commands/output.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"
#include "common/units.h"
#include "sim/pack_run.h"
#include "sim/rsim_options.h"

namespace rota::sim {
namespace {

using namespace commands;

constexpr std::array<std::string_view, 2> policies{"least-loss", "first-fit"};

struct PackOptions {
  PackFiles files;
  std::optional<std::uint64_t> seed;
  PackPolicy policy = PackPolicy::least_loss;
  bool time = false;
  bool json = false;
};

struct SeedOutcome {
  std::uint64_t seed = 0;
  PackOutcome outcome;
};
using SeedOutcomes = std::vector<SeedOutcome>;

Result<PackPolicy> policy_of(const Given& given) {
  for (std::size_t i = 0; i < policies.size(); ++i)
    if (given.value == policies[i]) return static_cast<PackPolicy>(i);
  const auto near = nearest(given.value, policies);
  return bad_value(given, format("{} is no policy; {}", quoted(given.value),
                                 near.empty() ? "known are least-loss and first-fit"
                                              : format("did you mean '{}'?", near)));
}

Result<std::uint64_t> seed_of(const Given& given) {
  auto seed = number_parse(given.value, std::numeric_limits<std::int64_t>::max());
  if (!seed) return bad_value(given, seed.error().detail);
  return *seed;
}

Result<void> read_option(const Given& given, PackOptions& options) {
  switch (given.option->id) {
    case id_nodes:
      options.files.nodes = given.value;
      break;
    case id_tasks:
      options.files.tasks = given.value;
      break;
    case id_arrivals:
      options.files.arrivals = given.value;
      break;
    case id_seed: {
      ROTA_TRY(options.seed, seed_of(given));
      break;
    }
    case id_policy: {
      ROTA_TRY(options.policy, policy_of(given));
      break;
    }
    case id_time:
      options.time = true;
      break;
    case id_json:
      options.json = true;
      break;
    default:
      break;
  }
  return {};
}

Result<PackOptions> read_options(const Arguments& arguments) {
  PackOptions options;
  for (const Given& given : arguments.options) ROTA_CHECK(read_option(given, options));
  if (!arguments.operands.empty())
    return Error{Errc::usage, format("pack: what is {}? Files are named by options",
                                     quoted(arguments.operands.front()))};
  if (options.files.nodes.empty()) return Error{Errc::usage, "pack: which nodes? --nodes=FILE"};
  if (options.files.tasks.empty()) return Error{Errc::usage, "pack: which tasks? --tasks=FILE"};
  if (options.files.arrivals.empty())
    return Error{Errc::usage, "pack: in which order do tasks arrive? --arrivals=FILE"};
  return options;
}

Result<SeedOutcomes> run_all(const PackTrace& trace, const PackOptions& options) {
  if (options.seed && !trace.arrivals.contains(*options.seed))
    return Error{Errc::not_found,
                 format("{}: no seed {}; there are {} to {}", options.files.arrivals, *options.seed,
                        trace.arrivals.begin()->first, trace.arrivals.rbegin()->first)};
  SeedOutcomes all;
  for (const auto& [seed, arrivals] : trace.arrivals)
    if (!options.seed || seed == *options.seed)
      all.push_back({seed, run_pack(trace, arrivals, options.policy)});
  return all;
}

/// None where one of them is none: a mean of fewer seeds could not be compared.
std::optional<double> mean_of(const SeedOutcomes& all, std::optional<double> PackOutcome::*value) {
  double sum = 0;
  for (const SeedOutcome& one : all) {
    if (!(one.outcome.*value)) return std::nullopt;
    sum += *(one.outcome.*value);
  }
  return sum / static_cast<double>(all.size());
}

PackOutcome mean_of(const SeedOutcomes& all) {
  PackOutcome mean{.alloc100 = mean_of(all, &PackOutcome::alloc100),
                   .alloc130 = mean_of(all, &PackOutcome::alloc130)};
  for (const SeedOutcome& one : all) {
    mean.decisions += one.outcome.decisions;
    mean.cpu_microseconds += one.outcome.cpu_microseconds;
  }
  return mean;
}

double microseconds_of(const PackOutcome& outcome) {
  return outcome.cpu_microseconds /
         static_cast<double>(std::max<std::int64_t>(outcome.decisions, 1));
}

std::string percent(const std::optional<double>& value) {
  return value ? format("{:.2f}", *value) : "-";
}

std::string as_line(std::string_view name, const PackOutcome& outcome, const PackOptions& options) {
  auto line = format("{} {} {}", name, percent(outcome.alloc100), percent(outcome.alloc130));
  if (options.time) line += format(" {:.2f}", microseconds_of(outcome));
  return line + "\n";
}

std::string as_text(const SeedOutcomes& all, const PackOptions& options) {
  std::string text;
  for (const auto& [seed, outcome] : all) text += as_line(std::to_string(seed), outcome, options);
  return text + as_line("mean", mean_of(all), options);
}

void write_decimal(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  json.key(key);
  if (value)
    json.decimal(*value, 2);
  else
    json.null();
}

void write_values(JsonWriter& json, const PackOutcome& outcome, const PackOptions& options) {
  write_decimal(json, "alloc100", outcome.alloc100);
  write_decimal(json, "alloc130", outcome.alloc130);
  write_decimal(json, "decision_microseconds",
                options.time ? std::optional(microseconds_of(outcome)) : std::nullopt);
}

std::string as_json(const SeedOutcomes& all, const PackOptions& options) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.field("policy", policies[static_cast<std::size_t>(options.policy)]);
  json.key("seeds");
  json.begin_array();
  for (const auto& [seed, outcome] : all) {
    json.begin_object();
    json.field("seed", seed);
    write_values(json, outcome, options);
    json.end_object();
  }
  json.end_array();
  json.key("mean");
  json.begin_object();
  write_values(json, mean_of(all), options);
  json.end_object();
  json.end_object();
  return text + "\n";
}

}  // namespace

Result<int> pack_command(const Arguments& arguments) {
  ROTA_TRY(const auto options, read_options(arguments));
  ROTA_TRY(const auto trace, read_pack_trace(options.files));
  ROTA_TRY(const auto all, run_all(trace, options));
  ROTA_CHECK(print(options.json ? as_json(all, options) : as_text(all, options)));
  return exit_ok;
}

}  // namespace rota::sim
