// commands/container_options.cpp - mounts, variables and pulls as people write them.
#include "commands/container_options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "commands/payload.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota::commands {

/// "/data:/mnt:ro,/scratch": each beside those that were given before.
Result<void> apply_mounts(const Given& given, ContainerSpec& container) {
  std::string_view rest = given.value;
  for (;;) {
    const std::size_t comma = rest.find(',');
    auto mount = mount_parse(rest.substr(0, comma));
    if (!mount) return bad_value(given, mount.error().detail);
    container.mounts.push_back(*std::move(mount));
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

/// "NAME=value", or "NAME" with the value that it has here.
Result<void> apply_variable(const Given& given, ContainerSpec& container) {
  std::string text = given.value;
  if (text.find('=') == std::string::npos) {
    const char* value = text.empty() ? nullptr : std::getenv(text.c_str());
    if (value == nullptr)
      return bad_value(given, format("{} has no value here; write NAME=VALUE", quoted(text)));
    text += format("={}", value);
  }
  if (text.front() == '=') return bad_value(given, "the name of the variable is missing");
  container.environment.push_back(std::move(text));
  return {};
}

Result<PullPolicy> pull_from(const Given& given) {
  const std::string word = lower_case(given.value);
  if (word == "always") return PullPolicy::always;
  if (word == "missing" || word == "ifnotpresent") return PullPolicy::missing;
  if (word == "never") return PullPolicy::never;
  return bad_value(given,
                   format("{} is not known; write always, missing or never", quoted(given.value)));
}

Result<std::string> runtime_from(const Given& given) {
  if (is_container_runtime(given.value)) return given.value;
  return bad_value(given, format("{} runs no containers; known are docker, podman, enroot and none",
                                 quoted(given.value)));
}

Result<void> take_container(const ContainerSpec& container, bool mount_home, JobPayload& payload) {
  // For a plain job they are variables like all others; a container needs to know which were meant.
  for (const std::string& variable : container.environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(payload.environment,
                  [&name](const std::string& each) { return each.starts_with(name); });
    payload.environment.push_back(variable);
  }
  payload.container = container;
  for (ContainerMount& mount : payload.container.mounts) {
    const bool same = mount.target == mount.source;
    mount.source = absolute_path(mount.source, payload.working_directory);
    // Where ".." leads is for the node to say of the source; a place in the container has a name.
    if (same) mount.target = std::filesystem::path(mount.source).lexically_normal();
  }
  if (!mount_home) return {};
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    return Error{Errc::usage, "--container-mount-home: HOME names no directory here"};
  payload.container.mounts.push_back({home, home, false});
  return {};
}

}  // namespace rota::commands
