// Figures of an evaluation, from a file that another program wrote: docs/REPORT.md has its forms.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"

namespace ckpt {

using Json = nlohmann::ordered_json;

// {"file", "rows": [{"name", ...}]}: numbers, texts and nulls, as the file has them. Reads JSON
// (docs/REPORT.md) and CSV with names ("name,kl,...") or types ("QTYPE,...") in the first column.
// Fails: kCorrupt, naming the line or row; kUnsupported above the limits; kIo.
Result<Json> read_evaluation(const std::filesystem::path& path);

}  // namespace ckpt
