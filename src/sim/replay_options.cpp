// sim/replay_options.cpp - options to files, files to a replay.
#include "sim/replay_options.h"

#include <algorithm>
#include <chrono>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"
#include "model/org_yaml.h"
#include "sched/policy_config.h"
#include "sim/policy_keys.h"
#include "sim/progress.h"
#include "sim/rsim_options.h"

namespace rota::sim {
namespace {

using namespace commands;

Result<void> assign(Config& config, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos)
    return Error{Errc::usage, format("{} is not KEY=VALUE", quoted(setting))};
  return policy_assign(config, setting.substr(0, equals), std::string(setting.substr(equals + 1)));
}

Result<SimTime> checkpoint_of(const Given& given) {
  const auto duration = duration_parse(given.value);
  if (!duration) return bad_value(given, duration.error().detail);
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(*duration).count();
  if (time <= 0) return bad_value(given, "must be longer than nothing");
  return time;
}

Result<void> read_option(const Given& given, ReplayRequest& request) {
  switch (given.option->id) {
    case id_cluster:
      request.cluster = given.value;
      break;
    case id_projects:
      request.projects = given.value;
      break;
    case id_trace:
      request.trace = given.value;
      break;
    case id_with:
      request.with = given.value;
      break;
    case id_html:
      request.html = given.value;
      break;
    case id_policy: {
      auto policy = policy_parse(given.value);
      if (!policy) return bad_value(given, policy.error().detail);
      request.options.cluster.policy = *policy;
      break;
    }
    case id_limits: {
      const auto limits = limits_parse(given.value);
      if (!limits) return bad_value(given, limits.error().detail);
      request.options.limits = *limits;
      break;
    }
    case id_checkpoint: {
      ROTA_TRY(request.options.cluster.checkpoint, checkpoint_of(given));
      break;
    }
    case id_one_project:
      request.one_project = true;
      break;
    case id_json:
      request.json = true;
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

Result<sched::Policy> policy_parse(std::string_view text) {
  Config config;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    ROTA_CHECK(assign(config, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return sched::policy_from(config);
}

Result<ReplayRequest> read_replay_request(const Arguments& arguments, std::string_view verb) {
  ReplayRequest request;
  request.options.cluster.policy = sched::policy_from(Config{});
  for (const Given& given : arguments.options) ROTA_CHECK(read_option(given, request));
  if (!arguments.operands.empty())
    return Error{Errc::usage, format("{}: what is {}? Files are named by options", verb,
                                     quoted(arguments.operands.front()))};
  if (request.cluster.empty())
    return Error{Errc::usage, format("{}: on which cluster? --cluster=FILE", verb)};
  if (request.trace.empty())
    return Error{Errc::usage, format("{}: which jobs? --trace=FILE", verb)};
  if (request.one_project && !request.projects.empty())
    return Error{Errc::usage,
                 format("{}: --one-project has no use for --projects; give one of them", verb)};
  return request;
}

Result<ReplayReport> run_replay(const ReplayRequest& request, const std::string& projects,
                                std::string_view label) {
  ROTA_TRY(const auto cluster, cluster_load(request.cluster));
  Org org;
  TraceOptions trace_options{.org = nullptr, .one_project = request.one_project};
  if (!projects.empty()) {
    ROTA_TRY(org, org_load(projects));
    trace_options.org = &org;
  }
  ROTA_TRY(const auto trace, trace_load(request.trace, trace_options));
  if (projects.empty()) org = even_org(trace, cluster);
  Progress progress(label, trace.jobs.size());
  ReplayOptions options = request.options;
  if (progress.is_shown()) options.progress = [&](std::size_t jobs) { progress.show(jobs); };
  return report_of(replay(cluster, org, trace, options));
}

}  // namespace rota::sim
