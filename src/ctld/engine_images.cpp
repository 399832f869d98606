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
/// same moment can still have seen two: then it starts again, with the one on record.
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
