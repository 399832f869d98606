// sim/policy_keys.cpp - keys come from the one table of rota.yaml.
#include "sim/policy_keys.h"

#include "common/config_table.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/nearest.h"

namespace rota::sim {
namespace {

constexpr std::string_view section = "scheduler.";

}  // namespace

std::vector<std::string_view> policy_keys() {
  std::vector<std::string_view> keys;
  for (const ConfigKey& key : config_keys())
    if (key.name.starts_with(section)) keys.push_back(key.name.substr(section.size()));
  return keys;
}

Result<void> policy_assign(Config& config, std::string_view key, const std::string& text) {
  const std::string name = format("{}{}", section, key);
  if (config_find(name) != nullptr) return config_assign(config, name, text);
  const auto known = policy_keys();
  const auto near = nearest(key, known);
  return Error{Errc::usage, format("unknown key {}; {}", quoted(key),
                                   near.empty() ? format("known are {}", fmt::join(known, ", "))
                                                : format("did you mean '{}'?", near))};
}

}  // namespace rota::sim
