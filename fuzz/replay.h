// The fuzz targets by name, for the program that replays files: a table that the build writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

struct ReplayTarget {
  std::string_view name;
  int (*run)(const uint8_t* data, size_t size);
};

const std::vector<ReplayTarget>& replay_targets();
