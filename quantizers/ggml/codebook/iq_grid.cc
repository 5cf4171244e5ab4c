#include "quantizers/ggml/codebook/iq_grid.h"

namespace ckpt {
namespace {

struct GridKind {
  uint32_t dims, bits, levels;
  uint32_t distances;  // number of distances that "near" covers
};
constexpr GridKind kEights = {8, 2, 3, 2};
constexpr GridKind kFours = {4, 3, 8, 2};

// The squared distance of two packed points.
uint32_t grid_distance(const GridKind& kind, uint32_t a, uint32_t b) {
  const uint32_t mask = (1u << kind.bits) - 1;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kind.dims; ++i, a >>= kind.bits, b >>= kind.bits) {
    const auto step = static_cast<int32_t>(a & mask) - static_cast<int32_t>(b & mask);
    sum += static_cast<uint32_t>(step * step);
  }
  return sum;
}

bool has_real_levels(const GridKind& kind, uint32_t packed) {
  for (uint32_t i = 0; i < kind.dims; ++i, packed >>= kind.bits) {
    if ((packed & ((1u << kind.bits) - 1)) >= kind.levels) return false;
  }
  return true;
}

// Appends the run of points near `packed`.
void append_about(const GridKind& kind, IqGrid& grid, uint32_t packed) {
  constexpr uint32_t kMaxDistance = 4 * 49;
  uint32_t counts[kMaxDistance + 1] = {};
  std::vector<uint32_t> distances;
  for (const uint16_t point : grid.points) {
    distances.push_back(grid_distance(kind, point, packed));
    ++counts[distances.back()];
  }
  const size_t start = grid.about.size();
  grid.about.push_back(0);
  uint32_t reached = 0;
  for (uint32_t distance = 0; distance <= kMaxDistance && reached < kind.distances; ++distance) {
    if (counts[distance] == 0) continue;
    ++reached;
    for (size_t i = 0; i < grid.points.size(); ++i) {
      if (distances[i] == distance) grid.about.push_back(grid.points[i]);
    }
  }
  grid.about[start] = static_cast<uint16_t>(grid.about.size() - start - 1);
}

IqGrid make_grid(std::span<const uint16_t> points, const GridKind& kind) {
  IqGrid grid{kind.dims, kind.bits, kind.levels, points, {}, {}};
  const uint32_t count = 1u << (kind.dims * kind.bits);
  grid.lookup.assign(count, -1);
  for (size_t i = 0; i < points.size(); ++i) grid.lookup[points[i]] = static_cast<int32_t>(i);
  for (uint32_t packed = 0; packed < count; ++packed) {
    if (grid.lookup[packed] >= 0 || !has_real_levels(kind, packed)) continue;
    grid.lookup[packed] = -1 - static_cast<int32_t>(grid.about.size());
    append_about(kind, grid, packed);
  }
  grid.about.resize(grid.about.size() + kIqAboutPadding);
  return grid;
}

GridKind reaching(GridKind kind, uint32_t distances) {
  kind.distances = distances;
  return kind;
}

}  // namespace

const IqGrid& iq1_grid() {
  static const IqGrid grid = make_grid(kIq1Points, reaching(kEights, 3));
  return grid;
}
const IqGrid& iq2_xxs_grid() {
  static const IqGrid grid = make_grid(kIq2XxsPoints, kEights);
  return grid;
}
const IqGrid& iq2_xs_grid() {
  static const IqGrid grid = make_grid(kIq2XsPoints, kEights);
  return grid;
}
const IqGrid& iq2_s_grid() {
  static const IqGrid grid = make_grid(kIq2SPoints, reaching(kEights, 1));
  return grid;
}
const IqGrid& iq3_xxs_grid() {
  static const IqGrid grid = make_grid(kIq3XxsPoints, kFours);
  return grid;
}
const IqGrid& iq3_s_grid() {
  static const IqGrid grid = make_grid(kIq3SPoints, reaching(kFours, 3));
  return grid;
}

}  // namespace ckpt
