// testsuite/sim/world.cpp - the clock, the clients and the controller's shell of a simulated
// cluster.
#include "sim/world.h"

#include <cstdio>

#include "common/format.h"

namespace rota::sim {
namespace {
constexpr std::int64_t ms = 1000;
constexpr std::int64_t s = 1'000'000;
constexpr std::int64_t faults_end = 300 * s;
constexpr std::int64_t patience = 4000 * s;  // far beyond every retry and time-out after the faults
}  // namespace

const char* name_of(Mistake mistake) {
  switch (mistake) {
    case Mistake::none:
      return "none";
    case Mistake::answer_before_commit:
      return "answer_before_commit";
    case Mistake::launch_twice:
      return "launch_twice";
    case Mistake::requeue_at_once:
      return "requeue_at_once";
    case Mistake::forget_without_record:
      return "forget_without_record";
  }
  return "?";
}

World::World(Options options) : options_(options), random_(options.seed) {
  nodes_.resize(static_cast<std::size_t>(options_.node_count));
  for (int i = 0; i < options_.node_count; ++i) {
    Node& node = nodes_[static_cast<std::size_t>(i)];
    node.name = format("n{}", i);
    node.inventory.cpu_count = 16;
    node.inventory.memory_bytes = std::uint64_t{64} << 30;
    for (int g = 0; g < options_.gpus_per_node; ++g) {
      Gpu gpu;
      gpu.uuid = format("GPU-{}-{}", i, g);
      gpu.index = static_cast<std::uint32_t>(g);
      gpu.model = i % 2 == 0 ? "Tesla T4" : "NVIDIA L4";
      gpu.memory_bytes = static_cast<std::uint64_t>(gpu_memory_mib) << 20;
      gpu.mig = mig_geometry();
      node.inventory.gpus.push_back(gpu);
    }
  }
  for (int i = 0; i < options_.job_count; ++i) {
    ClientJob job;
    job.request = {options_.seed + 1, static_cast<std::uint64_t>(i + 1)};
    job.spec.name = format("job{}", i);
    const auto shape = random(0, 9);
    if (shape < 5) {  // one task
      job.spec.task.gpu_count = static_cast<std::uint32_t>(random(0, options_.gpus_per_node));
      if (job.spec.task.gpu_count > 0 && chance(0.4)) share_gpus(job.spec.task);
      if (chance(0.25)) cut_gpus(job.spec.task);
      if (chance(0.4)) choose_nodes(job.spec.nodes.edit());
    } else if (chance(0.3)) {  // a gang that grows and shrinks
      job.spec.node_count = static_cast<std::uint32_t>(random(1, options_.node_count - 2));
      job.spec.node_count_max =
          static_cast<std::uint32_t>(random(job.spec.node_count + 1, options_.node_count));
      job.spec.task_count = job.spec.node_count * static_cast<std::uint32_t>(random(1, 2));
      job.spec.task.gpu_count = static_cast<std::uint32_t>(random(0, options_.gpus_per_node / 2));
      if (job.spec.task.gpu_count > 0 && chance(0.3)) share_gpus(job.spec.task);
    } else if (shape < 8) {  // a gang over nodes
      job.spec.node_count = static_cast<std::uint32_t>(random(2, options_.node_count));
      job.spec.task_count = job.spec.node_count * static_cast<std::uint32_t>(random(1, 2));
      job.spec.task.gpu_count = static_cast<std::uint32_t>(random(0, options_.gpus_per_node / 2));
      if (job.spec.task.gpu_count > 0 && chance(0.2)) share_gpus(job.spec.task);
      if (chance(0.15)) cut_gpus(job.spec.task);
    } else {  // a gang anywhere
      job.spec.task_count = static_cast<std::uint32_t>(random(2, 8));
      job.spec.task.gpu_count = static_cast<std::uint32_t>(random(0, 2));
      job.spec.task.memory_bytes = std::uint64_t{1} << 30;
    }
    if (shape >= 5 && chance(0.4)) choose_topology(job.spec);
    job.spec.requeue = chance(0.9);
    // Two projects are promised a third of the cluster each; the rest, and what they leave idle, is
    // for everybody.
    const char* const projects[] = {"red", "blue", "default"};
    job.spec.project = projects[random(0, 2)];
    // It may be kept off a node; then a gang of all nodes would wait for ever.
    if (job.spec.project == "red" && job.spec.node_count == nodes_.size())
      job.spec.task_count = --job.spec.node_count;
    if (job.spec.project != "default" && !job.spec.task.uses_mig() &&
        static_cast<int>(job.spec.gpu_devices()) <= gpus_promised() && chance(0.2))
      job.spec.preemptibility =
          job.spec.is_elastic() && chance(0.7) ? Preemptibility::semi : Preemptibility::no;
    if (job.spec.preemptibility == Preemptibility::by_kind) job.spec.background = chance(0.1);
    if (job.spec.preemptibility == Preemptibility::by_kind && !job.spec.task.shares_gpus() &&
        !job.spec.task.uses_mig() && chance(0.1))
      job.spec.rules.edit().exclusive = true;
    job.spec.priority = static_cast<std::int32_t>(random(1, 3)) * 40;
    if (chance(0.3)) job.spec.grace_seconds = static_cast<std::int32_t>(random(0, 20));
    if (chance(0.15)) {
      ArrayWish& array = job.spec.rules.edit().array;
      array.tasks = IndexSet::of(0, static_cast<std::uint32_t>(random(1, 5)));
      array.parallel_max = static_cast<std::uint32_t>(random(0, 3));
      if (chance(0.3)) array.successes_max = static_cast<std::uint32_t>(random(1, 3));
    }
    if (chance(0.1)) job.spec.rules.edit().retries = static_cast<std::uint32_t>(random(1, 2));
    if (chance(0.1)) {
      job.spec.name = "alone";
      job.spec.rules.edit().dependencies = *dependencies_parse("singleton");
    }
    job.payload.mode = chance(0.5) ? LaunchMode::batch : LaunchMode::tasks;
    job.payload.script = "#!/bin/sh\n";
    job.payload.arguments = {"x"};
    job.payload.working_directory = "/";
    clients_.push_back(std::move(job));
  }
}

World::~World() = default;

std::int64_t gpu_mib_of(const NodePart& part) {
  if (part.gpu_memory_mib > 0) return part.gpu_memory_mib;
  return part.gpu_share > 0 ? part.gpu_share * gpu_memory_mib / gpu_unit : gpu_memory_mib;
}

/// Two halves, or four quarters of which the last can only be taken with the one before.
const MigGeometry& mig_geometry() {
  static const MigGeometry geometry = [] {
    MigGeometry made;
    MigProfile quarter{.name = "1g.8gb", .compute_slices = 1, .size = 1, .starts = {0, 1, 2}};
    MigProfile half{.name = "2g.16gb", .compute_slices = 2, .size = 2, .starts = {0, 2}};
    quarter.count_max = 3;
    half.count_max = 2;
    for (MigProfile* profile : {&quarter, &half}) {
      profile->memory_bytes = std::uint64_t{profile->size} << 33;
      made.profiles.push_back(*profile);
    }
    made.switches = true;
    return made;
  }();
  return geometry;
}

std::size_t rack_of(const std::string& node) { return std::stoul(node.substr(1)) / nodes_per_rack; }

/// A part of its GPUs, as a share or as memory.
void World::share_gpus(TaskRequest& task) {
  const std::uint32_t shares[] = {200'000, 300'000, 400'000, 500'000, 600'000};
  if (chance(0.3))
    task.gpu_memory_mib = static_cast<std::uint32_t>(random(1, 20)) << 10;
  else
    task.gpu_share = shares[random(0, 4)];
}

/// MIG instances instead of GPUs; every node has that many.
void World::cut_gpus(TaskRequest& task) {
  task = {.cpu_count = task.cpu_count, .memory_bytes = task.memory_bytes};
  task.mig_profile = chance(0.5) ? "1g.8gb" : "2g.16gb";
  task.mig_count = static_cast<std::uint32_t>(random(1, options_.gpus_per_node > 1 ? 2 : 1));
}

/// By name or type; there are always some such.
void World::choose_nodes(NodeWish& wish) {
  const NodeWish wishes[] = {
      {"", "", "t4"}, {"", "", "l4&most"}, {"", "n0", ""}, {"n[1-2]", "", "Tesla T4|l4"}};
  wish = wishes[random(0, 3)];
}

/// What is required, a rack always has: also one that lacks a node which a project is kept off.
void World::choose_topology(JobSpec& spec) {
  const bool fits_rack = nodes_.size() > nodes_per_rack && spec.node_count <= nodes_per_rack - 1 &&
                         static_cast<int>(spec.gpu_devices()) <=
                             static_cast<int>(nodes_per_rack - 1) * options_.gpus_per_node;
  TopologyRequest& request = spec.topology.edit();
  // Every full rack has a pair, whoever is kept off one of its nodes.
  if (!spec.is_elastic() && spec.node_count > 0 && spec.node_count % 2 == 0 &&
      spec.node_count / 2 <= nodes_.size() / nodes_per_rack && chance(0.5)) {
    request.segment = 2;
    if (chance(0.5)) (chance(0.5) ? request.required : request.preferred) = "rack";
    return;
  }
  (fits_rack && chance(0.6) ? request.required : request.preferred) = "rack";
}

void World::in(std::int64_t delay_us, std::function<void()> act) {
  events_.push({time_us_ + delay_us, ++event_order_, std::move(act)});
}

Now World::now() const { return {{time_us_ * 1000}, {time_us_ + wall_offset_us_}}; }

std::int64_t World::random(std::int64_t from, std::int64_t to) {
  // Not std::uniform_int_distribution: its results differ between libraries.
  return from + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
}

bool World::chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1.0p-53 < probability;
}

void World::say(const std::string& line) {
  if (options_.verbose)
    std::printf("# %10.3f %s\n", static_cast<double>(time_us_) / 1e6, line.c_str());
}

std::string World::run() {
  start_controller();
  change_projects(0);
  disk_.commit(engine_->take_effects().rows);
  for (int i = 0; i < options_.node_count; ++i) in(random(0, 2 * s), [this, i] { start_rgpud(i); });
  for (std::size_t i = 0; i < clients_.size(); ++i)
    in(random(0, 200 * s), [this, i] { submit(i); });
  for (int i = 0; i < 6; ++i) in(random(10 * s, 280 * s), [this] { cancel_some(); });
  for (int i = 0; i < 8; ++i) in(random(10 * s, 280 * s), [this] { change_some(false); });
  // A controller that fails to commit forgets what it was told last: so they say it again.
  for (int i = 0; i < 4; ++i) in(faults_end + i * 20 * s, [this] { change_some(true); });
  for (int i = 1; i <= 6; ++i) in(i * 45 * s, [this, i] { change_projects(i); });
  in(1 * s, [this] { tick_controller(); });
  for (int i = 0; i < options_.node_count; ++i) in(1 * s, [this, i] { tick_node(i); });
  if (options_.faults) plan_faults();
  in(faults_end, [this] {
    faults_over_ = true;
    for (auto& node : nodes_) node.cut_off = false;
  });
  while (broken_.empty() && !events_.empty()) {
    Event event = events_.top();
    events_.pop();
    if (engine_) {
      double gpus = 0;
      for (const auto& [id, job] : engine_->jobs())
        for (const auto& part : job.last->placement)
          gpus += static_cast<double>(part.gpu_amount()) / gpu_unit;
      gpu_ms_held_ += gpus * static_cast<double>(event.at - time_us_) / 1000;
    }
    time_us_ = event.at;
    event.act();
    ++counts_.events;
    if (broken_.empty()) broken_ = check();
    if (faults_over_ && all_quiet()) return broken_.empty() ? check_end() : broken_;
    if (time_us_ > faults_end + patience)
      return broken_.empty() ? "it never came to rest: " + unrest() : broken_;
  }
  return broken_.empty() ? "the world stood still" : broken_;
}

// ---- clients ----

void World::submit(std::size_t index) {
  ClientJob& job = clients_[index];
  if (job.acknowledged) return;
  // No answer within a while: ask again, with the same id.
  in(random(2 * s, 8 * s), [this, index] { submit(index); });
  if (!engine_ || chance(options_.faults ? 0.1 : 0)) return;
  constexpr std::uint32_t uid = 1000;
  const auto answer = [this, index](JobId id) {
    return [this, index, id] {
      if (options_.faults && !faults_over_ && chance(0.1)) return;  // the answer is lost
      ClientJob& asked = clients_[index];
      if (asked.acknowledged && asked.acknowledged != id)
        broken_ =
            format("one request made two jobs: {} and {}", asked.acknowledged.value, id.value);
      if (!asked.acknowledged) ++counts_.jobs_acknowledged;
      asked.acknowledged = id;
      say(format("job {} acknowledged", id.value));
    };
  };
  JobId id;
  if (const auto* before = engine_->answer_to(uid, job.request)) {
    std::memcpy(&id.value, before->reply.data(), sizeof id.value);
  } else {
    const auto submitted = engine_->submit({Owner{uid, uid, "u"}, job.spec, job.payload}, now());
    if (!submitted) {
      // Before the nodes have joined a gang may look impossible, and a type or node be unknown; try
      // again later.
      const Errc code = submitted.error().code;
      if (code != Errc::never_fits && code != Errc::no_such_node)
        broken_ = submitted.error().message();
      return;
    }
    id = *submitted;
    std::string reply(reinterpret_cast<const char*>(&id.value), sizeof id.value);
    engine_->record_answer({.uid = uid,
                            .request = job.request,
                            .reply_type = 1,
                            .reply = std::move(reply),
                            .at = now().wall},
                           now());
  }
  answers_.push_back(answer(id));
  wake_controller();
}

void World::cancel_some() {
  if (!engine_) return;
  JobFilter filter;
  for (const auto& [id, job] : engine_->jobs())
    if (!is_final(job.state) && chance(0.2)) filter.jobs.push_back(id);
  if (filter.jobs.empty()) return;
  (void)engine_->cancel({Owner{1000, 1000, "u"}, false}, filter, chance(0.2) ? 10 : 0, now());
  wake_controller();
}

/// People hold jobs, put them back and suspend them; in the end they let all of them go on.
void World::change_some(bool is_last) {
  if (!engine_) {
    if (is_last) in(1 * s, [this] { change_some(true); });
    return;
  }
  using proto::JobVerb;
  const ctld::Caller caller{Owner{1000, 1000, "u"}, false, {}};
  std::vector<std::pair<JobId, JobVerb>> wanted;
  for (const auto& [id, job] : engine_->jobs()) {
    if (is_final(job.state)) continue;
    if (is_last) {
      wanted.push_back({id, JobVerb::release});
      wanted.push_back({id, JobVerb::resume});
    } else if (chance(0.3)) {
      wanted.push_back({id, static_cast<JobVerb>(random(1, 5))});
    }
  }
  for (const auto& [id, verb] : wanted) {
    proto::JobChangeRequest request;
    request.verb = verb;
    request.filter.jobs.push_back(id);
    (void)engine_->change(caller, request, now());
  }
  wake_controller();
}

int World::gpus_promised() const { return options_.node_count * options_.gpus_per_node / 3; }

/// An administrator: projects come, change and go, those without jobs; a department comes and goes
/// above the others.
void World::change_projects(int round) {
  if (!engine_) return;
  Org org;
  for (const char* const name : {"red", "blue"}) {
    Project& project = org.projects.emplace_back();
    project.name = name;
    project.quota.gpu_quota = gpus_promised() * gpu_unit;
    if (round % 3 == 1) project.department = "colours";
  }
  if (round % 2 == 1) org.projects[0].kinds = {{JobKind::train, {}, {"most"}}};
  if (round % 3 == 1) {
    Department& department = org.departments.emplace_back();
    department.name = "colours";
    department.quota.gpu_quota = 2 * gpus_promised() * gpu_unit;
  }
  for (int i = round % 2; i < round; ++i) {
    Project& project = org.projects.emplace_back();
    project.name = format("p{}", i);
    project.quota.gpu_quota = (round + i) * gpu_unit;
  }
  const auto outcome = engine_->apply_org({Owner{0, 0, "root"}, true}, std::move(org), false, {});
  if (!outcome) broken_ = outcome.error().message();
  wake_controller();
}

// ---- the controller's shell ----

/// Every other world fences lost nodes; the rest wait for them.
NodeSettings World::node_settings() const {
  NodeSettings settings;
  settings.heartbeat_ms = 5000;
  settings.lost_after_ms = 20'000;
  settings.fence_after_ms = options_.seed % 2 == 0 ? 40'000 : 0;
  settings.kill_wait_ms = 5000;
  return settings;
}

void World::start_controller() {
  ++controller_life_;
  ctld::EngineSettings settings;
  settings.node = node_settings();
  settings.restarts_max = 1000;
  settings.policy.least_loss = options_.seed % 3 == 0;
  settings.node_groups = {{"most", {}}};
  for (std::size_t i = 1; i < nodes_.size(); ++i)
    settings.node_groups[0].nodes.push_back(nodes_[i].name);
  settings.topology.levels = {"rack"};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t rack = rack_of(nodes_[i].name);
    if (settings.topology.places.size() == rack)
      settings.topology.places.push_back({{format("r{}", rack)}, {}});
    settings.topology.places.back().nodes.push_back(nodes_[i].name);
  }
  engine_ = std::make_unique<ctld::Engine>(settings, disk_.load(), now());
  pump_due_ = committing_ = false;
  answers_.clear();
  say("controller starts");
}

void World::crash_controller() {
  if (!engine_) return;
  ++counts_.controller_crashes;
  say("controller crashes");
  engine_.reset();
  ++controller_life_;
  answers_.clear();
  for (auto& [id, session] : sessions_) session.open_at_controller = false;
  // Each node notices at its own time.
  for (const auto& [id, session] : sessions_)
    if (session.open_at_node) in(random(0, 8 * s), [this, id = id] { cut_session(id); });
  in(random(100 * ms, 20 * s), [this] {
    if (!engine_) start_controller();
  });
}

void World::wake_controller() {
  if (pump_due_ || committing_) {
    pump_due_ = true;
    return;
  }
  pump_due_ = true;
  const auto life = controller_life_;
  in(random(0, 2 * ms), [this, life] {
    if (engine_ && life == controller_life_) pump();
  });
}

void World::pump() {
  if (committing_) return;
  pump_due_ = false;
  engine_->schedule(now());
  auto effects = std::make_shared<ctld::Effects>(engine_->take_effects());
  std::vector<std::function<void()>> answers;
  answers.swap(answers_);
  if (options_.mistake == Mistake::answer_before_commit) {
    for (auto& answer : answers) answer();
    answers.clear();
    send_orders(*effects);
    effects->orders.clear();
  }
  committing_ = true;
  const auto life = controller_life_;
  const bool fails = options_.faults && !faults_over_ && chance(0.002);
  in(random(1 * ms, 50 * ms), [this, life, effects, answers = std::move(answers), fails] {
    if (life != controller_life_) {
      // It crashed while the disk was at work: the rows may be there or not, all or none.
      if (chance(0.5)) disk_.commit(effects->rows);
      return;
    }
    committing_ = false;
    if (fails) {
      store_failed(answers);
      return;
    }
    commit_done(life, effects, answers);
  });
}

void World::commit_done(std::uint64_t, std::shared_ptr<ctld::Effects> effects,
                        std::vector<std::function<void()>> answers) {
  disk_.commit(effects->rows);
  for (const auto& row : effects->rows) {
    const auto* put = std::get_if<ctld::JobPut>(&row);
    if (put == nullptr) continue;
    const auto [known, is_new] = final_states_.try_emplace(put->job.id, put->job.state);
    if (!is_new && is_final(known->second) && known->second != put->job.state)
      broken_ = format("job {} ended twice: {} and {}", put->job.id.value, name_of(known->second),
                       name_of(put->job.state));
    if (put->job.restarts > 0 && put->job.state == JobState::pending)
      ++(put->job.last->displaced.empty() ? counts_.requeues : counts_.preemptions);
    known->second = put->job.state;
  }
  for (auto& answer : answers) answer();
  send_orders(*effects);
  for (const NodeId id : effects->silent)
    for (const auto& [session, state] : sessions_)
      if (nodes_[static_cast<std::size_t>(state.node)].id == id && state.open_at_controller)
        in(0, [this, session = session] { cut_session(session); });
  if (pump_due_) {
    pump_due_ = false;
    wake_controller();
  }
}

/// What ctld/controller.cpp does: back to what is committed, without its nodes.
void World::store_failed(std::vector<std::function<void()>>) {
  ++counts_.commits_failed;
  say("the store fails");
  for (const auto& [id, session] : sessions_)
    if (session.open_at_controller) in(0, [this, id = id] { cut_session(id); });
  start_controller();
}

void World::tick_controller() {
  in(1 * s, [this] { tick_controller(); });
  if (!engine_) return;
  engine_->tick(now());
  wake_controller();
}

void World::send_orders(const ctld::Effects& effects) {
  for (const auto& order : effects.orders) {
    if (const auto* end = std::get_if<proto::EndRun>(&order.message); end != nullptr && engine_) {
      const Job* job = engine_->find(end->run.job);
      if (job != nullptr && job->state == JobState::running) ++counts_.shrinks;
    }
    for (const auto& [id, session] : sessions_) {
      Node& node = nodes_[static_cast<std::size_t>(session.node)];
      if (!session.open_at_controller || session.joined != order.join || node.id != order.node)
        continue;
      const int index = session.node;
      deliver(id, true, [this, index, order] {
        Node& target = nodes_[static_cast<std::size_t>(index)];
        std::visit(
            [&target](const auto& message) {
              using Message = std::decay_t<decltype(message)>;
              constexpr bool is_of_runs = !std::is_same_v<Message, proto::GpuHealthTaken> &&
                                          !std::is_same_v<Message, proto::HealthOrder> &&
                                          !std::is_same_v<Message, proto::FetchImage>;
              if constexpr (is_of_runs) target.agent->apply(message);
            },
            order.message);
        carry_out(index);
      });
    }
  }
}

}  // namespace rota::sim
