// gpud/health/policy.cpp - the default table, after NVIDIA's catalogue of Xids.
#include "gpud/health/policy.h"

#include <array>
#include <optional>

#include "common/escape.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::gpud {
namespace {

using enum HealthAction;

constexpr std::uint32_t xid_max = 10'000;

constexpr std::array<std::string_view, 8> action_names{"log",     "job", "suspect", "idle",
                                                       "replace", "gpu", "node",    "recovery"};
constexpr std::array<std::string_view, symptom_count> symptom_names{
    "ecc_uncorrected", "hanging",        "hot",
    "link_down",       "lost",           "remap_failed",
    "remap_pending",   "reset_required", "retire_pending",
    "sram_exceeded",   "throttled",      "unkillable"};

/// A run of Xids with one action.
struct Range {
  std::uint32_t first;
  std::uint32_t last;
  HealthAction action;
};

/// Those up to 161 follow the immediate action of NVIDIA's catalogue; for later ones it has none
/// yet, and the driver's own names of them were our guide.
constexpr Range xid_table[] = {
    {8, 8, job},     {11, 11, job},        {13, 13, job},   {25, 25, job},   {31, 32, job},
    {37, 38, log},   {39, 41, job},        {43, 45, log},   {46, 46, gpu},   {48, 48, gpu},
    {54, 54, node},  {60, 60, job},        {62, 62, gpu},   {63, 63, idle},  {64, 64, gpu},
    {66, 67, log},   {68, 72, job},        {74, 74, gpu},   {75, 77, job},   {79, 79, node},
    {80, 80, job},   {82, 86, job},        {88, 89, job},   {92, 93, log},   {94, 94, job},
    {95, 95, gpu},   {96, 105, job},       {106, 107, log}, {109, 110, gpu}, {119, 120, gpu},
    {121, 121, log}, {126, 135, job},      {136, 136, gpu}, {137, 137, log}, {139, 139, job},
    {140, 140, gpu}, {141, 141, log},      {143, 143, gpu}, {144, 150, gpu}, {151, 151, node},
    {152, 153, log}, {154, 154, recovery}, {155, 156, gpu}, {157, 157, log}, {158, 158, gpu},
    {160, 161, log}, {162, 166, log},      {167, 169, gpu}, {170, 170, log}, {171, 173, gpu},
    {174, 174, job}, {175, 175, gpu},      {176, 176, log},
};

struct XidName {
  std::uint32_t xid;
  std::string_view text;
};
constexpr XidName xid_names[] = {
    {8, "GPU stopped processing"},
    {13, "graphics engine exception"},
    {31, "GPU memory page fault"},
    {32, "invalid or corrupted push buffer"},
    {43, "GPU stopped processing"},
    {44, "graphics engine fault during a context switch"},
    {45, "preemptive clean-up after an earlier error"},
    {46, "GPU stopped processing"},
    {48, "double bit ECC error"},
    {54, "power cable is not connected"},
    {62, "internal micro-controller halt"},
    {63, "a row of memory is to be remapped"},
    {64, "a row of memory could not be remapped"},
    {74, "NVLink error"},
    {79, "GPU has fallen off the bus"},
    {92, "high rate of single bit ECC errors"},
    {94, "contained ECC error"},
    {95, "uncontained ECC error"},
    {109, "context switch timeout"},
    {110, "security fault"},
    {119, "GSP does not answer"},
    {120, "GSP error"},
    {140, "unrecovered ECC error"},
    {143, "GPU initialisation error"},
    {151, "key rotation error"},
    {154, "recovery action changed"},
    {158, "fatal GPU timeout"},
};

std::optional<HealthAction> action_from(std::string_view text) {
  for (std::size_t i = 0; i < action_names.size(); ++i)
    if (action_names[i] == text) return static_cast<HealthAction>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name_of(HealthAction action) {
  return action_names[static_cast<std::size_t>(action)];
}

std::string_view name_of(Symptom symptom) {
  return symptom_names[static_cast<std::size_t>(symptom)];
}

std::string_view xid_text(std::uint32_t xid) {
  for (const XidName& name : xid_names)
    if (name.xid == xid) return name.text;
  return {};
}

HealthPolicy::HealthPolicy() {
  for (const Range& range : xid_table)
    for (std::uint32_t xid = range.first; xid <= range.last; ++xid) xids_[xid] = range.action;
  const auto set = [this](Symptom symptom, HealthAction action) {
    symptoms_[static_cast<std::size_t>(symptom)] = action;
  };
  set(Symptom::ecc_uncorrected, idle);
  set(Symptom::hanging, suspect);
  set(Symptom::hot, suspect);
  set(Symptom::link_down, idle);
  set(Symptom::lost, node);
  set(Symptom::remap_failed, replace);
  set(Symptom::remap_pending, idle);
  set(Symptom::reset_required, gpu);
  set(Symptom::retire_pending, idle);
  set(Symptom::sram_exceeded, replace);
  set(Symptom::throttled, suspect);
  set(Symptom::unkillable, idle);
}

HealthAction HealthPolicy::of_xid(std::uint32_t xid) const {
  const auto found = xids_.find(xid);
  return found == xids_.end() ? unknown_ : found->second;
}

HealthAction HealthPolicy::of_recovery(std::uint32_t action) const {
  switch (action) {
    case 0:  // none
    case 5:  // of the memory fabric between hosts
      return log;
    case 1:  // reset
      return gpu;
    case 3:  // drain what talks to other GPUs
    case 4:  // drain, then reset
      return idle;
    default:  // reboot, and what later drivers add to it
      return node;
  }
}

Result<void> HealthPolicy::change(std::string_view text) {
  while (!text.empty()) {
    const std::size_t start = std::min(text.find_first_not_of(" ,"), text.size());
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, std::min(text.find_first_of(" ,"), text.size()));
    text.remove_prefix(word.size());
    if (word.empty()) continue;
    const auto bad = [word](std::string_view what) {
      return Error{Errc::config_invalid,
                   format("node.health_policy: {} in {}", what, quoted(word))};
    };
    const std::size_t equal = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equal);
    const auto action = action_from(word.substr(std::min(equal + 1, word.size())));
    if (!action) return bad(format("no action of {}", fmt::join(action_names, ", ")));
    if (*action == recovery && name != "154") return bad("only Xid 154 names a recovery action");
    if (name == "unknown") {
      if (*action == recovery) return bad("no action");
      unknown_ = *action;
      continue;
    }
    std::size_t symptom = 0;
    while (symptom < symptom_count && symptom_names[symptom] != name) ++symptom;
    if (symptom < symptom_count) {
      if (*action == job) return bad("no job can be blamed for that");
      symptoms_[symptom] = *action;
      continue;
    }
    const auto xid = number_parse(name, xid_max);
    if (!xid)
      return bad(
          format("no Xid up to {}, 'unknown', or {}", xid_max, fmt::join(symptom_names, ", ")));
    xids_[static_cast<std::uint32_t>(*xid)] = *action;
  }
  return {};
}

}  // namespace rota::gpud
