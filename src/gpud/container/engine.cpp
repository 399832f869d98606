// gpud/container/engine.cpp - what the engines have in common: names and complaints.
#include "gpud/container/engine.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota::gpud {

/// Engines take letters, digits, '_', '.' and '-'. A node's name has nothing else.
std::string container_prefix(const std::string& node) { return format("rota-{}.", node); }

Error pull_error(std::string words) {
  const std::string lower = lower_case(words);
  const auto says = [&lower](std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(
        parts, [&lower](std::string_view part) { return lower.find(part) != std::string::npos; });
  };
  Errc code = Errc::io_failed;
  if (says({"not found", "manifest unknown", "name unknown", "does not exist", "no such image",
            "invalid reference", "repository name must", "short-name"}))
    code = Errc::not_found;
  else if (says({"unauthorized", "denied", "authentication required", "forbidden"}))
    code = Errc::denied;
  return {code, escaped(words)};
}

boost::asio::awaitable<Result<std::string>> ImageEngine::directory() {
  co_return Error{Errc::unsupported, "it does not say where its images are"};
}

std::vector<std::string> podman_words(const std::string& program) {
  // On a host with systemd podman would ask it for a scope; the job's cgroup is ours to choose.
  return {program, "--cgroup-manager=cgroupfs", "--events-backend=file", "--runtime=runc"};
}

}  // namespace rota::gpud
