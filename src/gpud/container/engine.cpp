// gpud/container/engine.cpp - what the engines have in common: names and complaints.
#include "gpud/container/engine.h"

#include <algorithm>
#include <functional>
#include <map>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota::gpud {

/// Engines take letters, digits, '_', '.' and '-'. A node's name has nothing else.
std::string container_prefix(const std::string& node) { return format("rota-{}.", node); }

std::vector<std::string> unwanted_images(
    std::vector<OwnImage> images, const std::string& node, std::uint64_t kept_max,
    const std::function<bool(const std::string& container)>& is_wanted) {
  std::vector<std::string> names;
  // The same order every time: two sweeps at once would take different ones of equal age.
  std::ranges::sort(images, [](const OwnImage& a, const OwnImage& b) { return a > b; });
  std::map<std::string, std::uint64_t> kept;  // by the user's number
  for (const OwnImage& image : images) {
    const std::string_view repository = image_repository(image.name);
    const std::string tag(image_tag(image.name));
    if (image.name.starts_with("sha256:")) names.push_back(image.name);
    if (repository.ends_with(kept_images) && ++kept[tag.substr(0, tag.find('.'))] > kept_max)
      names.push_back(image.name);
    if (repository.ends_with(file_images) && tag.starts_with(container_prefix(node)) &&
        !is_wanted(tag))
      names.push_back(image.name);
  }
  return names;
}

Error pull_error(std::string words) {
  const std::string lower = lower_case(words);
  const auto says = [&lower](std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(
        parts, [&lower](std::string_view part) { return lower.find(part) != std::string::npos; });
  };
  Errc code = Errc::io_failed;
  if (says({"not found", "manifest unknown", "name unknown", "does not exist", "no such image",
            "invalid reference", "repository name", "short-name"}))
    code = Errc::not_found;
  else if (says({"unauthorized", "denied", "authentication required", "forbidden",
                 "no basic auth credentials", "invalid username/password"}))
    code = Errc::denied;
  return {code, escaped(words)};
}

boost::asio::awaitable<Result<std::set<std::string>>> ImageEngine::ids() {
  co_return Error{Errc::unsupported, "it does not list its images"};
}

boost::asio::awaitable<Result<std::string>> ImageEngine::directory() {
  co_return Error{Errc::unsupported, "it does not say where its images are"};
}

std::vector<std::string> podman_words(const std::string& program) {
  // On a host with systemd podman would ask it for a scope; the job's cgroup is ours to choose.
  return {program, "--cgroup-manager=cgroupfs", "--events-backend=file", "--runtime=runc"};
}

}  // namespace rota::gpud
