// model/topology_request.cpp - reads and checks what --topology says.
#include "model/topology_request.h"

#include <algorithm>

#include "common/escape.h"
#include "common/format.h"
#include "common/lower.h"

namespace rota {
namespace {

constexpr std::size_t level_bytes_max = 64;
constexpr std::string_view usage = "write required:LEVEL, preferred:LEVEL or both with ',' between";

Error invalid(std::string detail) { return {Errc::job_invalid, std::move(detail)}; }

Result<void> check_level(const std::string& level) {
  if (level.size() > level_bytes_max)
    return invalid(format("the topology's level has {} bytes, at most {} are allowed", level.size(),
                          level_bytes_max));
  if (level.find_first_of(":,/ ") != std::string::npos || escaped(level) != level)
    return invalid(format("{} is no level of a topology; {}", quoted(level), usage));
  return {};
}

}  // namespace

Result<TopologyRequest> topology_parse(std::string_view text) {
  TopologyRequest request;
  if (lower_case(text) == "none") return request;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = text.substr(start, end - start);
    start = end + 1;
    const std::size_t colon = part.find(':');
    const bool is_bare = colon == std::string_view::npos;
    const std::string word = is_bare ? "preferred" : lower_case(part.substr(0, colon));
    const std::string_view level = is_bare ? part : part.substr(colon + 1);
    if (word != "required" && word != "preferred")
      return invalid(format("{}: {} is neither 'required' nor 'preferred'; {}", quoted(text),
                            quoted(word), usage));
    std::string& field = word == "required" ? request.required : request.preferred;
    if (level.empty() || level == "required" || level == "preferred")
      return invalid(format("{}: the name of a level is missing; {}", quoted(text), usage));
    if (!field.empty()) return invalid(format("{}: two levels are {}", quoted(text), word));
    field = level;
  }
  ROTA_CHECK(validate(request));
  return request;
}

Result<void> validate(const TopologyRequest& request) {
  ROTA_CHECK(check_level(request.required));
  return check_level(request.preferred);
}

std::string text_of(const TopologyRequest& request) {
  std::string text;
  if (!request.required.empty()) text = "required:" + request.required;
  if (!request.preferred.empty())
    text += (text.empty() ? "preferred:" : ",preferred:") + request.preferred;
  return text;
}

}  // namespace rota
