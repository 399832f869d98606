// commands/share_view.cpp - rows and JSON objects of shares.
#include "commands/share_view.h"

#include <map>

#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

std::string_view name_of(ShareKind kind) {
  switch (kind) {
    case ShareKind::department:
      return "department";
    case ShareKind::project:
      return "project";
    case ShareKind::user:
      return "user";
  }
  return "unknown";
}

std::string decimal(std::int64_t units) { return decimal_format(units, 6); }
std::string decimal(const std::optional<std::int64_t>& units) {
  return units ? decimal(*units) : "-";
}

void add_row(Table& table, std::string_view name, std::string_view kind, const ShareView& share,
             bool has_quota, bool has_weight) {
  table.add(name);
  table.add(kind);
  table.add(has_quota ? decimal(share.quota) : "-");
  table.add(decimal(share.fair_share));
  table.add(decimal(share.held_in_quota));
  table.add(decimal(share.held_over_quota),
            share.held_over_quota > 0 ? Colour::waiting : Colour::none);
  table.add(decimal(share.waiting));
  table.add(has_weight ? decimal(share.weight) : "-");
  table.add(decimal(share.usage));
  table.add(format("{}/{}", share.jobs_running, share.jobs_waiting));
}

/// How deep each line stands, from 0.
std::vector<std::size_t> depths_of(const std::vector<ShareView>& shares) {
  std::map<std::string_view, std::size_t> departments, projects;
  std::vector<std::size_t> depths;
  for (const ShareView& share : shares) {
    const auto& above = share.kind == ShareKind::user ? projects : departments;
    const auto parent = above.find(share.parent);
    const std::size_t depth = parent == above.end() ? 0 : parent->second + 1;
    if (share.kind == ShareKind::department) departments[share.name] = depth;
    if (share.kind == ShareKind::project) projects[share.name] = depth;
    depths.push_back(depth);
  }
  return depths;
}

}  // namespace

ShareView total_of(const std::vector<ShareView>& shares) {
  ShareView total;
  for (const ShareView& share : shares) {
    if (share.kind == ShareKind::user || !share.parent.empty()) continue;
    total.quota += share.quota;
    if (share.fair_share) total.fair_share = total.fair_share.value_or(0) + *share.fair_share;
    if (share.usage) total.usage = total.usage.value_or(0) + *share.usage;
    total.held_in_quota += share.held_in_quota;
    total.held_over_quota += share.held_over_quota;
    total.waiting += share.waiting;
    total.jobs_running += share.jobs_running;
    total.jobs_waiting += share.jobs_waiting;
  }
  return total;
}

Table share_table(const std::vector<ShareView>& shares, bool flat) {
  Table table({{"NAME", Align::left, true},
               {"KIND"},
               {"QUOTA", Align::right},
               {"FAIR_SHARE", Align::right},
               {"IN_QUOTA", Align::right},
               {"OVER_QUOTA", Align::right},
               {"WAITING", Align::right},
               {"WEIGHT", Align::right},
               {"USAGE", Align::right},
               {"JOBS", Align::right}});
  const auto depths = depths_of(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ShareView& share = shares[i];
    const std::string indent(flat ? 0 : 2 * depths[i], ' ');
    add_row(table, indent + share.name, name_of(share.kind), share, share.kind != ShareKind::user,
            true);
  }
  add_row(table, "TOTAL", "", total_of(shares), true, false);
  return table;
}

void write_share(JsonWriter& json, const ShareView& share) {
  const auto decimal_field = [&json](std::string_view name,
                                     const std::optional<std::int64_t>& units) {
    json.key(name);
    if (units)
      json.units(*units, 6);
    else
      json.null();
  };
  const bool user = share.kind == ShareKind::user;
  json.begin_object();
  json.field("kind", name_of(share.kind));
  json.field("name", share.name);
  json.field_or_null("parent", !share.parent.empty(), share.parent);
  decimal_field("quota_gpus", user ? std::optional<std::int64_t>() : share.quota);
  decimal_field("fair_share_gpus", share.fair_share);
  decimal_field("held_in_quota_gpus", share.held_in_quota);
  decimal_field("held_over_quota_gpus", share.held_over_quota);
  decimal_field("waiting_gpus", share.waiting);
  decimal_field("weight", share.weight);
  decimal_field("usage", share.usage);
  json.field("jobs_running", share.jobs_running);
  json.field("jobs_waiting", share.jobs_waiting);
  json.end_object();
}

}  // namespace rota::commands
