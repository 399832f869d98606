// sim/html_page.cpp - one style sheet for light, dark and paper.
#include "sim/html_page.h"

#include "common/format.h"
#include "sim/svg_plot.h"

namespace rota::sim {
namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1c2024; --soft: #5b6470; --grid: #d9dde3; --good: #0b6e4f; --bad: #b3261e;
  --c0: #0b6fb8; --c1: #e08a00; --c2: #1a9e77; --c3: #c75b9b; --c4: #5ab0e0; --c5: #cc4a14; --c6: #8a6fd1;
  --c7: #9a8b00; --c8: #9aa3ad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --text: #e6e9ec; --soft: #9aa3ad; --grid: #343a41; --good: #5fd3a8; --bad: #ff8a80;
    --c0: #4aa3e8; --c1: #f0ab3c; --c2: #3fc79c; --c3: #e58cc0; --c4: #8fd0f5; --c5: #ee7d4e; --c6: #b3a0ec;
    --c7: #cfc04a; --c8: #6f7983;
  }
}
@media print {
  :root {
    --page: #ffffff; --text: #000000; --soft: #444444; --grid: #cccccc; --good: #0b6e4f; --bad: #b3261e;
    --c0: #0b6fb8; --c1: #e08a00; --c2: #1a9e77; --c3: #c75b9b; --c4: #5ab0e0; --c5: #cc4a14; --c6: #8a6fd1;
    --c7: #9a8b00; --c8: #9aa3ad;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr { break-inside: avoid; }
}
body {
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; } dt { color: var(--soft); } dd { margin: 0; font-size: 1.2rem; }
figure { margin: 0; } svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--grid); } .tick { stroke: var(--soft); }
.area { stroke: none; } .line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; }
ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
h3 { font-size: .95rem; margin: .5rem 0 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: 0 1rem; }
li::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .4em; background: var(--c); }
li.rule::before, li.dash::before { height: .2em; width: 1.6em; vertical-align: .25em; }
li.dash::before { background: linear-gradient(90deg, var(--c) 40%, transparent 40% 60%, var(--c) 60%); }
.good { color: var(--good); } .bad { color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .4rem; text-align: right; border-bottom: 1px solid var(--grid); }
th { vertical-align: bottom; } td { white-space: pre; }
th:first-child, td:first-child { text-align: left; }
tr:last-child td { font-weight: 600; }
</style>
)";

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  return format("{}<title>Rota: {}</title>\n</head>\n<body>\n{}</body>\n</html>\n", head,
                html_escaped(title), body);
}

std::string html_tiles(const std::vector<Tile>& tiles) {
  std::string out = "<dl>\n";
  for (const Tile& tile : tiles)
    out += format("<div><dt>{}</dt><dd>{}</dd></div>\n", tile.name, html_escaped(tile.value));
  return out + "</dl>\n";
}

namespace {

std::string_view css_class(LegendItem::Mark mark) {
  switch (mark) {
    case LegendItem::Mark::area:
      return "";
    case LegendItem::Mark::line:
      return " class=\"rule\"";
    case LegendItem::Mark::dashes:
      return " class=\"dash\"";
  }
  return "";
}

}  // namespace

std::string html_legend(const std::vector<LegendItem>& items) {
  std::string out = "<ul>\n";
  for (const LegendItem& item : items)
    out += format("<li{} style=\"--c:var(--c{})\">{}</li>\n", css_class(item.mark), item.colour,
                  html_escaped(item.name));
  return out + "</ul>\n";
}

std::string html_table(std::string_view heading, const std::vector<std::string_view>& columns,
                       const std::vector<std::vector<HtmlCell>>& rows) {
  std::string out =
      format("<h2>{}</h2>\n<div class=\"scroll\">\n<table>\n<thead><tr>", html_escaped(heading));
  for (const std::string_view column : columns) out += format("<th>{}</th>", html_escaped(column));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const HtmlCell& cell : row)
      out += cell.css_class.empty()
                 ? format("<td>{}</td>", html_escaped(cell.text))
                 : format("<td class=\"{}\">{}</td>", cell.css_class, html_escaped(cell.text));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

}  // namespace rota::sim
