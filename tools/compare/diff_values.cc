#include "tools/compare/diff_values.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/counted.h"
#include "core/engine/compare.h"
#include "core/engine/value_compare.h"
#include "quantizers/quantizers.h"
#include "tools/compare/value_pairs.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

// Added to "same": the verdict covers only values.
constexpr std::string_view kNotCompared = "; metadata and documents are not compared";

bool is_different(const ValueDifference& difference) {
  return difference.sum_squared_errors > 0 || difference.max_error > 0 ||
         difference.nonfinite_apart > 0;
}

// Orders by differing NaN and Inf values first, then by the distance of the values.
bool is_worse(const ValueDifference& a, const ValueDifference& b) {
  if ((a.nonfinite_apart > 0) != (b.nonfinite_apart > 0)) return a.nonfinite_apart > 0;
  if (is_different(a) != is_different(b)) return is_different(a);
  return a.relative() > b.relative();
}

class ValuesReport {
 public:
  ValuesReport(const Console& console, const ValueQuestion& question)
      : console_(console), question_(question) {}

  void cannot_compare(std::string_view tensor, std::string_view why) {
    apart_.push_back({std::string(tensor), "tensor", std::string(why)});
    ++not_compared_;
  }
  void bytes_differ(std::string_view tensor) {
    apart_.push_back({std::string(tensor), "bytes", "differ"});
    ++differing_;
    ++differing_bytes_;
  }
  // Adds all pairs; the largest differences come first.
  void add(const std::vector<ValuePair>& pairs, const std::vector<ValueDifference>& differences) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      compared_.push_back({pairs[i], differences[i]});
      differing_ += is_different(differences[i]) ? 1 : 0;
    }
    std::ranges::stable_sort(compared_, [](const Compared& a, const Compared& b) {
      return is_worse(a.difference, b.difference);
    });
  }

  Status check_gates(const ValueDifference& total) {
    for (const Gate& gate : question_.gates) {
      uint64_t asked = 0;
      const auto ask = [&](std::string_view name, const ValueDifference& difference) {
        const std::optional<double> value = gate.metric->of(difference);
        if (!value) return;
        ++asked;
        if (gate.fails(*value)) failed_.push_back({&gate, std::string(name), *value});
      };
      if (gate.of_total && !compared_.empty()) ask("total", total);
      for (size_t i = 0; !gate.of_total && i < compared_.size(); ++i) {
        ask(compared_[i].pair.a->name, compared_[i].difference);
      }
      if (asked == 0 && !is_any_unmeasured()) {
        return misuse("--fail-if '{}': none of the {} tensors has this number", gate.text,
                      compared_.size());
      }
    }
    // Sums leave out values that are not finite, so no gate would notice them.
    for (size_t i = 0; !question_.gates.empty() && i < compared_.size(); ++i) {
      const uint64_t apart = compared_[i].difference.nonfinite_apart;
      if (apart == 0) continue;
      cannot_compare(compared_[i].pair.a->name,
                     fmt::format("{} values differ and are NaN or Inf in A or B", apart));
    }
    return {};
  }

  bool is_well() const {
    if (is_any_unmeasured() || !failed_.empty()) return false;
    return !question_.gates.empty() || differing_ == 0;
  }
  uint64_t not_compared() const { return not_compared_; }
  // Prints the verdict, then the differences behind it.
  void print(const ValueDifference& total, size_t tensors, bool are_bridged) const {
    console_.answer(verdict(tensors, are_bridged));
    print_apart();
    print_compared(total);
    print_gates();
  }

 private:
  struct ValueMismatch {
    std::string what, kind, detail;
  };
  struct Compared {
    ValuePair pair;
    ValueDifference difference;
  };
  struct FailedGate {
    const Gate* gate;
    std::string tensor;
    double value;
  };
  // Whether there are differences without a number, which a gate would not notice.
  bool is_any_unmeasured() const { return not_compared_ > 0 || differing_bytes_ > 0; }
  // Infinite numbers become null, because JSON cannot express them.
  static Json json_of(const ValueDifference& difference) {
    const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    Json out = {{"values", difference.values},
                {"same", !is_different(difference)},
                {"rmse", finite(difference.rmse())},
                {"relative", finite(difference.relative())},
                {"sqnr_db", finite(difference.sqnr_db())},
                {"cosine", finite(difference.cosine())},
                {"max", finite(difference.max_error)}};
    const char* names[] = {"a", "b"};
    for (size_t i = 0; i < 2; ++i) {
      const ValueSide& side = difference.sides[i];
      const auto saturated = side.saturated();
      out[names[i]] = {{"nonfinite", side.nonfinite},
                       {"saturated", saturated ? Json(*saturated) : Json()},
                       {"blocks", side.blocks},
                       {"flushed_blocks", side.flushed_blocks}};
    }
    return out;
  }

  static std::vector<std::string> cells(const ValueDifference& difference) {
    const ValueSide& coded = coded_side(difference);
    const auto saturated = coded.saturated();
    const double sqnr = difference.sqnr_db();
    return {fmt::format("{:.3e}", difference.rmse()),
            fmt::format("{:.4f}", difference.relative()),
            std::isfinite(sqnr) ? fmt::format("{:.2f}", sqnr)
            : sqnr > 0          ? "same"
                                : "-inf",
            fmt::format("{:.6f}", difference.cosine()),
            fmt::format("{:.3e}", difference.max_error),
            saturated ? fmt::format("{:.2f} %", 100 * *saturated) : "-",
            coded.blocks == 0 ? "-" : fmt::format("{}", coded.flushed_blocks),
            fmt::format("{}", difference.sides[0].nonfinite + difference.sides[1].nonfinite)};
  }

  std::string verdict(size_t tensors, bool are_bridged) const {
    std::string out;
    if (!failed_.empty()) out = fmt::format("{} limits are not kept; ", failed_.size());
    if (tensors == 0) return out + counted(not_compared_, "tensor") + " could not be compared";
    const std::string apart =
        not_compared_ == 0 ? "" : fmt::format("; {} could not be compared", not_compared_);
    if (differing_ == 0) {
      const std::string_view form =
          are_bridged
              ? "the same in meaning: all {} tensors hold the same values, stored differently"
              : "the same values: all {} tensors";
      return out + fmt::format(fmt::runtime(form), tensors) + apart + std::string(kNotCompared);
    }
    out += fmt::format("{} of {} tensors have other values", differing_, tensors);
    if (!compared_.empty() && is_different(compared_[0].difference)) {
      const Compared& worst = compared_[0];
      const double sqnr = worst.difference.sqnr_db();
      out += fmt::format(", the worst {}", worst.pair.a->name);
      if (std::isfinite(sqnr)) out += fmt::format(" ({:.2f} dB)", sqnr);
    }
    return out + apart;
  }

  void print_apart() const {
    const size_t shown = std::min<size_t>(apart_.size(), question_.top);
    for (const ValueMismatch& one : std::span(apart_).first(shown)) {
      console_.answer("{}  {}{}", one.what, one.kind == "bytes" ? "bytes " : "", one.detail);
      console_.object("difference",
                      {{"what", one.what}, {"kind", one.kind}, {"detail", one.detail}});
    }
    if (shown < apart_.size()) console_.answer("... and {} more", apart_.size() - shown);
  }

  void print_compared(const ValueDifference& total) const {
    Table table({"tensor", "A", "B", "rmse", "relative", "sqnr dB", "cosine", "max", "saturated",
                 "flushed", "non-finite"});
    uint64_t differing = 0;
    for (size_t i = 0; i < compared_.size(); ++i) {
      const auto& [pair, difference] = compared_[i];
      differing += is_different(difference) ? 1 : 0;
      if (i >= question_.top) continue;
      const std::string types[] = {std::string(codec_of(*pair.a).name),
                                   std::string(codec_of(*pair.b).name)};
      Json fields = {{"tensor", pair.a->name}, {"type_a", types[0]}, {"type_b", types[1]}};
      fields.update(json_of(difference));
      console_.object("values", std::move(fields));
      if (!is_different(difference)) continue;
      std::vector<std::string> row = {pair.a->name, types[0], types[1]};
      for (std::string& cell : cells(difference)) row.push_back(std::move(cell));
      table.add(std::move(row));
    }
    std::vector<std::string> row = {fmt::format("total of {} tensors", compared_.size()), "", ""};
    for (std::string& cell : cells(total)) row.push_back(std::move(cell));
    table.add(std::move(row));
    Json fields = {{"tensors", compared_.size()}};
    fields.update(json_of(total));
    console_.object("total", std::move(fields));
    if (compared_.empty()) return;
    console_.answer_table(table,
                          {false, false, false, true, true, true, true, true, true, true, true});
    if (differing > question_.top) {
      console_.answer("... and {} more", differing - question_.top);
    }
  }

  void print_gates() const {
    for (const auto& [gate, tensor, value] : failed_) {
      console_.answer("failed: {}  {}  {} {:.6g}", gate->text, tensor, gate->metric->name, value);
      console_.object("gate", {{"gate", gate->text},
                               {"tensor", tensor},
                               {"metric", gate->metric->name},
                               {"value", std::isfinite(value) ? Json(value) : Json()},
                               {"passed", false}});
    }
  }

  const Console& console_;
  const ValueQuestion& question_;
  std::vector<ValueMismatch> apart_;
  std::vector<Compared> compared_;
  std::vector<FailedGate> failed_;
  uint64_t differing_ = 0, differing_bytes_ = 0, not_compared_ = 0;
};

Status compare_all_bytes(const std::vector<ValuePair>& pairs, ValuesReport& report) {
  for (const ValuePair& pair : pairs) {
    CKPT_ASSIGN(const bool same, same_bytes(*pair.a, *pair.b));
    if (!same) report.bytes_differ(pair.a->name);
  }
  return {};
}

}  // namespace

Result<bool> diff_values(const ValueSides& sides, const ValueQuestion& question,
                         const Console& console, const CommonOptions& common) {
  for (const std::string& note : sides.notes) console.warn(note);
  ValuesReport report(console, question);
  const PairedTensors pairs = pair_tensors(sides.a, sides.b, question.tensors);
  for (const auto& [tensor, why] : pairs.apart) report.cannot_compare(tensor, why);
  if (pairs.values.empty() && pairs.bytes.empty() && report.not_compared() == 0) {
    return misuse("no tensor name matches '{}'", question.tensors);
  }
  ProgressLine progress(console, "comparing");
  CKPT_TRY(compare_all_bytes(pairs.bytes, report));
  CKPT_ASSIGN(const std::vector<ValueDifference> differences,
              compare_values(pairs.values, plain_codec(all_codecs(), Dtype::kF32),
                             {common.threads, common.memory_bytes, &interrupted, &progress}));
  progress.clear();
  ValueDifference total;
  for (const ValueDifference& difference : differences) combine(total, difference);
  report.add(pairs.values, differences);
  CKPT_TRY(report.check_gates(total));
  report.print(total, pairs.values.size() + pairs.bytes.size(), sides.are_bridged);
  return report.is_well();
}

}  // namespace ckpt
