// model/container.cpp - which images and mounts can be asked for, and how they are written.
#include "model/container.h"

#include <algorithm>
#include <array>

#include "common/escape.h"
#include "common/format.h"

namespace rota {
namespace {

constexpr std::array<std::string_view, 4> runtimes{"docker", "podman", "enroot", "none"};
constexpr std::size_t path_bytes_max = 4096;

Error invalid(std::string what) { return {Errc::job_invalid, std::move(what)}; }

bool is_image_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:/@+-").find(c) != std::string_view::npos;
}

Result<void> check_path(std::string_view what, std::string_view path) {
  if (path.empty() || path.front() != '/')
    return invalid(format("{} is {}, it must be an absolute path", what, quoted(path)));
  if (path.size() > path_bytes_max)
    return invalid(
        format("{} has {} bytes, at most {} are allowed", what, path.size(), path_bytes_max));
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(path, is_control))
    return invalid(format("{} is {}: control characters are not allowed", what, quoted(path)));
  return {};
}

/// Where nothing can be put: what the container's own root, its kernel files and our door are.
bool is_taken(std::string_view target) {
  while (target.size() > 1 && target.back() == '/') target.remove_suffix(1);
  for (const std::string_view own : {"/", "/proc", "/sys", "/dev", "/run/.rota"})
    if (target == own) return true;
  return target.starts_with("/proc/") || target.starts_with("/sys/") ||
         target.starts_with("/run/.rota/");
}

bool has_dots(std::string_view path) {
  const std::string text = format("{}/", path);
  return text.find("/../") != std::string::npos || text.find("/./") != std::string::npos;
}

}  // namespace

bool is_container_runtime(std::string_view name) {
  return std::ranges::find(runtimes, name) != runtimes.end();
}

Result<void> validate_image(std::string_view image) {
  const auto bad = [image](std::string_view what) {
    return invalid(format("the image is {}: {}", quoted(image), what));
  };
  if (image.empty()) return invalid("the image is empty");
  if (image.size() > ContainerBounds::image_bytes_max)
    return invalid(format("the image's name has {} bytes, at most {} are allowed", image.size(),
                          ContainerBounds::image_bytes_max));
  if (!std::ranges::all_of(image, is_image_letter))
    return bad("an image is written as registry/name:tag, with letters, digits and . _ : / @ + -");
  // What jobs have kept is its owner's, who has a name for it.
  if (image.find(ContainerBounds::own_images) != std::string_view::npos)
    return bad("such names are taken for what jobs keep");
  const char first = image.front();
  if (first == '/') return {};  // a file of the node's
  if (!is_image_letter(first) || std::string_view("._:@+-").find(first) != std::string_view::npos)
    return bad("an image's name begins with a letter or a digit");
  if (image.back() == ':' || image.back() == '/' || image.back() == '@')
    return bad("something is missing at its end");
  return {};
}

std::string image_name(std::string_view text) {
  for (const std::string_view scheme : {"docker://", "dockerd://", "podman://"})
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  std::string name(text);
  if (const auto hash = name.find('#'); hash != std::string::npos) name[hash] = '/';
  return name;
}

Result<ContainerMount> mount_parse(std::string_view text) {
  const auto bad = [text](std::string_view what) {
    return Error{Errc::invalid_argument, format("{}: {}", quoted(text), what)};
  };
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t colon = text.find(':', at);
    parts.push_back(text.substr(at, colon - at));
    if (colon == std::string_view::npos) break;
    at = colon + 1;
  }
  ContainerMount mount;
  if (parts.size() > 1 && (parts.back() == "ro" || parts.back() == "rw")) {
    mount.read_only = parts.back() == "ro";
    parts.pop_back();
  }
  if (parts.size() > 2) return bad("a mount is written as SOURCE[:TARGET][:ro]");
  mount.source = parts.front();
  mount.target = parts.back();
  if (mount.source.empty() || mount.target.empty())
    return bad("a mount is written as SOURCE[:TARGET][:ro]");
  return mount;
}

Result<void> validate(const ContainerMount& mount) {
  ROTA_CHECK(check_path("the source of a mount", mount.source));
  ROTA_CHECK(check_path("the target of a mount", mount.target));
  if (has_dots(mount.target))
    return invalid(format("the target of a mount is {}: '.' and '..' are not allowed in it",
                          quoted(mount.target)));
  if (is_taken(mount.target))
    return invalid(format("nothing can be mounted at {} of the container", quoted(mount.target)));
  return {};
}

Result<KeptName> kept_name(std::string_view text) {
  KeptName kept;
  const std::size_t colon = text.find(':');
  kept.name = text.substr(0, colon);
  const auto is_good = [](char c) {
    return is_image_letter(c) && c != ':' && c != '/' && c != '@' && c != '+';
  };
  if (kept.name.empty() || kept.name.size() > ContainerBounds::name_bytes_max ||
      !std::ranges::all_of(kept.name, is_good) || kept.name.front() == '.' ||
      kept.name.front() == '-')
    return invalid(format(
        "{} names no container: a name is 1 to {} letters, digits, '-', '_' or '.', and begins "
        "with a letter, a digit or '_'",
        quoted(kept.name.substr(0, 80)), ContainerBounds::name_bytes_max));
  if (colon == std::string_view::npos) return kept;
  const std::string_view word = text.substr(colon + 1);
  if (word != "create" && word != "auto" && word != "exec" && word != "no_exec")
    return invalid(
        format("{} is not known behind the name of a container; known are create, auto, "
               "exec and no_exec",
               quoted(word.substr(0, 80))));
  kept.fresh = word == "create";
  return kept;
}

Result<void> validate(const ContainerSpec& container) {
  if (!container.name.empty()) ROTA_CHECK(kept_name(container.name));
  if (!container.save.empty())
    ROTA_CHECK(check_path("the file that the container is saved to", container.save));
  if (!container.runtime.empty() && !is_container_runtime(container.runtime))
    return invalid(format("{} runs no containers; known are docker, podman, enroot and none",
                          quoted(container.runtime)));
  if (container.mounts.size() > ContainerBounds::mounts_max)
    return invalid(format("{} mounts, at most {} are allowed", container.mounts.size(),
                          ContainerBounds::mounts_max));
  for (const ContainerMount& mount : container.mounts) ROTA_CHECK(validate(mount));
  for (const std::string& variable : container.environment) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos || equals == 0 || variable.find('\0') != std::string::npos)
      return invalid(format("{} is not NAME=value", quoted(variable.substr(0, 40))));
  }
  if (!container.workdir.empty())
    ROTA_CHECK(check_path("the container's working directory", container.workdir));
  if (container.pull > PullPolicy::never)
    return invalid("when the image is pulled is none of missing, always, never");
  if (container.shm_bytes > ContainerBounds::shm_bytes_max)
    return invalid(format("the shared memory is {} bytes, at most {} are possible",
                          container.shm_bytes, ContainerBounds::shm_bytes_max));
  return {};
}

}  // namespace rota
