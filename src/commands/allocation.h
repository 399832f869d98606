// commands/allocation.h - a job that runs nothing by itself: asked for, waited for, given back. For
// rrun and ralloc.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/cli.h"
#include "commands/program.h"
#include "commands/session.h"
#include "commands/submit_options.h"
#include "model/job.h"

namespace rota::commands {

/// Those of rsubmit's options that are named, then `own`.
std::vector<Option> options_of_rsubmit(std::initializer_list<std::string_view> names,
                                       std::initializer_list<Option> own);

/// The request for an allocation as these options say it: interactive unless they say otherwise,
/// never started twice. `default_name` is used where none was given.
Result<proto::SubmitRequest> allocation_from(const std::vector<Given>& given,
                                             std::string_view default_name);

/// The job of which this process is a part, by ROTA_JOB_ID; none: it is in no job.
Result<std::optional<JobId>> job_around();

/// Queues it and waits until it runs. On a terminal, a line on standard error says meanwhile why it
/// waits and until when; an interrupt cancels the job, and `interrupted` says by which signal.
awaitable<Result<JobView>> allocate(net::ConnectOptions controller, proto::SubmitRequest request,
                                    const Program& program, int& interrupted);

/// Ends the job, as rcancel does; one that has ended is none the worse for it.
awaitable<Result<void>> give_back(net::ConnectOptions controller, JobId job);

}  // namespace rota::commands
