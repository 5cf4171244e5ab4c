// The data of a report as JSON; docs/REPORT.md describes the layout.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "core/model/format.h"
#include "tools/say/console.h"

namespace ckpt {

struct ReportQuestion {
  std::vector<std::string> paths;
  std::filesystem::path against;     // empty: values are not compared
  std::filesystem::path imatrix;     // empty: none
  std::filesystem::path evaluation;  // empty: none
  ReadOptions reading;
  bool is_published = false;  // show folders by name, without paths of this machine
};

// Reads headers and documents, and with `against` all values. Fails: as reading and comparing.
Result<Json> report_data(const ReportQuestion& question, const Console& console,
                         const CommonOptions& common);

}  // namespace ckpt
