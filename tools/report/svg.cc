#include "tools/report/svg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/report/svg_parts.h"

namespace ckpt {
namespace {

constexpr double kSquare = 20, kLabelWidth = 230, kTop = 70;
constexpr size_t kLabelCharacters = 30;
constexpr int64_t kMaxPlotted = 1024;  // layers, and roles

// Light where errors are small, dark where they are large.
std::string depth_fill(double t) {
  const auto mixed = [&](double light, double dark) {
    return static_cast<int>(std::lround(light + (dark - light) * std::clamp(t, 0.0, 1.0)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0xfa, 0x93), mixed(0xee, 0x36),
                     mixed(0xe0, 0x0c));
}

struct Extremes {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

std::optional<double> figure_at(const Json& column, size_t i) {
  if (!column.is_array() || !column[i].is_number()) return std::nullopt;
  return column[i].get<double>();
}

// ---- layers -------------------------------------------------------------------------------------

// What of a role and layer is drawn: its largest type, and the worst of its figures.
struct DrawnSquare {
  uint64_t size_bytes = 0;
  size_t type = 0;
  std::optional<double> sqnr_db;
  bool is_equal = false;
};
using DrawnSquares = std::map<std::pair<size_t, int64_t>, DrawnSquare>;  // role, layer; -1: outside

DrawnSquares squares_of(const Json& cells) {
  DrawnSquares out;
  for (size_t i = 0; i < cells["role"].size(); ++i) {
    const int64_t layer = cells["layer"][i].is_null() ? -1 : cells["layer"][i].get<int64_t>();
    DrawnSquare& square = out[{cells["role"][i].get<size_t>(), layer}];
    const auto size_bytes = cells["size_bytes"][i].get<uint64_t>();
    if (size_bytes >= square.size_bytes) square.type = cells["type"][i].get<size_t>();
    square.size_bytes = std::max(square.size_bytes, size_bytes);
    const auto sqnr = figure_at(cells["sqnr_db"], i);
    if (sqnr) square.sqnr_db = std::min(*sqnr, square.sqnr_db.value_or(*sqnr));
    square.is_equal = square.is_equal || (!sqnr && figure_at(cells["relative"], i) == 0.0);
  }
  return out;
}

std::string square_fill(const DrawnSquare& square, bool has_values, const Extremes& extremes) {
  if (!has_values) return std::string(type_fill(square.type));
  if (square.sqnr_db) return depth_fill(1 - extremes.share(*square.sqnr_db));
  return square.is_equal ? "#ffffff" : "#d8d8d8";
}

std::string values_legend(const Extremes& extremes, double y) {
  if (extremes.low > extremes.high) return svg_text(16, y, "equal to the base");
  std::string out = svg_text(16, y, fmt::format("SQNR, {:.1f} dB", extremes.high));
  for (int i = 0; i < 20; ++i) {
    out += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"8\" height=\"11\" fill=\"{}\"/>\n",
                       130 + 8 * i, y - 10, depth_fill(i / 19.0));
  }
  return out +
         svg_text(298, y, fmt::format("{:.1f} dB; white: equal, gray: not compared", extremes.low));
}

}  // namespace

Result<std::string> svg_of_layers(const Json& checkpoint) {
  const Json& cells = checkpoint["cells"];
  const bool has_values = cells["sqnr_db"].is_array();
  const DrawnSquares squares = squares_of(cells);
  Extremes extremes;
  int64_t layers = 0;
  for (const auto& [place, square] : squares) {
    if (square.sqnr_db) extremes.add(*square.sqnr_db);
    layers = std::max(layers, place.second + 1);
  }
  const size_t roles = checkpoint["roles"].size();
  if (layers > kMaxPlotted || roles > kMaxPlotted) {
    return fail(ErrorCode::kUnsupported, "{} roles and {} layers; a plot holds at most {} of each",
                roles, layers, kMaxPlotted);
  }
  const auto x_of = [](int64_t layer) {
    return kLabelWidth + kSquare * static_cast<double>(layer + 1);
  };
  std::string body = svg_text(16, 24, checkpoint["name"], " font-size=\"15\" font-weight=\"bold\"");
  body += has_values ? values_legend(extremes, 44) : types_legend(checkpoint, 44);
  for (int64_t layer = 0; layer < layers; layer += 5) {
    body += svg_text(x_of(layer) + kSquare / 2, kTop - 6, fmt::format("{}", layer),
                     " text-anchor=\"middle\"");
  }
  for (size_t role = 0; role < roles; ++role) {
    std::string name = checkpoint["roles"][role];
    if (name.size() > kLabelCharacters) name = name.substr(0, kLabelCharacters) + "...";
    body += svg_text(16, kTop + kSquare * static_cast<double>(role) + 14, name);
  }
  for (const auto& [place, square] : squares) {
    body += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"18\" fill=\"{}\" "
        "stroke=\"#8c959f\" stroke-width=\"0.5\"/>\n",
        x_of(place.second), kTop + kSquare * static_cast<double>(place.first),
        square_fill(square, has_values, extremes));
  }
  return svg_page(std::max(620.0, x_of(layers) + 16),
                  kTop + kSquare * static_cast<double>(roles) + 16, body);
}

std::string svg_of_errors(const Json& checkpoint) {
  constexpr double kWidth = 720, kHeight = 440, kLeft = 60, kRight = 20, kAbove = 66, kBelow = 50;
  const Json& cells = checkpoint["cells"];
  Extremes bits, errors;
  struct Point {
    double bits, sqnr_db;
    size_t type;
  };
  std::vector<Point> points;
  for (size_t i = 0; i < cells["role"].size(); ++i) {
    const auto sqnr = figure_at(cells["sqnr_db"], i);
    const double weights = cells["weights"][i].get<double>();
    if (!sqnr || weights <= 0) continue;
    points.push_back({8 * cells["size_bytes"][i].get<double>() / weights, *sqnr,
                      cells["type"][i].get<size_t>()});
    bits.add(points.back().bits);
    errors.add(*sqnr);
  }
  const auto x_of = [&](double value) {
    return kLeft + (0.05 + 0.9 * bits.share(value)) * (kWidth - kLeft - kRight);
  };
  const auto y_of = [&](double value) {
    return kHeight - kBelow - (0.05 + 0.9 * errors.share(value)) * (kHeight - kAbove - kBelow);
  };
  std::string body = svg_text(16, 24, checkpoint["name"], " font-size=\"15\" font-weight=\"bold\"");
  body += types_legend(checkpoint, 44);
  for (int i = 0; i <= 4 && !points.empty(); ++i) {
    const double x = bits.low + (bits.high - bits.low) * i / 4;
    const double y = errors.low + (errors.high - errors.low) * i / 4;
    body += svg_text(x_of(x), kHeight - kBelow + 18, fmt::format("{:.2f}", x),
                     " text-anchor=\"middle\"");
    body += svg_text(kLeft - 8, y_of(y) + 4, fmt::format("{:.1f}", y), " text-anchor=\"end\"");
  }
  body += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#8c959f\"/>\n", kLeft,
                      kAbove, kHeight - kBelow, kWidth - kRight);
  for (const Point& point : points) {
    body += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.5\"/>\n",
        x_of(point.bits), y_of(point.sqnr_db), type_fill(point.type));
  }
  body += svg_text((kLeft + kWidth) / 2, kHeight - 10, "bits a weight", " text-anchor=\"middle\"");
  body += svg_text(16, kAbove - 6, "SQNR (dB)");
  return svg_page(kWidth, kHeight, body);
}

}  // namespace ckpt
