// model/topology_request.h - how close together in the network a job asks to lie.
#pragma once
#include <string>
#include <string_view>
#include <tuple>

#include "common/result.h"

namespace rota {

/// Levels of the site's topology, by name; "": not asked for.
struct TopologyRequest {
  std::string required;   // all of it in one place of this level, or it waits
  std::string preferred;  // of this one if it can be, else of one as narrow as possible

  bool empty() const { return required.empty() && preferred.empty(); }
  friend auto operator<=>(const TopologyRequest&, const TopologyRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.required, m.preferred); }
};

/// "required:block,preferred:rack", either or both in any order; "rack" prefers it, "none" asks for
/// nothing.
Result<TopologyRequest> topology_parse(std::string_view text);

/// Bounds and characters; not whether the site has such levels.
Result<void> validate(const TopologyRequest& request);

/// As topology_parse() reads it; "" for an empty one.
std::string text_of(const TopologyRequest& request);

}  // namespace rota
