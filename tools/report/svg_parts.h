// What the plots of a report have in common: texts, colors of types, the page around them.
#pragma once

#include <string>
#include <string_view>

#include "tools/console.h"

namespace ckpt {

// Text of a checkpoint as an SVG may hold it; characters that hide or reorder text are spelled out.
std::string svg_escaped(const std::string& name);

// `more`: further attributes of the element, from " " on.
std::string svg_text(double x, double y, const std::string& text, std::string_view more = "");

// On white, marked as reports are (kReportMark).
std::string svg_page(double width, double height, const std::string& body);

// Colors come again from the ninth type on.
std::string_view type_fill(size_t type);

// A line of `checkpoint`'s types with their colors. y: of the baseline.
std::string types_legend(const Json& checkpoint, double y);

}  // namespace ckpt
