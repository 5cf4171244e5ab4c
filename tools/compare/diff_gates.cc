// The metrics that `ckpt diff --fail-if` accepts, and how its conditions are parsed.
#include <cmath>

#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "tools/compare/diff_values.h"

namespace ckpt {
namespace {

using Number = std::optional<double>;

Number nonfinite_of(const ValueDifference& difference) {
  return static_cast<double>(difference.sides[0].nonfinite + difference.sides[1].nonfinite);
}

Number flushed_of(const ValueDifference& difference) {
  const ValueSide& side = coded_side(difference);
  if (side.blocks == 0) return std::nullopt;
  return static_cast<double>(side.flushed_blocks);
}

constexpr Metric kMetrics[] = {
    {"rmse", "root of the mean squared difference",
     [](const ValueDifference& d) -> Number { return d.rmse(); }},
    {"relative", "rmse / root mean square of A",
     [](const ValueDifference& d) -> Number { return d.relative(); }},
    {"sqnr", "10 log10(squares of A / squared differences), in dB",
     [](const ValueDifference& d) -> Number { return d.sqnr_db(); }},
    {"cosine", "cosine of the angle between A and B",
     [](const ValueDifference& d) -> Number { return d.cosine(); }},
    {"max", "largest difference", [](const ValueDifference& d) -> Number { return d.max_error; }},
    {"saturated", "share of values with the first or last code of their type",
     [](const ValueDifference& d) -> Number { return coded_side(d).saturated(); }},
    {"flushed", "blocks that became all zeros", flushed_of},
    {"nonfinite", "values that are NaN or Inf, of both sides", nonfinite_of},
};

Failure bad_gate(std::string_view text) {
  std::string names;
  for (const Metric& metric : kMetrics) {
    names += (names.empty() ? "" : ", ") + std::string(metric.name);
  }
  return misuse_hint("--fail-if 'sqnr<20', 'total.cosine<0.99' or 'max>0.5'; metrics: " + names,
                     "--fail-if '{}'; expected [total.]METRIC, one of < <= > >=, and a number",
                     text);
}

}  // namespace

std::span<const Metric> all_metrics() { return kMetrics; }

const ValueSide& coded_side(const ValueDifference& difference) {
  const auto& [a, b] = difference.sides;
  return b.codes + b.blocks == 0 && a.codes + a.blocks > 0 ? a : b;
}

bool Gate::fails(double value) const {
  if (is_above) return or_equal ? !(value < limit) : !(value <= limit);
  return or_equal ? !(value > limit) : !(value >= limit);
}

Result<Gate> parse_gate(std::string_view text) {
  constexpr std::string_view kTotal = "total.";
  const size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos) return bad_gate(text);
  const bool or_equal = text.substr(at + 1).starts_with('=');
  Gate out{std::string(text), nullptr, false, text[at] == '>', or_equal, 0};
  std::string_view name = trimmed(text.substr(0, at));
  if (name.starts_with(kTotal)) {
    out.of_total = true;
    name.remove_prefix(kTotal.size());
  }
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) out.metric = &metric;
  }
  const std::string_view number = trimmed(text.substr(at + (or_equal ? 2 : 1)));
  const auto limit = number_from<double>(number);
  if (out.metric == nullptr || !limit || !std::isfinite(*limit)) return bad_gate(text);
  out.limit = *limit;
  return out;
}

}  // namespace ckpt
