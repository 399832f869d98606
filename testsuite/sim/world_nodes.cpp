// testsuite/sim/world_nodes.cpp - the network, the nodes and what really runs on them.
#include <algorithm>

#include "common/format.h"
#include "sim/world.h"

namespace rota::sim {
namespace {
constexpr std::int64_t ms = 1000;
constexpr std::int64_t s = 1'000'000;
}  // namespace

/// Late, twice, out of order; a message that is lost takes its session with it, as TCP does.
void World::deliver(std::uint64_t id, bool to_node, std::function<void()> act) {
  Session& session = sessions_.at(id);
  if (session.doomed) return;
  const bool faulty = options_.faults && !faults_over_;
  if (faulty && chance(0.01)) {
    session.doomed = true;
    in(random(0, 25 * s), [this, id] { cut_session(id); });
    return;
  }
  const auto arrive = [this, id, to_node, act = std::move(act)] {
    const Session& now_session = sessions_.at(id);
    if (to_node ? !now_session.open_at_node : !now_session.open_at_controller) return;
    act();
  };
  const int copies = faulty && chance(0.05) ? 2 : 1;
  for (int i = 0; i < copies; ++i)
    in(faulty && chance(0.1) ? random(1 * ms, 5 * s) : random(100, 3 * ms), arrive);
}

void World::start_rgpud(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.agent) return;
  ++node.life;
  std::vector<gpud::Cpu> cpus;
  for (std::uint32_t i = 0; i < node.inventory.cpu_count; ++i) cpus.push_back({i, 0});
  node.agent = std::make_unique<gpud::Agent>(node.inventory, cpus);
  const std::string boot = format("boot{}", node.boots);
  for (auto& [run, record] : node.spool) {
    if (record.run.phase != proto::RunPhase::ended && record.boot_id != boot) {
      record.run.phase = proto::RunPhase::ended;
      record.run.end = {.cause = EndCause::node_failed, .detail = "restarted under the job"};
    }
    node.agent->adopt(record.run);
  }
  connect(index);
}

void World::crash_rgpud(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (!node.agent) return;
  ++counts_.node_crashes;
  say(format("rgpud of {} crashes", node.name));
  node.agent.reset();
  ++node.life;
  if (node.session != 0) {
    sessions_.at(node.session).open_at_node = false;
    in(random(0, 2 * s), [this, id = node.session] { cut_session(id); });
    node.session = 0;
  }
  in(random(100 * ms, 15 * s), [this, index] { start_rgpud(index); });
}

void World::reboot(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  ++counts_.reboots;
  say(format("{} reboots", node.name));
  crash_rgpud(index);
  for (auto& process : node.processes) process.alive = false;
  ++node.boots;
  if (chance(0.2)) {  // a new disk: the ends that only it knew are gone
    for (const auto& [run, record] : node.spool) finished_.erase(run.job);
    node.spool.clear();
  }
}

void World::connect(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (!node.agent || node.session != 0) return;
  if (!engine_ || node.cut_off) {
    in(random(200 * ms, 3 * s), [this, index, life = node.life] {
      if (nodes_[static_cast<std::size_t>(index)].life == life) connect(index);
    });
    return;
  }
  const std::uint64_t id = ++session_last_;
  node.session = id;
  sessions_[id] = {.node = index, .controller_life = controller_life_};
  ctld::NodeJoined event{{node.name, "addr", "1", format("boot{}", node.boots)},
                         node.inventory,
                         node.agent->connected()};
  const auto sent = time_us_;
  deliver(id, false, [this, id, index, event, sent] {
    Session& session = sessions_.at(id);
    if (!engine_ || session.controller_life != controller_life_ || session.joined != 0) return;
    Node& joining = nodes_[static_cast<std::size_t>(index)];
    joining.id = engine_->node_joined(event, now());
    session.joined = engine_->nodes().at(joining.id).joins;
    close_others(id);
    const NodeSettings settings = engine_->settings().node;
    answers_.push_back([this, id, index, settings, sent] {
      deliver(id, true, [this, index, settings, sent] {
        nodes_[static_cast<std::size_t>(index)].agent->welcomed(settings);
        in_contact(index, sent);
      });
    });
    wake_controller();
  });
}

/// A node has one link: a hello closes the one before it, even if it was sent later and overtook
/// it.
void World::close_others(std::uint64_t id) {
  for (auto& [other, state] : sessions_) {
    if (other == id || state.node != sessions_.at(id).node || state.joined == 0) continue;
    if (!state.open_at_controller || state.controller_life != controller_life_) continue;
    state.open_at_controller = false;
    in(random(1 * ms, 1 * s), [this, other = other] { cut_session(other); });
  }
}

void World::cut_session(std::uint64_t id) {
  Session& session = sessions_.at(id);
  const int index = session.node;
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (session.open_at_controller) {
    session.open_at_controller = false;
    bool replaced = false;
    for (const auto& [other, state] : sessions_)
      replaced |= state.node == index && state.joined > session.joined && state.open_at_controller;
    if (engine_ && session.joined != 0 && session.controller_life == controller_life_ &&
        !replaced && engine_->nodes().contains(node.id)) {
      engine_->node_left(node.id, "cut", now());
      if (options_.mistake == Mistake::requeue_at_once) {
        std::vector<JobId> held;
        for (const auto& [job, since] : engine_->nodes().at(node.id).jobs) held.push_back(job);
        for (const JobId id_held : held) {
          const Job& job = *engine_->find(id_held);
          const Placement placement = job.last->placement;
          for (const NodePart& part : placement)
            if (part.node == node.id)
              engine_->run_ended(node.id, job.run(part), {.cause = EndCause::node_failed}, {},
                                 now());
        }
      }
      wake_controller();
    }
  }
  if (session.open_at_node) {
    session.open_at_node = false;
    ++counts_.sessions_cut;
    if (node.agent && node.session == id) {
      node.session = 0;
      in(random(50 * ms, 2 * s), [this, index, life = node.life] {
        if (nodes_[static_cast<std::size_t>(index)].life == life) connect(index);
      });
    }
  }
}

void World::tick_node(int index) {
  in(1 * s, [this, index] { tick_node(index); });
  Node& node = nodes_[static_cast<std::size_t>(index)];
  fence(index);
  if (!node.agent || node.session == 0 || time_us_ % (5 * s) >= 1 * s) return;
  const auto sent = time_us_;
  deliver(node.session, false, [this, index, id = node.session, sent] {
    const Session& session = sessions_.at(id);
    if (!engine_ || session.joined == 0 || session.controller_life != controller_life_) return;
    engine_->node_heard(nodes_[static_cast<std::size_t>(index)].id, {}, now());
    deliver(id, true, [this, index, sent] { in_contact(index, sent); });
  });
}

void World::in_contact(int index, std::int64_t heartbeat_sent) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  node.contact_us = std::max(node.contact_us, heartbeat_sent);
}

/// What every rstepd does for itself: out of contact for too long, it ends its run.
void World::fence(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  const NodeSettings settings = node_settings();
  if (settings.fence_after_ms == 0) return;
  if (time_us_ - node.contact_us < (settings.lost_after_ms + settings.fence_after_ms) * ms) return;
  for (auto& process : node.processes) {
    if (!process.alive || process.end_ordered) continue;
    process.end_ordered = true;
    in(random(1 * ms, settings.kill_wait_ms * ms), [this, index, run = process.run] {
      process_ends(index, run, {.cause = EndCause::cancelled, .detail = "out of contact"});
    });
  }
}

/// What rgpud's shell does with the agent's effects, in order; it may die between any two of them.
void World::carry_out(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  const auto life = node.life;
  for (auto& effect : node.agent->take_effects()) {
    if (options_.faults && !faults_over_ && chance(0.002)) crash_rgpud(index);
    if (node.life != life) return;
    if (const auto* step = std::get_if<gpud::StartStep>(&effect)) {
      start_processes(index, *step);
    } else if (const auto* order = std::get_if<gpud::EndStep>(&effect)) {
      for (auto& process : node.processes) {
        if (process.run != order->order.run || !process.alive || process.end_ordered) continue;
        process.end_ordered = true;
        in(random(1 * ms, 5 * s), [this, index, run = process.run] {
          process_ends(index, run, {.cause = EndCause::cancelled, .exit_signal = 15});
        });
      }
    } else if (const auto* drop = std::get_if<gpud::DropStep>(&effect)) {
      node.spool.erase(drop->run);
    } else if (auto* message = std::get_if<gpud::ToController>(&effect)) {
      to_controller(index, std::move(*message));
    }
  }
}

void World::to_controller(int index, gpud::ToController message) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.session == 0) return;
  const auto* ended = std::get_if<proto::RunEnded>(&message);
  const RunId run = ended != nullptr ? ended->run : RunId{};
  deliver(node.session, false, [this, id = node.session, message = std::move(message)] {
    controller_hears(id, message);
  });
  if (options_.mistake == Mistake::forget_without_record && ended != nullptr) {
    node.agent->apply(proto::ForgetRun{run});
    carry_out(index);
  }
}

void World::controller_hears(std::uint64_t id, const gpud::ToController& message) {
  const Session& session = sessions_.at(id);
  if (!engine_ || session.controller_life != controller_life_ || !session.open_at_controller)
    return;
  if (session.joined == 0) {  // nothing overtakes the hello that opens a session
    in(10 * ms, [this, id, message] { controller_hears(id, message); });
    return;
  }
  const NodeId from = nodes_[static_cast<std::size_t>(session.node)].id;
  if (const auto* started = std::get_if<proto::RunStarted>(&message))
    engine_->run_started(from, started->run, started->start_time, now());
  if (const auto* over = std::get_if<proto::RunEnded>(&message))
    engine_->run_ended(from, over->run, over->end, over->start_time, now());
  wake_controller();
}

void World::start_processes(int index, const gpud::StartStep& step) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  const RunId run = step.launch.run;
  SpoolRecord record;
  record.run.launch = step.launch;
  record.run.cpus = step.cpus;
  record.boot_id = format("boot{}", node.boots);
  node.spool[run] = record;
  const auto [where, is_new] = starts_.insert({run, index});
  if (!is_new && options_.mistake == Mistake::none)
    broken_ =
        format("job {} restart {} was started twice on {}", run.job.value, run.restart, node.name);
  // A fenced node may have finished what was given up; otherwise no end is ever lost.
  // Nor is it started again, unless it wished so.
  if (finished_.contains(run.job) && node_settings().fence_after_ms == 0 &&
      step.launch.spec.rules->retries == 0)
    broken_ = format("job {} had ended by itself and was started again", run.job.value);
  Process process;
  process.run = run;
  const std::vector<MigSlot>& slots = step.launch.part.mig;
  for (std::size_t i = 0; i < slots.size(); ++i)
    process.cuts.emplace_back(step.launch.gpu_uuids.at(i), mask_of(slots[i]));
  if (slots.empty())
    process.gpus.insert(step.launch.gpu_uuids.begin(), step.launch.gpu_uuids.end());
  process.gpu_mib = gpu_mib_of(step.launch.part);
  node.processes.push_back(process);
  if (options_.mistake == Mistake::launch_twice && chance(0.05)) node.processes.push_back(process);
  if (run.growth > 0) ++counts_.growths;
  say(format("{} starts job {} restart {} growth {}", node.name, run.job.value, run.restart,
             run.growth));
  if (chance(0.02)) {
    const bool by_node = chance(0.7);
    in(random(1 * ms, 1 * s), [this, index, run, by_node] {
      RunEnd end{.cause = EndCause::launch_failed, .detail = "no such file"};
      end.by_node = by_node;
      process_ends(index, run, end);
    });
    return;
  }
  const auto boots = node.boots;
  in(random(1 * ms, 200 * ms), [this, index, run, boots] {
    Node& there = nodes_[static_cast<std::size_t>(index)];
    if (there.boots != boots) return;
    for (auto& mine : there.processes)
      if (mine.run == run && mine.alive) mine.started = true;
    if (const auto kept = there.spool.find(run);
        kept != there.spool.end() && kept->second.run.phase == proto::RunPhase::starting) {
      kept->second.run.phase = proto::RunPhase::running;
      kept->second.run.start_time = now().wall;
    }
    if (!there.agent) return;
    there.agent->started(run, now().wall);
    carry_out(index);
  });
  const JobId array = step.launch.array.of;
  const auto payload = disk_.payloads().find(array ? array : run.job);
  if (payload == disk_.payloads().end()) {
    broken_ = format("job {} runs and is not in the store", run.job.value);
    return;
  }
  // In batch mode only the first node's part ends by itself.
  const bool holds_only = payload->second.mode == LaunchMode::batch && step.launch.node_index != 0;
  if (holds_only) return;
  in(random(300 * ms, 30 * s), [this, index, run] {
    RunEnd end;
    if (chance(0.1)) end.exit_code = 1;
    process_ends(index, run, end);
  });
}

void World::process_ends(int index, RunId run, RunEnd end) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  bool any = false;
  for (auto& process : node.processes) {
    if (process.run != run || !process.alive) continue;
    process.alive = false;
    any = true;
  }
  if (!any) return;
  if (const auto kept = node.spool.find(run); kept != node.spool.end()) {
    kept->second.run.phase = proto::RunPhase::ended;
    kept->second.run.end = end;
    const proto::LaunchRun& launch = kept->second.run.launch;
    if (end.cause == EndCause::exited && launch.nodes.size() == 1 && !launch.spec.is_elastic())
      finished_.insert(run.job);
  }
  if (!node.agent) return;
  node.agent->ended(run, end);
  carry_out(index);
}

void World::plan_faults() {
  const auto some = [this](std::int64_t most, auto act) {
    for (auto i = random(0, most); i > 0; --i) in(random(5 * s, 290 * s), act);
  };
  const auto any_node = [this] { return static_cast<int>(random(0, options_.node_count - 1)); };
  some(4, [this] { crash_controller(); });
  some(6, [this, any_node] { crash_rgpud(any_node()); });
  some(3, [this, any_node] { reboot(any_node()); });
  some(6, [this, any_node] {  // the network to one node goes away for a while
    const int index = any_node();
    Node& node = nodes_[static_cast<std::size_t>(index)];
    node.cut_off = true;
    say(format("{} is cut off", node.name));
    if (node.session != 0) {
      sessions_.at(node.session).doomed = true;
      in(random(0, 20 * s), [this, id = node.session] { cut_session(id); });
    }
    in(random(1 * s, 200 * s),
       [this, index] { nodes_[static_cast<std::size_t>(index)].cut_off = false; });
  });
  some(2, [this] { wall_offset_us_ += random(-7200, 7200) * s; });  // somebody sets the clock
}

}  // namespace rota::sim
