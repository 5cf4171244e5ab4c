#include "tools/report/svg_parts.h"

#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "tools/report/page.h"

namespace ckpt {
namespace {

// As report/heat.css has them.
constexpr std::string_view kTypeFills[] = {"#4477aa", "#ddcc77", "#117733", "#cc6677",
                                           "#88ccee", "#882255", "#999933", "#aa4499"};

}  // namespace

std::string svg_escaped(const std::string& name) {
  std::string out;
  for (const char c : printable(name)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string svg_text(double x, double y, const std::string& text, std::string_view more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, more,
                     svg_escaped(text));
}

std::string svg_page(double width, double height, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1f2328\">\n"
      "<!-- {2} -->\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, kReportMark, body);
}

std::string_view type_fill(size_t type) { return kTypeFills[type % std::size(kTypeFills)]; }

std::string types_legend(const Json& checkpoint, double y) {
  std::string out;
  double x = 16;
  for (size_t i = 0; i < checkpoint["types"].size(); ++i) {
    const std::string name = checkpoint["types"][i]["type"];
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"{}\"/>\n",
                       x, y - 10, type_fill(i));
    out += svg_text(x + 16, y, name);
    x += 36 + 7.5 * static_cast<double>(name.size());
  }
  return out;
}

}  // namespace ckpt
