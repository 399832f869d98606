// ctld/engine_images.cpp - the images of jobs: which one a name meant, and how far it has come.
#include <algorithm>

#include "common/config_data.h"
#include "common/escape.h"
#include "common/format.h"
#include "ctld/engine.h"

namespace rota::ctld {
namespace {

constexpr std::size_t digest_bytes_max = 256;
constexpr std::size_t progress_bytes_max = 256;
constexpr std::size_t images_max = 256;  // of one node
/// Of nodes that fetch the image of a job that waits. Its place may move with every plan.
constexpr std::size_t fetches_spare = 2;

const NodePart* part_of_run(const Job& job, RunId run, NodeId node) {
  const Placement& parts = job.last->placement;
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const NodePart& each) {
    return each.node == node && job.run(each) == run;
  });
  return part == parts.end() ? nullptr : &*part;
}

}  // namespace

/// The nodes read the same section of the same file; who is told now need not find out at night.
Result<void> Engine::check_volumes(const ContainerSpec& container, std::string_view project) const {
  for (const DataMount& data : container.data) {
    if (data_volume(settings_.data, data.name, project) != nullptr) continue;
    const auto known = data_volumes_of(settings_.data, project);
    return Error{Errc::job_invalid,
                 format("there is no volume {} for jobs of project {}; {}", quoted(data.name),
                        quoted(project),
                        known.empty() ? std::string("they have none")
                                      : format("they have {}", fmt::join(known, ", ")))};
  }
  return {};
}

/// A name such as pytorch:latest may come to mean another image at any time. What it meant when the
/// job first ran is on record, and all its later runs get that. Nodes of one run that looked at the
/// same moment can still have seen two (their controller was of an older release): then it starts
/// again, with the one on record.
void Engine::run_image(NodeId id, RunId run, const std::string& digest) {
  if (digest.empty() || digest.size() > digest_bytes_max) return;
  const auto at = jobs_.find(run.job);
  if (at == jobs_.end() || part_of_run(at->second, run, id) == nullptr) return;
  Job& job = at->second;
  const std::string& known = job.last->image_digest;
  if (known == digest) return;
  if (known.empty()) {
    job.last.edit().image_digest = digest;
    note(job);
    launch_others(job);
    return;
  }
  if (job.state != JobState::starting && job.state != JobState::running) return;
  job.last.edit().end = RunEnd{
      .cause = EndCause::launch_failed,
      .detail = format("its image changed while it started: {} has {}, the job began with {}",
                       nodes_.at(id).identity.name, escaped(digest), escaped(known)),
      .by_node = true};
  begin_ending(job);
  order_end_everywhere(job);
}

/// Of a run on several nodes the first finds out which image its name means, and the others get
/// that one. Whether they wait for it is read off the job, so that whoever was killed meanwhile
/// finds it as it was: the first has a part, has not started, and nothing is on record.
bool Engine::awaits_image(const Job& job, const NodePart& part) const {
  const LastRun& last = *job.last;
  if (job.spec.image.empty() || !last.image_digest.empty()) return false;
  const NodeId first = last.nodes.front();
  if (part.node == first) return false;
  const bool has_started = std::ranges::find(last.started, first) != last.started.end();
  return !has_started &&
         std::ranges::find(last.placement, first, &NodePart::node) != last.placement.end();
}

/// Tells its node to start it; or, while it has to wait for its image, to fetch that: what the name
/// means now is nearly always what the first node will say.
void Engine::launch(const Job& job, const NodePart& part) {
  if (awaits_image(job, part))
    order_fetch(job, part.node);
  else
    order_launch(job, part);
}

/// It is known which image the job has, or nobody will know. A node that has heard already says so.
void Engine::launch_others(const Job& job) {
  if (job.spec.image.empty() || job.last->nodes.size() == 1) return;
  if (job.state != JobState::starting && job.state != JobState::running) return;
  for (const NodePart& part : job.last->placement) {
    const auto& started = job.last->started;
    if (part.node != job.last->nodes.front() && !part.leaving &&
        std::ranges::find(started, part.node) == started.end())
      order_launch(job, part);
  }
}

void Engine::order_fetch(const Job& job, NodeId node) {
  if (!nodes_.at(node).has_images) return;
  proto::FetchImage fetch;
  fetch.job = job.array->of ? job.array->of : job.id;  // whose payload it is
  fetch.image = job.spec.image.str();
  fetch.digest = job.last->image_digest;
  fetch.owner = job.owner;
  order(node, std::move(fetch));
}

/// The image can come while the job waits for its GPUs. Each node is told once; one that has it
/// already does nothing.
void Engine::fetch_images(const sched::Expected& expected) {
  const Job& job = job_behind(expected.job);
  if (job.state != JobState::pending) return;
  std::set<NodeId>& told = fetched_[job.id];
  for (const NodeId node : expected.nodes) {
    if (told.size() >= 2 * expected.nodes.size() + fetches_spare) return;
    if (nodes_.at(node).has_images && told.insert(node).second) order_fetch(job, node);
  }
}

void Engine::node_images(NodeId id, std::vector<std::string> images) {
  Node& node = nodes_.at(id);
  node.has_images = true;
  if (images.size() > images_max) images.resize(images_max);
  std::erase_if(images, [](const std::string& image) {
    return image.size() > ContainerBounds::image_bytes_max;
  });
  scheduler_.set_images(id, images);
}

/// It tells again in its next session.
void Engine::forget_images(Node& node) {
  node.has_images = false;
  scheduler_.set_images(node.id, {});
  for (auto& [job, nodes] : fetched_) nodes.erase(node.id);
}

bool Engine::run_progress(NodeId id, RunId run, std::string text) {
  const auto at = jobs_.find(run.job);
  if (at == jobs_.end() || at->second.state != JobState::starting ||
      part_of_run(at->second, run, id) == nullptr)
    return false;
  if (text.size() > progress_bytes_max) text.resize(progress_bytes_max);
  std::string& known = progress_[run.job][id];
  if (known == text) return false;
  known = std::move(text);
  note(at->second);
  return true;
}

/// Of several nodes the first is shown, by its name: one line is enough to know what is waited for.
std::string Engine::progress_text(const Job& job) const {
  const auto found = progress_.find(job.id);
  if (found == progress_.end()) return {};
  for (const auto& [id, text] : found->second) {
    if (text.empty()) continue;
    return job.last->nodes.size() == 1
               ? escaped(text)
               : format("{}: {}", nodes_.at(id).identity.name, escaped(text));
  }
  return {};
}

}  // namespace rota::ctld
