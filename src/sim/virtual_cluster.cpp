// sim/virtual_cluster.cpp - from one moment at which something happens to the next.
#include "sim/virtual_cluster.h"

#include <algorithm>
#include <utility>

#include "common/assert.h"

namespace rota::sim {
namespace {

constexpr SimTime second = 1'000;

/// Passes at one moment: each starts what the one before has made room for. Beyond this the next
/// one comes a second later, so that time goes on whatever the scheduler does.
constexpr int rounds_max = 64;

/// How often users' turns are worked out anew, as in a controller.
constexpr SimTime user_rank_period = 10 * second;

/// The scheduler counts whole seconds, as in a controller.
std::int64_t seconds_of(SimTime time) { return time / second; }

JobId id_of(JobNumber job) { return JobId{std::uint64_t{job} + 1}; }
JobNumber number_of(JobId id) { return static_cast<JobNumber>(id.value - 1); }

}  // namespace

VirtualCluster::VirtualCluster(const ClusterDescription& cluster, const Org& org,
                               const Options& options)
    : scheduler_(options.policy, cluster.named_groups()),
      projects_(org.projects),
      checkpoint_(options.checkpoint) {
  scheduler_.set_org(org);
  for (const NodeGroup& group : cluster.groups) {
    const NodeInventory inventory = group.inventory();
    const std::vector<bool> absent(inventory.gpus.size());
    for (const std::string& name : group.names) {
      node_names_.push_back(name);
      const NodeId id{static_cast<std::uint32_t>(node_names_.size())};
      scheduler_.put_node(id, name, inventory, absent, true);
    }
  }
}

JobNumber VirtualCluster::submit(JobSpec spec, SimTime work, std::string user) {
  const auto number = static_cast<JobNumber>(jobs_.size());
  VirtualJob& job = jobs_.emplace_back();
  job.spec = std::move(spec);
  job.work = work;
  job.user = std::move(user);
  note(number, Happening::What::submitted);
  wait(number);
  return number;
}

bool VirtualCluster::cancel(JobNumber number) {
  const VirtualJob::State state = jobs_[number].state;
  if (state != VirtualJob::State::waiting && state != VirtualJob::State::running) return false;
  finish(number, VirtualJob::State::cancelled, Happening::What::cancelled);
  return true;
}

/// Only the spec counts while it waits, and how often it was displaced.
void VirtualCluster::wait(JobNumber number) {
  Job job;
  job.id = id_of(number);
  job.spec = jobs_[number].spec;
  job.owner.user = jobs_[number].user;
  job.preemptions = jobs_[number].run_count;
  scheduler_.add_waiting(job, seconds_of(now_));
  jobs_[number].state = VirtualJob::State::waiting;
  changed_ = true;
}

void VirtualCluster::start(JobNumber number, Placement placement) {
  VirtualJob& job = jobs_[number];
  ROTA_ASSERT(job.state == VirtualJob::State::waiting);
  job.state = VirtualJob::State::running;
  job.started = now_;
  job.placement = std::move(placement);
  hold(job, job.placement, 1);
  ++job.run_count;
  note(number, Happening::What::started);
  if (job.work != forever) ends_.push({now_ + (job.work - job.done), number, job.run_count});
}

void VirtualCluster::displace(JobNumber number) {
  VirtualJob& job = jobs_[number];
  ROTA_ASSERT(job.state == VirtualJob::State::running);
  const SimTime reached = job.done + (now_ - job.started);
  job.done = checkpoint_ == 0 ? 0 : reached / checkpoint_ * checkpoint_;
  hold(job, job.placement, -1);
  job.placement.clear();
  note(number, Happening::What::displaced, reached - job.done);
  scheduler_.remove(id_of(number));
  wait(number);
}

void VirtualCluster::grow(JobNumber number, Placement placement) {
  VirtualJob& job = jobs_[number];
  ROTA_ASSERT(job.state == VirtualJob::State::running);
  hold(job, placement, 1);
  for (NodePart& part : placement) job.placement.push_back(std::move(part));
}

/// It gives these nodes back and goes on.
void VirtualCluster::shrink(JobNumber number, const std::vector<NodeId>& nodes) {
  VirtualJob& job = jobs_[number];
  ROTA_ASSERT(job.state == VirtualJob::State::running);
  hold(job, job.placement, -1);
  std::erase_if(job.placement, [&](const NodePart& part) {
    return std::find(nodes.begin(), nodes.end(), part.node) != nodes.end();
  });
  hold(job, job.placement, 1);
  for (const NodeId node : nodes) scheduler_.release(id_of(number), node, true);
  changed_ = true;
}

// ---- users' turns ----

void VirtualCluster::hold(const VirtualJob& job, const Placement& placement, std::int64_t sign) {
  // As in a controller: nobody pays for what only fills gaps.
  if (job.user.empty() || job.spec.background) return;
  Account& account = accounts_[job.spec.project.str()][job.user];
  account.used = used_at(account, job.spec.project.str());
  account.since = now_;
  for (const NodePart& part : placement) account.held += sign * part.gpu_amount();
}

double VirtualCluster::used_at(const Account& account, const std::string& project) const {
  const auto at = std::find_if(projects_.begin(), projects_.end(),
                               [&](const Project& each) { return each.name == project; });
  ROTA_ASSERT(at != projects_.end());
  return sched::used_after({account.used, account.held}, at->half_life_seconds,
                           static_cast<double>(now_ - account.since) / second);
}

void VirtualCluster::rank_users() {
  if (accounts_.empty() || now_ - ranked_at_ < user_rank_period) return;
  ranked_at_ = now_;
  for (const Project& project : projects_) {
    const auto accounts = accounts_.find(project.name);
    if (accounts == accounts_.end()) continue;
    std::vector<sched::UserUse> uses;
    for (const auto& [user, account] : accounts->second)
      uses.push_back({user, used_at(account, project.name)});
    auto ranks = sched::rank_users(uses, project);
    auto& told = ranks_[project.name];
    if (ranks == told) continue;
    scheduler_.rank_users(project.name, ranks);
    told = std::move(ranks);
  }
}

void VirtualCluster::finish(JobNumber number, VirtualJob::State state, Happening::What what) {
  VirtualJob& job = jobs_[number];
  job.state = state;
  hold(job, job.placement, -1);
  job.placement.clear();
  scheduler_.remove(id_of(number));
  note(number, what);
  changed_ = true;
}

void VirtualCluster::settle() {
  for (int round = 0; changed_; ++round) {
    changed_ = false;
    if (round == rounds_max) {
      look_at_ = now_ + second;
      return;
    }
    rank_users();
    sched::Plan plan = scheduler_.plan(seconds_of(now_));
    for (sched::Start& start : plan.starts) {
      if (start.grows)
        grow(number_of(start.job), std::move(start.placement));
      else
        this->start(number_of(start.job), std::move(start.placement));
    }
    for (const sched::Eviction& eviction : plan.evictions) {
      if (eviction.nodes.empty())
        displace(number_of(eviction.job));
      else
        shrink(number_of(eviction.job), eviction.nodes);
    }
    const std::int64_t look = scheduler_.next_look();
    look_at_ = look > seconds_of(forever) ? forever : std::max(look * second, now_ + 1);
  }
}

/// When something happens next by itself; `forever` when nothing does.
SimTime VirtualCluster::next_time() {
  while (!ends_.empty()) {
    const End& end = ends_.top();
    const VirtualJob& job = jobs_[end.job];
    if (job.state == VirtualJob::State::running && job.run_count == end.run) break;
    ends_.pop();  // it was displaced or cancelled before
  }
  return ends_.empty() ? look_at_ : std::min(look_at_, ends_.top().at);
}

void VirtualCluster::end_due() {
  while (next_time() <= now_) {
    if (look_at_ <= now_) {
      look_at_ = forever;
      changed_ = true;
      continue;
    }
    const JobNumber job = ends_.top().job;
    ends_.pop();
    finish(job, VirtualJob::State::ended, Happening::What::ended);
  }
}

void VirtualCluster::run_until(SimTime time) {
  ROTA_ASSERT(time >= now_);
  for (;;) {
    if (now_ < time) settle();
    const SimTime next = std::min(next_time(), time);
    now_ = next;
    end_due();
    if (next == time) return;
  }
}

void VirtualCluster::run_out() {
  for (settle(); next_time() != forever; settle()) {
    now_ = next_time();
    end_due();
  }
}

std::string VirtualCluster::wait_text(JobNumber number) const {
  Job job;
  job.id = id_of(number);
  job.spec = jobs_[number].spec;
  return scheduler_.wait_of(job).text;
}

}  // namespace rota::sim
