// Where the bytes of a checkpoint are: areas of types, divided among roles.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/report/svg.h"
#include "tools/report/svg_parts.h"

namespace ckpt {
namespace {

struct Box {
  double x, y, width, height;
};
struct Share {
  std::string name;
  uint64_t size_bytes = 0;
};
struct Tile {
  const Share* share;
  Box box;
};

constexpr double kWidth = 900, kHeight = 520, kAbove = 60, kMargin = 16;
constexpr double kSmallestTile = 1.5, kGap = 1;
constexpr double kCharacterWidth = 6.6;  // of 12-pixel sans-serif, about

// How far the flattest rectangle of a row is from a square. areas: from the largest to the
// smallest; side: of the row's box.
double flattest(const std::vector<double>& areas, double sum, double side) {
  return std::max(side * side * areas.front() / (sum * sum),
                  sum * sum / (side * side * areas.back()));
}

// Lays `row` along the shorter side of `box`, which becomes what is left.
void lay_row(const std::vector<const Share*>& row, const std::vector<double>& areas, Box& box,
             std::vector<Tile>& tiles) {
  double sum = 0;
  for (const double area : areas) sum += area;
  const bool is_wide = box.width >= box.height;
  const double depth = sum / (is_wide ? box.height : box.width);
  double along = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const double length = areas[i] / depth;
    tiles.push_back({row[i], is_wide ? Box{box.x, box.y + along, depth, length}
                                     : Box{box.x + along, box.y, length, depth}});
    along += length;
  }
  (is_wide ? box.x : box.y) += depth;
  (is_wide ? box.width : box.height) -= depth;
}

// A squarified treemap (Bruls, Huizing, van Wijk 2000). shares: the largest first, none of them 0.
std::vector<Tile> squarified(const std::vector<Share>& shares, Box box) {
  double total = 0;
  for (const Share& share : shares) total += static_cast<double>(share.size_bytes);
  const double scale = box.width * box.height / total;
  std::vector<Tile> tiles;
  std::vector<const Share*> row;
  std::vector<double> areas;
  double sum = 0;
  for (const Share& share : shares) {
    const double area = static_cast<double>(share.size_bytes) * scale;
    const double side = std::min(box.width, box.height);
    std::vector<double> longer = areas;
    longer.push_back(area);
    if (!row.empty() && flattest(longer, sum + area, side) > flattest(areas, sum, side)) {
      lay_row(row, areas, box, tiles);
      row.clear();
      longer = {area};
      sum = 0;
    }
    row.push_back(&share);
    areas = std::move(longer);
    sum += area;
  }
  if (!row.empty()) lay_row(row, areas, box, tiles);
  return tiles;
}

std::vector<Share> largest_first(const std::map<std::string, uint64_t>& sums) {
  std::vector<Share> out;
  for (const auto& [name, size_bytes] : sums) {
    if (size_bytes > 0) out.push_back({name, size_bytes});
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &Share::size_bytes);
  return out;
}

std::string drawn_tile(const Tile& tile, size_t type, const Json& checkpoint) {
  const Box& box = tile.box;
  const std::string type_name = checkpoint["types"][type]["type"];
  const std::string size = human_bytes(tile.share->size_bytes);
  std::string out = fmt::format(
      "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"{}\" fill-opacity=\"0.55\"/>\n",
      svg_escaped(fmt::format("{}, {}: {}", tile.share->name, type_name, size)), box.x, box.y,
      box.width - kGap, box.height - kGap, type_fill(type));
  const auto fits = [&](const std::string& text, double height) {
    return box.height > height &&
           box.width > kCharacterWidth * static_cast<double>(text.size()) + 10;
  };
  if (!fits(tile.share->name, 20)) return out + "</g>\n";
  out += svg_text(box.x + 5, box.y + 15, tile.share->name);
  if (fits(size, 36)) out += svg_text(box.x + 5, box.y + 31, size);
  return out + "</g>\n";
}

}  // namespace

std::string svg_of_bytes(const Json& checkpoint) {
  const Json& cells = checkpoint["cells"];
  std::map<std::string, std::map<std::string, uint64_t>> of_type;  // by number, then by role
  std::map<std::string, uint64_t> type_sums;
  for (size_t i = 0; i < cells["role"].size(); ++i) {
    const auto size_bytes = cells["size_bytes"][i].get<uint64_t>();
    const std::string type = fmt::format("{}", cells["type"][i].get<size_t>());
    of_type[type][checkpoint["roles"][cells["role"][i].get<size_t>()]] += size_bytes;
    type_sums[type] += size_bytes;
  }
  std::string body =
      svg_text(kMargin, 24, checkpoint["name"], " font-size=\"15\" font-weight=\"bold\"");
  body += types_legend(checkpoint, 44);
  const Box whole{kMargin, kAbove, kWidth - 2 * kMargin, kHeight - kAbove - kMargin};
  const std::vector<Share> types = largest_first(type_sums);
  for (const Tile& area : squarified(types, whole)) {
    const std::vector<Share> roles = largest_first(of_type[area.share->name]);
    for (const Tile& tile : squarified(roles, area.box)) {
      if (tile.box.width < kSmallestTile || tile.box.height < kSmallestTile) continue;
      body += drawn_tile(tile, std::stoul(area.share->name), checkpoint);
    }
  }
  return svg_page(kWidth, kHeight, body);
}

}  // namespace ckpt
