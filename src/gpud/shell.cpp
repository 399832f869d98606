// gpud/shell.cpp - events to the Agent, its effects to the steps and the controller.
#include "gpud/shell.h"

#include <unistd.h>

#include <algorithm>
#include <variant>

#include "common/clock.h"
#include "common/format.h"
#include "common/log.h"
#include "gpud/launch/fence.h"

namespace rota::gpud {
namespace {

/// One sentence for people; it travels in a small message and stays in the store.
constexpr std::size_t detail_bytes_max = 4096;
/// A container that its engine made only after everybody had gone is found by then.
constexpr Duration sweep_period = std::chrono::minutes(5);
constexpr Duration sweep_pause_min = std::chrono::seconds(1);  // doubled while it fails
/// A heartbeat is a small message.
constexpr std::size_t usage_reports_max = 256;

MpsKeeper::Options mps_options(const Shell::Options& options, const std::string& spool_dir) {
  MpsKeeper::Options mps;
  mps.directory = spool_dir + "/mps";
  mps.program = options.mps_program;
  for (const Gpu& gpu : options.inventory.gpus) mps.gpus.push_back(gpu.uuid);
  return mps;
}

template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;  // clang 14 does not find it by itself

}  // namespace

Shell::Shell(boost::asio::any_io_executor executor, Options options, Spool spool, NodeFacts facts,
             std::string step_program)
    : executor_(executor),
      options_(std::move(options)),
      spool_dir_(spool.directory()),
      agent_(options_.inventory, options_.cpus),
      job_map_(options_.dcgm_dir, options_.jobstats_dir, options_.inventory),
      usage_(spool_dir_, facts.cgroups.node_directory, step_program),
      containers_(facts.containers),
      steps_(executor, std::move(spool), std::move(facts), std::move(step_program), step_events()),
      mps_(executor, mps_options(options_, spool_dir_),
           [this](UserOrder order) { return steps_.run_as(std::move(order)); }),
      images_(executor, image_options(),
              [this](RunId run, std::string text) {
                if (!controller_) return;
                proto::RunProgress progress;
                progress.run = run;
                progress.text = std::move(text);
                controller_->send(progress);
              }),
      prologs_(executor, options_.prologs,
               [this](const std::string& program, const Error& why) {
                 if (health_) health_->program_failed(program, why);
               }),
      timer_(executor) {
  images_.names_changed = [this] { tell_images(); };
}

ImageKeeper::Options Shell::image_options() {
  ImageKeeper::Options images = options_.images;
  images.engines.run_as = [this](UserOrder order) { return steps_.run_as(std::move(order)); };
  return images;
}

Steps::Events Shell::step_events() {
  Steps::Events events;
  events.started = [this](RunId run, WallTime start_time, const std::string& image_digest) {
    agent_.started(run, start_time, image_digest);
    measure(run);
    carry_out();
    runs_changed();
  };
  events.ended = [this](RunId run, RunEnd end) {
    if (end.detail.size() > detail_bytes_max) end.detail.resize(detail_bytes_max);
    end.usage = usage_.end(run);
    close_gpus_of(run, end);
    prologs_.after(run, end, [this, run, end] { ended(run, end); });
  };
  events.gpu_holders = [this] { return gpu_holders ? gpu_holders() : std::vector<GpuHolders>{}; };
  events.gpu_held = [this](MonoTime now) { return usage_.held(now); };
  events.before_start = [this](const proto::LaunchRun& launch, Prologs::Answer done) {
    before_start(launch, std::move(done));
  };
  events.prepare = [this](const proto::LaunchRun& launch, const Steps::Events::Groups& groups,
                          Steps::Events::Prepared prepared) {
    prepare(launch, groups, std::move(prepared));
  };
  events.container_lost = [this] { sweep_containers(); };
  events.release = [this](RunId run) { release(run); };
  return events;
}

/// First whether this node takes jobs at all, then what it does for this one. `launch` lives until
/// `done` was called.
void Shell::before_start(const proto::LaunchRun& launch, Prologs::Answer done) {
  const auto begin = [this, &launch, done = std::move(done)](Result<void> checked) {
    // One that was ended meanwhile has no epilog to come, and needs no prolog.
    if (!checked || !steps_.is_preparing(launch.run)) return done(std::move(checked));
    prologs_.before(launch, agent_.settings().slurm_environment, done);
  };
  if (!health_) return begin({});
  health_->check_start(begin);
}

void Shell::release(RunId run) {
  images_.release(run);
  mps_.release(run);
  if (options_.mig != nullptr) options_.mig->release(run, mono_now());
}

/// Nothing of it is left here: others may have its place.
void Shell::ended(RunId run, RunEnd end) {
  agent_.ended(run, std::move(end));
  carry_out();
  runs_changed();
  if (on_run_ended) on_run_ended(run);
}

/// Epilogs that an rgpud before us owed. Runs of which there is no record were about to start.
void Shell::run_left_over(const std::map<RunId, RunEnd>& ended, const std::set<RunId>& adopted) {
  for (const auto& [id, end] : ended)
    prologs_.after(id, end, [this, id = id, end = end] {
      release(id);
      this->ended(id, end);
    });
  for (const RunId id : prologs_.left_over())
    if (!adopted.contains(id)) prologs_.after(id, {}, [] {});
}

/// First what the GPUs are, then who serves them. `launch` lives until `prepared` was called.
void Shell::prepare(const proto::LaunchRun& launch, const Steps::Events::Groups& groups,
                    Steps::Events::Prepared prepared) {
  if (options_.mig == nullptr) return prepare_mps(launch, groups, {}, prepared);
  options_.mig->prepare(
      launch.run, launch.part.mig, launch.gpu_uuids, mono_now(),
      [this, &launch, groups, prepared](Result<std::vector<MigDevice>> instances) {
        if (!instances) return prepared(std::move(instances).error());
        Provision provision;
        provision.instances = *std::move(instances);
        prepare_mps(launch, groups, std::move(provision), prepared);
      });
}

void Shell::prepare_mps(const proto::LaunchRun& launch, const Steps::Events::Groups& groups,
                        Provision provision, const Steps::Events::Prepared& prepared) {
  if (!launch.spec.task.uses_mps() || launch.gpu_uuids.empty())
    return prepare_image(launch, std::move(provision), prepared);
  mps_.prepare(launch.run, launch.owner, groups, launch.gpu_uuids,
               [this, &launch, provision, prepared](Result<std::vector<MpsAccess>> mps) mutable {
                 if (!mps) return prepared(std::move(mps).error());
                 provision.mps = *std::move(mps);
                 prepare_image(launch, std::move(provision), prepared);
               });
}

void Shell::prepare_image(const proto::LaunchRun& launch, Provision provision,
                          const Steps::Events::Prepared& prepared) {
  const auto kind = container_kind(launch, containers_);
  if (!kind) return prepared(kind.error());
  if (*kind == ContainerKind::none) return prepared(std::move(provision));
  if (launch.payload.container.name.empty())
    return pull_image(launch, *kind, std::move(provision), prepared);
  prepare_named(launch, *kind, std::move(provision), prepared);
}

/// What the owner has kept here under that name; else the image, for the first time.
void Shell::prepare_named(const proto::LaunchRun& launch, ContainerKind kind, Provision provision,
                          const Steps::Events::Prepared& prepared) {
  const auto kept = kept_name(launch.payload.container.name);
  if (!kept) return prepared(kept.error());
  const auto begin_anew = [this, &launch, kind, provision, prepared, name = kept->name] {
    if (!launch.spec.image.empty()) return pull_image(launch, kind, provision, prepared);
    prepared(
        Error{Errc::launch_failed, format("no container '{}' of {} is kept on this node, and the "
                                          "job has no image to begin with",
                                          name, launch.owner.user)});
  };
  if (kind == ContainerKind::enroot) {
    const std::string root =
        format("{}/data/{}/{}", containers_.enroot_dir, launch.owner.uid, kept_root(kept->name));
    const bool is_there = ::access(root.c_str(), F_OK) == 0;
    if (kept->fresh || !is_there) return begin_anew();
    return prepared(std::move(provision));
  }
  if (kept->fresh) return begin_anew();
  ImageKeeper::Wish wish;
  wish.kind = kind;
  wish.image = kept_image(kind, launch.owner.uid, kept->name);
  wish.pull = PullPolicy::never;
  images_.prepare(launch.run, wish,
                  [provision, prepared, begin_anew](Result<ImageFacts> image) mutable {
                    if (!image) return begin_anew();
                    provision.image = *std::move(image);
                    provision.image.digest.clear();  // it is of this node alone
                    // What its engine was told of the run before.
                    std::erase(provision.image.environment, "NVIDIA_VISIBLE_DEVICES=void");
                    prepared(std::move(provision));
                  });
}

void Shell::pull_image(const proto::LaunchRun& launch, ContainerKind kind, Provision provision,
                       const Steps::Events::Prepared& prepared) {
  if (is_image_file(launch, kind)) {
    provision.image.id = file_image(kind, container_name(launch.run, containers_));
    return prepared(std::move(provision));
  }
  const ImageKeeper::Wish wish{kind,
                               launch.spec.image,
                               launch.image_digest,
                               launch.payload.container.pull,
                               launch.owner.uid,
                               launch.login};
  // Of a run on several nodes, the others wait to hear from the first which image its name means.
  const bool is_waited_for = launch.nodes.size() > 1 && launch.image_digest.empty();
  const RunId run = launch.run;
  images_.prepare(run, wish, [=, this](Result<ImageFacts> image) mutable {
    if (!image) return prepared(std::move(image).error());
    if (is_waited_for && controller_) {
      proto::RunProgress progress;
      progress.run = run;
      progress.image_digest = image->digest;
      controller_->send(progress);
    }
    provision.image = *std::move(image);
    prepared(std::move(provision));
  });
}

/// Nothing depends on it: the launch will say what is wrong with the image.
Result<void> Shell::fetch_image(const proto::Frame& frame) {
  ROTA_TRY(const auto order, proto::decode<proto::FetchImage>(frame.body));
  const auto kind = container_kind(order.runtime, containers_);
  if (!kind || *kind == ContainerKind::none || !validate_image(order.image)) return {};
  if (order.image.starts_with('/')) return {};  // a file of the owner's is looked at by its run
  images_.prefetch(
      {*kind, order.image, order.digest, PullPolicy::missing, order.owner.uid, order.login});
  return {};
}

void Shell::tell_images() {
  if (!controller_ || !images_.has_engines()) return;
  proto::NodeImages images;
  images.images = images_.names();
  controller_->send(images);
}

void Shell::sweep_containers() {
  next_sweep_ = mono_now() + sweep_period;
  images_.tidy();
  images_.sweep([this](const std::string& name) { return steps_.has_container(name); },
                [this](bool is_done) {
                  sweep_pause_ = is_done
                                     ? Duration::zero()
                                     : std::clamp(2 * sweep_pause_, sweep_pause_min, sweep_period);
                  if (!is_done) next_sweep_ = std::min(next_sweep_, mono_now() + sweep_pause_);
                });
}

/// The daemons of runs that go on.
void Shell::settle_mps() {
  std::vector<MpsKeeper::Living> living;
  for (const auto& [id, run] : agent_.runs())
    if (run.phase != proto::RunPhase::ended && run.launch.spec.task.uses_mps())
      living.push_back({id, run.launch.owner, run.launch.gpu_uuids});
  mps_.settle(living);
}

/// What the controller hears of our GPUs: without what was left on them, with what others have.
void Shell::settle_instances() {
  if (options_.mig == nullptr) return;
  std::vector<MigKeeper::Living> living;
  for (const auto& [id, run] : agent_.runs())
    if (run.phase != proto::RunPhase::ended && !run.launch.part.mig.empty())
      living.push_back({id, run.launch.part.mig, run.launch.gpu_uuids});
  const auto geometries = options_.mig->settle(living, options_.mig_seen, mono_now());
  for (std::size_t i = 0; i < geometries.size() && i < options_.inventory.gpus.size(); ++i)
    options_.inventory.gpus[i].mig = geometries[i];
}

Result<void> Shell::start() {
  std::size_t running = 0;
  std::set<RunId> adopted;
  std::map<RunId, RunEnd> without_epilog;  // and otherwise ended
  for (AdoptedRun& run : steps_.adopt()) {
    const RunId id = run.launch.run;
    const bool is_over = run.phase == proto::RunPhase::ended;
    running += is_over ? 0 : 1;
    if (is_over) run.end.usage = usage_.end(id);
    if (is_over && prologs_.owes_epilog(id)) {
      without_epilog.emplace(id, std::exchange(run.end, {}));
      run.phase = run.start_time ? proto::RunPhase::running : proto::RunPhase::starting;
    }
    if (!is_over && !run.launch.spec.image.empty())
      images_.adopt(id, run.launch.spec.image.str(), run.image_digest);
    agent_.adopt(std::move(run));
    if (!is_over) measure(id);
    adopted.insert(id);
  }
  usage_.forget_others(adopted);
  if (!agent_.runs().empty())
    log::info("found {} runs in the spool, {} of them not ended", agent_.runs().size(), running);
  settle_instances();
  settle_mps();
  job_map_.update(job_holders(agent_.runs(), instances_of()));
  ROTA_CHECK(steps_.open());
  sweep_containers();
  if (health_) health_->start(agent_.runs());
  for (const auto& [id, run] : agent_.runs())
    if (run.phase == proto::RunPhase::ended) close_gpus_of(id, run.end);
  run_left_over(without_epilog, adopted);
  tick();
  return {};
}

void Shell::watch_health(Monitor::Options options, std::function<void()> was_reset) {
  Monitor::Events events;
  events.end_run = [this](RunId run, EndCause cause, std::string detail) {
    agent_.condemn(run, cause, std::move(detail));
    carry_out();
  };
  events.report = [this](const proto::GpuHealthReport& report) {
    if (controller_) controller_->send(report);
  };
  events.was_reset = std::move(was_reset);
  events.instances_of = instances_of();
  health_.emplace(executor_, std::move(options), std::move(events));
}

void Shell::stop() {
  prologs_.stop();
  if (health_) health_->stop();
}

/// None where no GPU is cut.
std::function<std::vector<MigDevice>(RunId)> Shell::instances_of() const {
  if (options_.mig == nullptr) return nullptr;
  return [this](RunId run) { return options_.mig->devices_of(run); };
}

/// Before anybody hears that they are free.
void Shell::close_gpus_of(RunId id, const RunEnd& end) {
  const auto run = agent_.runs().find(id);
  if (health_ && run != agent_.runs().end())
    health_->left_behind(run->second.launch.gpu_uuids, end.left);
}

void Shell::runs_changed() {
  job_map_.update(job_holders(agent_.runs(), instances_of()));
  if (health_) health_->runs_changed(agent_.runs());
}

void Shell::tick() {
  timer_.expires_after(std::chrono::seconds(1));
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    take_samples();
    steps_.tick(mono_now());
    if (mono_now() >= next_sweep_) sweep_containers();
    if (options_.mig != nullptr) options_.mig->tick(mono_now());
    tick();
  });
}

/// A run that has started.
void Shell::measure(RunId id) {
  const auto run = agent_.runs().find(id);
  if (run == agent_.runs().end() || run->second.phase != proto::RunPhase::running) return;
  const proto::LaunchRun& launch = run->second.launch;
  usage_.begin({id, metered_gpus(launch.part, launch.gpu_uuids)}, mono_now());
}

void Shell::take_samples() {
  if (!usage_.is_needed()) return;
  auto samples = gpu_samples ? gpu_samples(usage_.shared()) : std::vector<GpuSample>{};
  // What clients of MPS do a driver may tell as done by their server, which is no run's: then all
  // who are on the GPU do it, and none of them is idle.
  for (GpuSample& sample : samples)
    if (mps_.serves(sample.uuid)) sample.loads.reset();
  usage_.take(samples, mono_now());
}

std::vector<proto::RunUsageReport> Shell::usage_reports() {
  return usage_.reports(usage_reports_max);
}

void Shell::connected(std::shared_ptr<net::Connection> controller) {
  controller_ = std::move(controller);
  proto::NodeHello hello;
  hello.identity = options_.identity;
  hello.inventory = options_.inventory;
  hello.runs = agent_.connected();
  hello.ticket_key = options_.ticket_key;
  if (health_) {
    proto::GpuHealthReport report = health_->report();
    hello.health = std::move(report.gpus);
    hello.node_reason = std::move(report.node_reason);
  }
  controller_->send(hello, 1);
  carry_out();
}

void Shell::welcomed(const proto::NodeWelcome& welcome) {
  agent_.welcomed(welcome.settings);
  usage_.set_idle_window(std::chrono::milliseconds(welcome.settings.idle_window_ms));
  // With what the last session has not taken.
  if (health_ && controller_) controller_->send(health_->report());
  tell_images();
  carry_out();
}

void Shell::disconnected() { controller_.reset(); }

void Shell::in_contact(MonoTime sent) {
  const NodeSettings& settings = agent_.settings();
  const auto lease = std::chrono::milliseconds(settings.lost_after_ms + settings.fence_after_ms);
  write_fence(spool_dir_,
              settings.fence_after_ms == 0 ? std::nullopt : std::optional<MonoTime>(sent + lease));
}

Result<void> Shell::received(const proto::Frame& frame) {
  ROTA_TRY(const bool is_of_run, agent_.take(frame));
  if (is_of_run) {
    carry_out();
    // From its launch on a run has its GPUs, whatever becomes of it.
    if (health_ && frame.type == proto::LaunchRun::number) health_->runs_changed(agent_.runs());
    return {};
  }
  switch (frame.type) {
    case proto::FetchImage::number:
      return fetch_image(frame);
    case proto::GpuHealthTaken::number: {
      ROTA_TRY(const auto taken, proto::decode<proto::GpuHealthTaken>(frame.body));
      if (health_) health_->taken(taken.sequence);
      return {};
    }
    case proto::HealthOrder::number: {
      ROTA_TRY(const auto order, proto::decode<proto::HealthOrder>(frame.body));
      if (health_) health_->retry(order.uuid);
      return {};
    }
    default:
      return Error{Errc::protocol_mismatch,
                   format("the controller sent a message of type {}", frame.type)};
  }
}

void Shell::carry_out() {
  for (AgentEffect& effect : agent_.take_effects()) carry_out_one(effect);
}

void Shell::carry_out_one(AgentEffect& effect) {
  std::visit(overloaded{
                 [this](StartStep& step) { steps_.start(std::move(step), agent_.settings()); },
                 [this](const EndStep& step) { steps_.end(step); },
                 [this](const SignalStep& step) { steps_.signal(step.run, step.signal); },
                 [this](const TellStep& step) { steps_.tell(step.run, step.text); },
                 [this](const LimitStep& step) { steps_.limit(step.run, step.seconds); },
                 [this](const DropStep& step) {
                   usage_.drop(step.run);
                   steps_.drop(step.run);
                 },
                 [this](const ToController& message) {
                   if (!controller_) return;
                   std::visit([this](const auto& report) { controller_->send(report); }, message);
                 },
             },
             effect);
}

std::size_t Shell::running_count() const {
  std::size_t count = 0;
  for (const auto& [id, run] : agent_.runs()) count += run.phase != proto::RunPhase::ended ? 1 : 0;
  return count;
}

bool Shell::is_over(RunId run) const {
  const auto found = agent_.runs().find(run);
  return found == agent_.runs().end() || found->second.phase == proto::RunPhase::ended;
}

}  // namespace rota::gpud
