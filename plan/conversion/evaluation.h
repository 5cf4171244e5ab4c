// Reads evaluation figures from a file of another program; docs/REPORT.md describes its forms.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"

namespace ckpt {

using Json = nlohmann::ordered_json;

// Returns {"file", "rows": [{"name", ...}]} with numbers, texts and nulls as in the file. Reads
// JSON (docs/REPORT.md) and CSV with names ("name,kl,...") or types ("QTYPE,...") in the first
// column. Fails: kCorrupt, naming the line or row; kUnsupported above the limits; kIo.
Result<Json> read_evaluation(const std::filesystem::path& path);

}  // namespace ckpt
