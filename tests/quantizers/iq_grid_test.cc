// Codebooks: the points about levels, against their definition.
#include "quantizers/ggml/codebook/iq_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace ckpt {
namespace {

uint32_t distance_of(const IqGrid& grid, uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < grid.dims; ++i) {
    const uint32_t mask = (1u << grid.bits) - 1;
    const int step = static_cast<int>(a >> (grid.bits * i) & mask) -
                     static_cast<int>(b >> (grid.bits * i) & mask);
    sum += static_cast<uint32_t>(step * step);
  }
  return sum;
}

// All points within the nearest `reach` distances, nearest first, equally near ones by number.
std::vector<uint16_t> sorted_about(const IqGrid& grid, uint32_t packed, size_t reach) {
  std::vector<std::pair<uint32_t, size_t>> order;
  for (size_t i = 0; i < grid.points.size(); ++i) {
    order.emplace_back(distance_of(grid, grid.points[i], packed), i);
  }
  std::sort(order.begin(), order.end());
  std::set<uint32_t> distances;
  std::vector<uint16_t> out;
  for (const auto& [distance, point] : order) {
    distances.insert(distance);
    if (distances.size() > reach) break;
    out.push_back(grid.points[point]);
  }
  return out;
}

void check_grid(const IqGrid& grid, size_t reach) {
  for (size_t i = 0; i < grid.points.size(); ++i) {
    ASSERT_EQ(grid.lookup[grid.points[i]], static_cast<int32_t>(i));
  }
  size_t checked = 0;
  for (uint32_t packed = 0; packed < grid.lookup.size(); packed += 37) {
    bool real = grid.lookup[packed] < 0;
    for (uint32_t i = 0; i < grid.dims; ++i) {
      real = real && (packed >> (grid.bits * i) & ((1u << grid.bits) - 1)) < grid.levels;
    }
    if (!real) continue;
    const uint16_t* about = grid.points_about(packed);
    ASSERT_EQ(std::vector<uint16_t>(about + 1, about + 1 + about[0]),
              sorted_about(grid, packed, reach))
        << packed;
    ++checked;
  }
  EXPECT_GT(checked, 90u);
}

TEST(IqGrid, PointsAboutLevelsAreTheNearestInOrder) {
  check_grid(iq1_grid(), 3);
  check_grid(iq2_xxs_grid(), 2);
  check_grid(iq2_xs_grid(), 2);
  check_grid(iq2_s_grid(), 1);
  check_grid(iq3_xxs_grid(), 2);
  check_grid(iq3_s_grid(), 3);
}

}  // namespace
}  // namespace ckpt
