// Single plots of a report as SVG files, for documents that cannot hold a page.
#pragma once

#include <string>
#include <string_view>

#include "tools/console.h"

namespace ckpt {

// `checkpoint` as report_data() gives one. "layers": a square for each role and layer, by its SQNR,
// or without values by its type. "error": SQNR against bits a weight, a point for each role, layer
// and type; requires values. "bytes": areas of types, divided among roles. All on white, and marked
// as reports are (kReportMark). Fails: kUnsupported for more layers or roles than a plot can show.
Result<std::string> svg_of_layers(const Json& checkpoint);
std::string svg_of_errors(const Json& checkpoint);
std::string svg_of_bytes(const Json& checkpoint);

}  // namespace ckpt
