// commands/container_options.cpp - mounts, variables and pulls as people write them.
#include "commands/container_options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "commands/payload.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"
#include "common/units.h"
#include "model/sources.h"

namespace rota::commands {
namespace {

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

/// "NAME,NAME": as pyxis has it, with the values that they have here.
Result<void> apply_names(const Given& given, ContainerSpec& container) {
  std::string_view rest = given.value;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    if (name.find('=') != std::string::npos)
      return bad_value(given, format("{}: these are names only; for a value write --env {}",
                                     quoted(name), name));
    Given one = given;
    one.value = name;
    ROTA_CHECK(apply_variable(one, container));
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
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

/// "imagenet:/data:ro,models"
Result<void> apply_data(const Given& given, ContainerSpec& container) {
  std::string_view rest = given.value;
  for (;;) {
    const std::size_t comma = rest.find(',');
    auto data = data_parse(rest.substr(0, comma));
    if (!data) return bad_value(given, data.error().detail);
    if (auto valid = validate(*data); !valid) return bad_value(given, valid.error().detail);
    container.data.push_back(*std::move(data));
    if (comma == std::string_view::npos) return {};
    rest.remove_prefix(comma + 1);
  }
}

/// "name=code,repository=URL,path=DIR,rev=main": as Run:ai has it.
Result<GitSource> git_from_keys(std::string_view text) {
  GitSource git;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = part.substr(0, equals);
    const std::string value(part.substr(std::min(equals + 1, part.size())));
    if (key == "repository")
      git.url = value;
    else if (key == "path")
      git.target = value;
    else if (key == "rev" || key == "revision" || key == "branch")
      git.revision = value;
    else if (key == "secret")
      return Error{Errc::invalid_argument,
                   "a secret cannot be given here; git runs as you, with what you have for it"};
    else if (key != "name")
      return Error{
          Errc::invalid_argument,
          format("{} is not known; known are name, repository, path, rev and branch", quoted(key))};
  }
  if (git.url.empty() || git.target.empty())
    return Error{Errc::invalid_argument,
                 format("{}: both are needed, repository=URL and path=DIR", quoted(text))};
  if (!git.target.starts_with('/') && !git.target.starts_with("./")) git.target.insert(0, "./");
  return git;
}

bool has_keys(std::string_view text) {
  for (const std::string_view key : {"name=", "repository=", "path=", "rev=", "secret="})
    if (text.starts_with(key)) return true;
  return false;
}

Result<void> apply_git(const Given& given, std::vector<GitSource>& sources) {
  auto git = has_keys(given.value) ? git_from_keys(given.value) : git_parse(given.value);
  if (!git) return bad_value(given, git.error().detail);
  GitSource checked = *git;
  if (checked.target.starts_with("./")) checked.target.erase(0, 1);  // it is made absolute later
  if (auto valid = validate(checked); !valid) return bad_value(given, valid.error().detail);
  sources.push_back(*std::move(git));
  return {};
}

template <class T>
Result<T> value_of(const Given& given, Result<T> parsed) {
  if (!parsed) return bad_value(given, parsed.error().detail);
  return parsed;
}

Result<std::string> filled(const Given& given) {
  if (!given.value.empty()) return given.value;
  return bad_value(given, "the value is empty");
}

}  // namespace

Result<void> apply_container(const Given& given, std::string& image, ContainerSpec& container,
                             ContainerSources& sources) {
  switch (given.option->id) {
    case id_image:
      image = image_name(given.value);
      return value_of(given, validate_image(image));
    case id_mounts:
      return apply_mounts(given, container);
    case id_env:
      return apply_variable(given, container);
    case id_data:
      return apply_data(given, container);
    case id_git:
      return apply_git(given, sources.git);
    case id_container_workdir: {
      ROTA_TRY(container.workdir, filled(given));
      return {};
    }
    case id_container_name: {
      ROTA_TRY(const KeptName kept, value_of(given, kept_name(given.value)));
      container.name = kept.fresh ? kept.name + ":create" : kept.name;
      return {};
    }
    case id_container_save: {
      ROTA_TRY(container.save, filled(given));
      return {};
    }
    case id_pull: {
      ROTA_TRY(container.pull, pull_from(given));
      return {};
    }
    case id_runtime: {
      ROTA_TRY(container.runtime, runtime_from(given));
      return {};
    }
    case id_shm_size: {
      ROTA_TRY(container.shm_bytes,
               value_of(given, size_parse(given.value, std::uint64_t{1} << 20)));
      return {};
    }
    case id_local_image:
      container.pull = PullPolicy::never;
      return {};
    case id_entrypoint:
    case id_no_entrypoint:
      container.entrypoint = given.option->id == id_entrypoint;
      return {};
    case id_container_writable:
    case id_container_readonly:
      container.read_only = given.option->id == id_container_readonly;
      return {};
    case id_mount_home:
      sources.mount_home = true;
      return {};
    case id_container_env:
      return apply_names(given, container);
    case id_remap_root:
      return bad_value(given,
                       "in a container you are who you are outside, with your own number and no "
                       "rights of root; build what needs root into the image");
    case id_unshare:
      return bad_value(given,
                       "which namespaces a container has is for the site to say "
                       "(node.container_network, node.container_ipc); leave it out");
    default:
      return {};
  }
}

Result<void> take_container(const ContainerSpec& container, const ContainerSources& sources,
                            JobPayload& payload) {
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
  if (!payload.container.save.empty())
    payload.container.save = absolute_path(payload.container.save, payload.working_directory);
  payload.git = sources.git;
  for (GitSource& git : payload.git)
    git.target = std::filesystem::path(absolute_path(git.target, payload.working_directory))
                     .lexically_normal();
  if (!sources.mount_home) return {};
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    return Error{Errc::usage, "--container-mount-home: HOME names no directory here"};
  payload.container.mounts.push_back({home, home, false});
  return {};
}

}  // namespace rota::commands
