// sim/html_page.h - what the pages of rsim have in common: style, tiles, legends, tables.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::sim {

/// A page that needs nothing else: no script, nothing from elsewhere.
std::string html_page(std::string_view title, std::string_view body);

struct Tile {
  std::string_view name;
  std::string value;
};
std::string html_tiles(const std::vector<Tile>& tiles);

/// An entry of a legend, for a colour of PlotSeries; `name` is escaped here.
struct LegendItem {
  enum class Mark : std::uint8_t { area, line, dashes };
  unsigned colour = 0;
  std::string name;
  Mark mark = Mark::area;
};
std::string html_legend(const std::vector<LegendItem>& items);

struct HtmlCell {
  std::string text;                 // escaped here; may have several lines
  std::string_view css_class = {};  // "good", "bad" or none
};
/// A heading and a table; the last row is of all.
std::string html_table(std::string_view heading, const std::vector<std::string_view>& columns,
                       const std::vector<std::vector<HtmlCell>>& rows);

}  // namespace rota::sim
