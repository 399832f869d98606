// model/topology_request.h - how close together in the network a job asks to lie.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "common/result.h"

namespace rota {

/// Levels of the site's topology, by name; "": not asked for.
struct TopologyRequest {
  std::string required;   // all of it in one place of this level, or it waits
  std::string preferred;  // of this one if it can be, else of one as narrow as possible
  /// Its nodes are in groups of so many; each lies in one place, of the narrower level that is
  /// named. 0: not asked for.
  std::uint32_t segment = 0;

  bool names_levels() const { return !required.empty() || !preferred.empty(); }
  bool empty() const { return !names_levels() && segment == 0; }
  friend auto operator<=>(const TopologyRequest&, const TopologyRequest&) = default;
  static auto fields(auto& m) { return std::tie(m.required, m.preferred, m.segment); }
};

/// "required:block,preferred:rack", either or both in any order; "rack" prefers it, "none" asks for
/// nothing.
Result<TopologyRequest> topology_parse(std::string_view text);

/// Bounds and characters; not whether the site has such levels.
Result<void> validate(const TopologyRequest& request);

/// The levels, as topology_parse() reads them; "": none.
std::string text_of(const TopologyRequest& request);

}  // namespace rota
