// gpud/meter/keeper.cpp - feeds the meter, and writes down what it counted.
#include "gpud/meter/keeper.h"

#include <cstring>

#include "common/log.h"
#include "gpud/launch/file.h"
#include "gpud/launch/owner.h"
#include "proto/codec.h"

namespace rota::gpud {
namespace {

constexpr Duration save_period = std::chrono::seconds(30);
constexpr std::size_t file_bytes_max = 16 << 20;

struct UsageFile {
  std::vector<SavedUsage> runs;
  static auto fields(auto& m) { return std::tie(m.runs); }
};

}  // namespace

UsageKeeper::UsageKeeper(const std::string& spool_dir, std::string node_directory,
                         std::string step_program)
    : path_(spool_dir + "/usage"),
      node_directory_(std::move(node_directory)),
      step_program_(std::move(step_program)) {
  load();
}

void UsageKeeper::load() {
  const std::string bytes = file_read(path_, file_bytes_max);
  if (bytes.empty()) return;
  auto file = proto::decode<UsageFile>(bytes);
  if (!file) {
    log::warning("{} cannot be read, counting from nothing: {}", path_, file.error().message());
    return;
  }
  for (SavedUsage& saved : file->runs) known_[saved.run] = std::move(saved);
}

void UsageKeeper::save() {
  UsageFile file{.runs = meter_.all()};
  for (const auto& [run, saved] : known_) file.runs.push_back(saved);
  if (const int error = file_replace(path_, proto::encode(file)); error != 0) {
    if (!std::exchange(complained_, true))
      log::warning("what jobs do with their GPUs cannot be written to {}: {}", path_,
                   strerrordesc_np(error));
    return;
  }
  complained_ = false;
}

void UsageKeeper::begin(MeteredRun run, MonoTime now) {
  const auto saved = known_.find(run.id);
  meter_.begin(std::move(run), now, saved == known_.end() ? nullptr : &saved->second);
  if (saved != known_.end()) known_.erase(saved);
}

RunUsage UsageKeeper::end(RunId run) {
  if (const auto over = known_.find(run); over != known_.end()) return over->second.usage;
  SavedUsage saved = meter_.end(run);
  if (saved.usage.empty()) return {};
  unsaved_ = true;
  return (known_[run] = std::move(saved)).usage;
}

void UsageKeeper::drop(RunId run) { unsaved_ = known_.erase(run) > 0 || unsaved_; }

void UsageKeeper::forget_others(const std::set<RunId>& runs) {
  std::erase_if(known_, [&runs](const auto& each) { return !runs.contains(each.first); });
}

void UsageKeeper::take(const std::vector<GpuSample>& samples, MonoTime now) {
  // Asked once for each process, as long as it stays.
  std::map<std::uint32_t, RunId> owners;
  meter_.take(samples, [&](std::uint32_t pid) -> std::optional<RunId> {
    if (const auto again = owners.find(pid); again != owners.end()) return again->second;
    const auto before = owners_.find(pid);
    const auto run = before != owners_.end()
                         ? before->second
                         : owner_of_process(pid, node_directory_, step_program_).run;
    if (run) owners[pid] = *run;
    return run;
  });
  if (!samples.empty()) owners_ = std::move(owners);
  if (!unsaved_ && now - saved_at_ < save_period) return;
  unsaved_ = false;
  saved_at_ = now;
  save();
}

std::vector<proto::RunUsageReport> UsageKeeper::reports(std::size_t count_max) {
  std::vector<proto::RunUsageReport> some, before;
  for (SavedUsage& saved : meter_.all()) {
    if (saved.usage.empty()) continue;
    (saved.run > reported_last_ ? some : before).push_back({saved.run, saved.usage});
  }
  some.insert(some.end(), before.begin(), before.end());
  if (some.size() > count_max) some.resize(count_max);
  if (!some.empty()) reported_last_ = some.back().run;
  return some;
}

}  // namespace rota::gpud
