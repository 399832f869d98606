// ctld/engine.cpp - jobs: from submission through placement to their one final state.
#include "ctld/engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/assert.h"
#include "common/format.h"
#include "sched/topology_wish.h"

namespace rota::ctld {

using sched::JobEvent;

namespace {

/// Of a part of it, for the users' turns: nobody pays for what only fills gaps.
std::int64_t counted(const Job& job, const NodePart& part) {
  return job.spec.background ? 0 : part.gpu_amount();
}

}  // namespace

Engine::Engine(EngineSettings settings, Snapshot snapshot, Now now)
    : settings_(std::move(settings)),
      job_last_(snapshot.job_last),
      scheduler_(settings_.policy, settings_.node_groups, settings_.topology),
      requests_(std::move(snapshot.requests), now.mono),
      org_(std::move(snapshot.org), snapshot.org_revision.revision,
           snapshot.org_revision.serial_last),
      secrets_(std::move(snapshot.secrets)),
      usage_(snapshot.usage, org_.org(), now),
      ticked_at_(now) {
  for (auto& stored : snapshot.nodes) {
    Node node;
    node.id = stored.id;
    node.identity = std::move(stored.identity);
    node.inventory = std::move(stored.inventory);
    node.gpu_absent.assign(node.inventory.gpus.size(), false);
    node.since = now.wall;
    node.heard = now.mono;
    node.drain_reason = std::move(stored.drain_reason);
    node.gpu_drains = std::move(stored.gpu_drains);
    put_in_scheduler(node);
    awaited_[node.id] = now.mono + std::chrono::milliseconds(settings_.node.lost_after_ms);
    node_names_[node.identity.name] = node.id;
    nodes_.emplace(node.id, std::move(node));
  }
  for (HealthPut& past : snapshot.health) {
    health_serial_ = past.serial;
    if (const auto known = node_names_.find(past.event.node); known != node_names_.end()) {
      std::uint64_t& last = nodes_.at(known->second).health_sequence;
      last = std::max(last, past.event.sequence);
    }
    health_events_.push_back(std::move(past));
  }
  for (const Job& job : snapshot.jobs)
    if (!is_final(job.state)) org_.adopt_project(job.spec.project, effects_.rows);
  scheduler_.set_org(org_.org());
  usage_.set_org(org_.org(), now);
  for (auto& stored : snapshot.jobs) {
    const Job& job = jobs_.emplace(stored.id, std::move(stored)).first->second;
    job_last_ = std::max(job_last_, job.id);
    if (!is_final(job.state) && job.spec.is_array()) adopt_array(job);
  }
  adopt_tasks(snapshot.ended_tasks);
  // Whoever waits for others must find them.
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back(id);
  for (const JobId id : ids) adopt(jobs_.at(id), now);
  rank_users(now);
  recall(snapshot.past, now);
}

/// A job of a former controller.
void Engine::adopt(Job& job, Now now) {
  if (is_final(job.state)) {
    ended_.push_back(job.id);
    return;
  }
  ++live_count_;
  if (job.state == JobState::pending) return wait(job, now);
  if (job.spec.rules->deadline) deadlines_.insert({job.spec.rules->deadline, job.id});
  if (job.state == JobState::suspended || job.spec.is_array()) return;
  mark_time(job, now);
  scheduler_.add_holding(job, is_ending(job.state), seconds_of(now));
  for (const NodePart& part : job.last->placement) {
    nodes_.at(part.node).jobs.emplace(job.id, std::nullopt);
    usage_.resume(job.spec.project, job.owner.user, counted(job, part), now);
  }
}

/// What projects held before this controller began, for fairness over time. How large the cluster
/// was then nobody wrote down: as large as it is known to be now.
void Engine::recall(const std::vector<PastRun>& past, Now now) {
  if (past.empty()) return;
  const auto seconds_at = [now](WallTime time) {
    const std::int64_t passed =
        time ? std::max<std::int64_t>(0, now.wall.microseconds - time.microseconds) : 0;
    return seconds_of(now) - passed / 1'000'000;
  };
  std::int64_t first = seconds_of(now);
  for (const PastRun& run : past) {
    first = std::min(first, seconds_at(run.start));
    if (find_project(org(), run.project) == nullptr) continue;
    scheduler_.add_past(
        run.project,
        {run.gpu_amount, run.cpu_count * cpu_unit, static_cast<std::int64_t>(run.memory_bytes)},
        seconds_at(run.start), seconds_at(run.end));
  }
  sched::Amount total;
  for (const auto& [id, node] : nodes_)
    total += sched::Amount{static_cast<std::int64_t>(node.inventory.gpus.size()) * gpu_unit,
                           node.inventory.cpu_count * cpu_unit,
                           static_cast<std::int64_t>(node.inventory.memory_bytes)};
  scheduler_.add_past_capacity(total, first, seconds_of(now));
}

Result<void> Engine::admit(const Owner& owner, const std::vector<std::string>& groups,
                           JobSpec& spec) const {
  ROTA_CHECK(validate(spec));
  if (owner.uid == 0 && !settings_.root_allowed)
    return Error{Errc::denied, "jobs as root are not allowed here (jobs.root_allowed)"};
  if (owner.uid != 0 && role_of({.owner = owner}) == UserRole::viewer)
    return Error{Errc::denied, format("{} has the role viewer, which submits no jobs", owner.user)};
  if (spec.rules->nice < 0 && role_of({.owner = owner}) != UserRole::admin && owner.uid != 0)
    return Error{Errc::denied, "only an administrator may set nice below 0"};
  if (spec.service->url && settings_.proxy_url.empty())
    return Error{
        Errc::unsupported,
        "this cluster has no rproxy, so there is no address for browsers: leave --url out"};
  if (live_count_ >= settings_.job_count_max)
    return Error{Errc::queue_full,
                 format("{} jobs have not ended, the limit is {} (jobs.count_max)", live_count_,
                        settings_.job_count_max)};
  ROTA_CHECK(org_.admit(owner, groups,
                        {settings_.time_limit_default_seconds, settings_.time_limit_max_seconds},
                        spec));
  ROTA_CHECK(sched::check(*spec.topology, scheduler_.topology()));
  // With no node known yet nothing can be said; else what all nodes together cannot hold is refused
  // now and not after a night in the queue.
  if (nodes_.empty()) return {};
  ROTA_CHECK(scheduler_.node_rules().check(*spec.nodes));
  // A GPU that is being reset or looked after is expected back.
  if (scheduler_.fit_of(spec) == sched::Fit::never && !has_closed_gpus())
    return Error{Errc::never_fits, scheduler_.never_text(spec)};
  return {};
}

Result<JobId> Engine::submit(JobSubmitted event, Now now) {
  ROTA_CHECK(admit(event.owner, event.groups, event.spec));
  if (event.payload.container.runtime.empty())
    if (const Queue* queue = find_queue(org(), event.spec.queue))
      event.payload.container.runtime = queue->container_runtime;
  ROTA_CHECK(validate(event.payload));
  ROTA_CHECK(validate(event.spec, event.payload));
  ROTA_CHECK(secrets_.check(event.owner.uid, event.payload.secrets));
  ROTA_CHECK(check_volumes(event.payload.container, event.spec.project));
  ROTA_CHECK(check_dependencies(event.spec));
  if (event.spec.is_array() && event.payload.mode == LaunchMode::hold)
    return Error{Errc::job_invalid, "an allocation cannot be an array"};
  job_last_ = JobId{job_last_.value + 1};
  Job& job = jobs_[job_last_];
  job.id = job_last_;
  job.mode = event.payload.mode;
  job.spec = std::move(event.spec);
  job.owner = std::move(event.owner);
  job.submit_time = now.wall;
  if (job.spec.rules->held) job.hold = Hold::user;
  if (job.spec.is_array()) adopt_array(job);
  if (const auto same = singletons_.find({job.owner.uid, job.spec.name}); same != singletons_.end())
    same->second.insert(job.id);
  wait(job, now);
  ++live_count_;
  effects_.rows.push_back(PayloadPut{job.id, std::move(event.payload)});
  note(job);
  const auto gate = gates_.find(job.id);
  if (gate != gates_.end() && gate->second.why == WaitReason::dependency_never)
    look_again(job.id, now);
  return job.id;
}

void Engine::advance(Job& job, JobEvent event, JobState final_state) {
  const auto next = sched::next_state(job.state, event, final_state);
  ROTA_ASSERT(next.has_value());
  job.state = *next;
  note(job);
}

void Engine::schedule(Now now) {
  // Each round starts the tasks of arrays that the scheduler knows, and shows it the next.
  constexpr int rounds_max = 16;
  for (int round = 0; plan_needed_ && round < rounds_max; ++round) schedule_round(now);
}

void Engine::schedule_round(Now now) {
  plan_needed_ = false;
  planned_at_ = now;
  sched::Plan plan = scheduler_.plan(seconds_of(now), awaited_.empty());
  std::set<JobId> arrays;
  for (auto& start : plan.starts) {
    const auto head = heads_.find(start.job);
    if (head != heads_.end()) arrays.insert(head->second);
    Job& job = head == heads_.end() ? jobs_.at(start.job) : hand_out(start.job);
    if (start.grows)
      grow(job, std::move(start.placement), now);
    else
      this->start(job, std::move(start.placement), now);
  }
  for (const JobId id : arrays) begin_array(id, now);
  for (const auto& eviction : plan.evictions) {
    Job& job = jobs_.at(eviction.job);
    if (eviction.nodes.empty())
      preempt(job, eviction);
    else
      shrink(job, eviction);
  }
  for (const sched::Expected& each : plan.expected) fetch_images(each);
}

void Engine::start(Job& job, Placement placement, Now now) {
  --waiting_count_;
  advance(job, JobEvent::placed);
  setbacks_.erase(job.id);
  fetched_.erase(job.id);
  LastRun& run = job.last.edit();
  LastRun before = std::exchange(run, {});
  run.start_failed_on = std::move(before.start_failed_on);
  run.start_failure = std::move(before.start_failure);
  run.image_digest = std::move(before.image_digest);
  run.placement = std::move(placement);
  for (const NodePart& part : run.placement) {
    run.nodes.push_back(part.node);
    run.tasks_per_node.push_back(part.task_count);
    hold(job, part, now);
  }
  for (const NodePart& part : run.placement) launch(job, part);
}

/// It has the part from now on.
void Engine::hold(const Job& job, const NodePart& part, Now now) {
  nodes_.at(part.node).jobs.emplace(job.id, now.mono);
  put_allocation(job, part, now.wall, {}, 0);
  usage_.hold(job.spec.project, job.owner.user, counted(job, part), now);
}

void Engine::order_launch(const Job& job, const NodePart& part) {
  const Node& node = nodes_.at(part.node);
  proto::LaunchRun launch;
  launch.run = job.run(part);
  launch.spec = job.spec;
  launch.owner = job.owner;
  launch.part = part;
  for (const auto gpu : part.gpus_used())
    launch.gpu_uuids.push_back(node.inventory.gpus.at(gpu).uuid);
  for (const NodeId id : job.last->nodes) {
    if (id == part.node) launch.node_index = static_cast<std::uint32_t>(launch.nodes.size());
    launch.nodes.push_back(nodes_.at(id).identity.name);
  }
  launch.tasks_per_node = job.last->tasks_per_node;
  launch.submit_time = job.submit_time;
  launch.image_digest = job.last->image_digest;
  launch.preemptions = job.preemptions;
  if (job.array->of) {
    const ArrayWish& array = jobs_.at(job.array->of).spec.rules->array;
    launch.array = {
        job.array->of,       job.array->index,   static_cast<std::uint32_t>(array.tasks.size()),
        array.tasks.front(), array.tasks.back(), array.step};
  }
  launch.first_host = nodes_.at(job.last->nodes.front()).identity.host();
  order(part.node, std::move(launch));
}

void Engine::begin_ending(Job& job) {
  advance(job, JobEvent::ending);
  scheduler_.set_ending(job.id);
}

proto::EndRun Engine::end_order(const Job& job, const NodePart& part) const {
  proto::EndRun order{job.run(part)};
  const bool makes_way =
      job.state == JobState::preempted || (part.leaving && job.state != JobState::completing);
  if (!makes_way) return order;
  order.signal = job.spec.signal;
  if (job.spec.grace_seconds >= 0)
    order.grace_ms = std::int64_t{job.spec.grace_seconds} * 1000;
  else if (const auto grace = org_.grace_of(job.spec.project))
    order.grace_ms = *grace * 1000;
  return order;
}

void Engine::order_end_everywhere(const Job& job) {
  for (const NodePart& part : job.last->placement) order(part.node, end_order(job, part));
}

void Engine::order(NodeId id, decltype(NodeOrder::message) message) {
  // A node without a session hears everything that still matters when it joins again.
  const Node& node = nodes_.at(id);
  if (node.connected) effects_.orders.push_back({id, node.joins, std::move(message)});
}

void Engine::put_allocation(const Job& job, const NodePart& part, WallTime start, WallTime end,
                            std::int64_t held_ms, const RunUsage& usage) {
  AllocationPut row;
  row.run = job.run(part);
  row.node = part.node;
  std::vector<std::uint16_t> gpus = part.gpus_used();
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  for (const auto gpu : gpus)
    row.gpu_uuids.push_back(nodes_.at(part.node).inventory.gpus.at(gpu).uuid);
  row.gpu_amount = part.gpu_amount();
  row.is_charged = !job.spec.background;
  row.cpu_count = part.cpu_count;
  row.memory_bytes = part.memory_bytes;
  row.start = start;
  row.end = end;
  row.held_ms = held_ms;
  row.usage = usage;
  effects_.rows.push_back(std::move(row));
}

void Engine::release(Job& job, const NodePart& part, bool may_regrow, Now now) {
  Node& node = nodes_.at(part.node);
  const auto held = node.jobs.extract(job.id);
  ROTA_ASSERT(!held.empty());
  // Unknown only for what a former controller placed; the store then takes the dates' difference.
  const std::int64_t held_ms =
      held.mapped()
          ? std::chrono::duration_cast<std::chrono::milliseconds>(now.mono - *held.mapped()).count()
          : -1;
  put_allocation(job, part, {}, now.wall, held_ms, usage_on(job, part));
  usage_.hold(job.spec.project, job.owner.user, -counted(job, part), now);
  scheduler_.release(job.id, part.node, may_regrow);
  Placement& placement = job.last.edit().placement;
  placement.erase(placement.begin() + (&part - placement.data()));
  plan_needed_ = true;
  note(job);
}

void Engine::finish(Job& job, Now now) {
  ROTA_ASSERT(job.last->placement.empty() && job.last->end.has_value());
  scheduler_.remove(job.id);
  job.last.edit().end->usage = usage_of(job);
  run_usage_.erase(job.id);
  idle_.erase(job.id);
  progress_.erase(job.id);
  const bool displaced =
      job.state == JobState::preempted && (job.spec.requeue || job.after_end != AfterEnd::nothing);
  const bool start_failed = sched::start_failed_by_node(*job.last->end);
  if (start_failed) ++job.start_failures;
  if (displaced || (sched::lost_by_node(*job.last->end, job.cancel_requested) && job.spec.requeue &&
                    job.restarts - job.preemptions - job.asked_restarts < settings_.restarts_max))
    return return_to_queue(job, now);
  if (is_retried(job)) {
    ++job.failures;
    ++job.asked_restarts;
    return return_to_queue(job, now);
  }
  if (start_failed) job.last.edit().end->detail = start_failure_text(job);
  JobState final_state = sched::final_state_of(*job.last->end, job.cancel_requested);
  if (job.state == JobState::preempted) {  // it may not start a second time
    advance(job, JobEvent::ending);
    LastRun& last = job.last.edit();
    last.end->detail = last.displaced;
    final_state = JobState::cancelled;
  }
  advance(job, JobEvent::ended, final_state);
  bury(job, now);
}

/// It failed by itself, and may try again.
bool Engine::is_retried(const Job& job) const {
  if (job.state != JobState::completing || job.cancel_requested ||
      job.failures >= job.spec.rules->retries)
    return false;
  const JobState state = sched::final_state_of(*job.last->end, false);
  return state == JobState::failed || state == JobState::out_of_memory;
}

/// What is known of this run goes, except what the next one has to know.
void Engine::return_to_queue(Job& job, Now now) {
  const bool displaced = job.state == JobState::preempted;
  const AfterEnd after = std::exchange(job.after_end, AfterEnd::nothing);
  advance(job, after == AfterEnd::suspend ? JobEvent::suspended : JobEvent::returned);
  ++job.restarts;
  LastRun before = std::move(job.last.edit());
  job.last.reset();
  if (displaced) {
    ++(after == AfterEnd::nothing ? job.preemptions : job.asked_restarts);
    job.last.edit().displaced = std::move(before.displaced);
  }
  if (job.start_failures > 0 || !before.start_failed_on.empty()) {
    job.last.edit().start_failed_on = std::move(before.start_failed_on);
    job.last.edit().start_failure = std::move(before.start_failure);
  }
  if (!before.image_digest.empty()) job.last.edit().image_digest = std::move(before.image_digest);
  if (job.state == JobState::pending) wait(job, now);
  tell_people(job, mail_requeue);
}

std::optional<JobId> Engine::task_of(JobId array, std::uint32_t index) const {
  const auto at = arrays_.find(array);
  if (at == arrays_.end()) return std::nullopt;
  const auto task = at->second.tasks.find(index);
  return task == at->second.tasks.end() ? std::nullopt : std::optional(task->second);
}

/// Those of the tasks that have started, and those that have not.
void Engine::select_tasks(const ArrayTasks& named, Selection& selection,
                          std::vector<proto::JobRefusal>& refused) const {
  const auto refuse = [&](Errc code, std::string detail) {
    refused.push_back({named.array, static_cast<std::uint16_t>(code), std::move(detail)});
  };
  if (!named.tasks.is_sound()) return refuse(Errc::invalid_argument, "its tasks are out of order");
  const Job* whole = find(named.array);
  if (whole == nullptr)
    return refuse(named.array <= job_last_ ? Errc::job_ended : Errc::no_such_job, {});
  if (!whole->spec.is_array()) return refuse(Errc::invalid_argument, "it is no array");
  const auto at = arrays_.find(named.array);
  if (at == arrays_.end()) return refuse(Errc::job_ended, {});
  const IndexSet waiting = at->second.waiting.common_with(named.tasks);
  if (!waiting.empty()) selection.waiting.push_back({named.array, waiting});
  IndexSet gone = named.tasks;
  gone.erase_all(waiting);
  for (const auto& [index, id] : at->second.tasks)
    if (gone.erase(index)) selection.jobs.push_back(id);
  if (gone.empty()) return;
  IndexSet unknown = gone;
  unknown.erase_all(whole->spec.rules->array.tasks);
  if (!unknown.empty())
    refuse(Errc::no_such_job, format("it has no task {}", unknown.text(40)));
  else
    refuse(Errc::job_ended, format("of its tasks {}", gone.text(40)));
}

Engine::Selection Engine::select(const JobFilter& filter,
                                 std::vector<proto::JobRefusal>& refused) const {
  Selection selection;
  std::vector<JobId>& selected = selection.jobs;
  for (const ArrayTasks& each : filter.tasks) select_tasks(each, selection, refused);
  if (!filter.names_jobs()) {
    for (const auto& [id, job] : jobs_)
      if (matches(filter, job) && !is_final(job.state)) selected.push_back(id);
    return selection;
  }
  const auto refuse = [&refused](JobId id, Errc code) {
    refused.push_back({id, static_cast<std::uint16_t>(code), {}});
  };
  for (const JobId id : filter.jobs) {
    const Job* job = find(id);
    if (job == nullptr)
      refuse(id, id <= job_last_ && id ? Errc::job_ended : Errc::no_such_job);
    else if (is_final(job->state))
      refuse(id, Errc::job_ended);
    else if (matches(filter, *job))
      selected.push_back(id);
    if (job != nullptr)
      if (const auto array = arrays_.find(id); array != arrays_.end())
        for (const auto& [index, task] : array->second.tasks)
          if (matches(filter, jobs_.at(task))) selected.push_back(task);
  }
  std::sort(selected.begin(), selected.end());
  selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
  return selection;
}

Result<proto::CancelReply> Engine::cancel(const Caller& caller, const JobFilter& filter, int signal,
                                          Now now) {
  if (!filter.names_jobs() && filter.users.empty() && filter.projects.empty() &&
      filter.names.empty() && filter.states.empty())
    return Error{Errc::usage, "name the jobs: ids, or --name, --user, --project, --state"};
  if (signal < 0 || signal > 64)
    return Error{Errc::invalid_argument, format("signal {} is not 1 to 64", signal)};
  proto::CancelReply reply;
  const Selection selection = select(filter, reply.refused);
  for (const ArrayTasks& each : selection.waiting) {
    Job& whole = jobs_.at(each.array);
    auto error = check_owner(caller, whole);
    if (!error && signal != 0)
      error = Error{Errc::job_not_started, "a waiting job has no processes to signal"};
    if (error) {
      reply.refused.push_back({each.array, static_cast<std::uint16_t>(error->code), error->detail});
      continue;
    }
    drop_waiting(whole, each.tasks, now);
    settle_array(whole, now);
    reply.done.push_back(each.array);
  }
  for (const JobId id : selection.jobs) {
    // With the last of its tasks an array is over.
    if (is_final(jobs_.at(id).state)) {
      reply.done.push_back(id);
      continue;
    }
    if (auto error = cancel_one(caller, jobs_.at(id), signal, now))
      reply.refused.push_back({id, static_cast<std::uint16_t>(error->code), error->detail});
    else
      reply.done.push_back(id);
  }
  return reply;
}

std::optional<Error> Engine::cancel_one(const Caller& caller, Job& job, int signal, Now now) {
  if (auto error = check_owner(caller, job)) return error;
  if (signal != 0) {
    if (job.state == JobState::pending || job.state == JobState::suspended)
      return Error{Errc::job_not_started, "a waiting job has no processes to signal"};
    for (const NodePart& part : job.last->placement)
      order(part.node, proto::SignalRun{job.run(part), signal});
    return std::nullopt;
  }
  stop(job, now);
  return std::nullopt;
}

/// Somebody wants it to be over.
void Engine::stop(Job& job, Now now) {
  // Its work is done, and what is left of it on other nodes goes already.
  if (job.state == JobState::completing && job.last->end && sched::ended_well(*job.last->end) &&
      !job.cancel_requested)
    return;
  job.cancel_requested = true;
  note(job);
  if (job.spec.is_array()) return stop_array(job, now);
  if (job.state == JobState::pending || job.state == JobState::suspended)
    return end_waiting(job, JobState::cancelled, {}, now);
  if (job.state != JobState::completing) begin_ending(job);
  order_end_everywhere(job);
}

/// One notice for each event that they asked for.
void Engine::tell_people(const Job& job, std::uint32_t events) {
  const std::uint32_t wanted = job.spec.rules->mail_events & events;
  for (std::uint32_t event = 1; event <= wanted && event != 0; event <<= 1)
    if ((wanted & event) != 0) effects_.notices.push_back({event, view(job)});
}

void Engine::drop_old_records(Now now) {
  requests_.drop_old(now.mono, effects_.rows);
  while (ended_.size() > settings_.ended_kept) {
    const JobId id = ended_.front();
    if (dirty_.contains(id)) break;  // its last row is not on its way yet
    ended_.pop_front();
    jobs_.erase(id);
    effects_.rows.push_back(PayloadDrop{id});
  }
}

void Engine::rank_users(Now now) {
  ranked_at_ = now.mono;
  for (const Project& project : org().projects) {
    const auto lines = usage_.lines(project.name, now.mono);
    if (lines.empty()) continue;
    auto& told = user_ranks_[project.name];
    auto ranks = sched::rank_users(lines, project);
    if (ranks == told) continue;
    scheduler_.rank_users(project.name, ranks);
    told = std::move(ranks);
    plan_needed_ = true;
  }
}

Effects Engine::take_effects() {
  usage_.take_rows(effects_.rows);
  for (const JobId id : dirty_) effects_.rows.push_back(JobPut{jobs_.at(id)});
  effects_.changed.assign(dirty_.begin(), dirty_.end());
  dirty_.clear();
  Effects effects = std::move(effects_);
  effects_ = {};
  return effects;
}

void Engine::record_answer(StoredRequest answer, Now now) {
  requests_.put(std::move(answer), now.mono, effects_.rows);
}

Result<proto::SecretEntry> Engine::put_secret(const Caller& caller, const std::string& name,
                                              std::string sealed, Now now) {
  return secrets_.put({caller.owner.uid, name, now.wall}, std::move(sealed), effects_.rows);
}

Result<proto::SecretEntry> Engine::remove_secret(const Caller& caller, const std::string& name) {
  return secrets_.remove(caller.owner.uid, name, effects_.rows);
}

const Job* Engine::find(JobId id) const {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : &at->second;
}

}  // namespace rota::ctld
