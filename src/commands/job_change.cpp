// commands/job_change.cpp - asks the controller to change jobs.
#include "commands/job_change.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "commands/allocation.h"
#include "commands/cancel_options.h"
#include "commands/dates.h"
#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/payload.h"
#include "commands/session.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/format.h"

namespace rota::commands {
namespace {

struct ChangeWord {
  std::string_view word;
  proto::JobVerb verb;
  std::string_view done;
};
constexpr std::array changes{
    ChangeWord{"hold", proto::JobVerb::hold, "held"},
    ChangeWord{"release", proto::JobVerb::release, "released"},
    ChangeWord{"requeue", proto::JobVerb::requeue, "being put back to the queue"},
    ChangeWord{"suspend", proto::JobVerb::suspend, "being suspended"},
    ChangeWord{"resume", proto::JobVerb::resume, "resumed"},
    ChangeWord{"update", proto::JobVerb::update, "updated"},
};

const ChangeWord* change_of(std::string_view verb) {
  const auto at = std::find_if(changes.begin(), changes.end(),
                               [verb](const ChangeWord& each) { return each.word == verb; });
  return at == changes.end() ? nullptr : &*at;
}

bool is_setting(std::string_view word) { return word.find('=') != std::string_view::npos; }

Result<OrgSetting> setting_from(const std::string& word, WallTime now) {
  const std::size_t equals = word.find('=');
  OrgSetting setting{word.substr(0, equals), {word.substr(equals + 1)}};
  std::string& value = setting.words.front();
  if ((setting.key == "begin" || setting.key == "deadline") && value != "none") {
    ROTA_TRY(const WallTime date, date_parse(value, now));
    value = format("{}", date.microseconds / 1'000'000);
  }
  return setting;
}

}  // namespace

bool is_change(std::string_view verb) { return change_of(verb) != nullptr; }

Result<proto::JobChangeRequest> change_from(std::string_view verb,
                                            const std::vector<std::string>& words, WallTime now) {
  proto::JobChangeRequest request;
  request.verb = change_of(verb)->verb;
  const bool is_update = request.verb == proto::JobVerb::update;
  auto word = words.begin();
  if (is_update) {
    if (word == words.end() || *word != "job")
      return Error{Errc::usage, "update what? 'update job JOB... KEY=VALUE...'"};
    ++word;
  }
  for (; word != words.end() && !(is_update && is_setting(*word)); ++word)
    ROTA_CHECK(add_jobs(*word, request.filter));
  if (!request.filter.names_jobs())
    return Error{Errc::usage, format("which job? '{}{} JOB...'", verb, is_update ? " job" : "")};
  for (; word != words.end(); ++word) {
    if (!is_setting(*word))
      return Error{Errc::usage, format("{} is not KEY=VALUE, as time=2h", quoted(*word))};
    ROTA_TRY(request.settings.emplace_back(), setting_from(*word, now));
  }
  if (is_update && request.settings.empty())
    return Error{Errc::usage, "what is to be changed? Give KEY=VALUE, as time=2h"};
  return request;
}

Result<int> change_jobs(const Program& program, std::string_view verb,
                        const std::vector<std::string>& words) {
  ROTA_TRY(auto request, change_from(verb, words, wall_now()));
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(request.request, make_request_id());
  ROTA_TRY(const auto reply, ask<proto::JobChangeReply>(controller, request));
  program.note(format("{} jobs are {}", reply.done.size(), change_of(verb)->done));
  for (const proto::JobRefusal& refusal : reply.refused) program.say(refusal_text(refusal));
  return exit_code_of(reply.refused);
}

Result<int> tell_saved(const Program& program, const std::vector<std::string>& words) {
  if (words.size() > 1)
    return Error{Errc::usage, format("one job at most, {} were given", words.size())};
  proto::SavedRequest request;
  if (!words.empty()) {
    ROTA_TRY(request.job, job_named(program, words.front()));
  } else {
    ROTA_TRY(const auto around, job_around());
    if (!around) return Error{Errc::usage, "which job? Outside of a job its number is needed"};
    request.job = *around;
  }
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(request.request, make_request_id());
  ROTA_TRY(const auto reply, ask<proto::SavedReply>(controller, request));
  program.note(reply.makes_way ? "the job is ended now, as it has to make way" : "noted");
  return exit_ok;
}

Result<JobId> job_named(const Program& program, std::string_view text) {
  if (text.find('_') == std::string_view::npos) return job_id_from(text);
  JobFilter filter;
  ROTA_CHECK(add_jobs(text, filter));
  if (filter.tasks.size() != 1 || filter.tasks.front().tasks.size() != 1)
    return Error{Errc::usage, format("{} is not one task of an array", quoted(text))};
  const ArrayTasks wanted = filter.tasks.front();
  ROTA_TRY(const auto controller, controller_options(program));
  std::optional<JobId> found;
  const proto::QueueRequest request{.filter = filter, .watch = false};
  ROTA_CHECK(ask_stream<proto::QueueReply>(controller, request, [&](proto::QueueReply reply) {
    for (const JobView& job : reply.jobs)
      if (job.array.of == wanted.array && wanted.tasks.contains(job.array.index)) found = job.id;
  }));
  if (!found)
    return Error{Errc::job_not_started,
                 format("task {} has not started, or is not on record", text)};
  return *found;
}

}  // namespace rota::commands
