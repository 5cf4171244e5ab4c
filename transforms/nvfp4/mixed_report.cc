// The report of mixed-to-nvfp4 about the changed layers: what was done with each, and how far its
// values are from the base's or, without a base, from the previous values.
//   model.layers.0.mlp.down_proj: NVFP4_AWQ -> NVFP4 (…), 20.1 dB before, 19.4 dB after
//
// The signal-to-noise ratio compares the weights as the layers now compute with them, including
// factors moved to or from other layers. Without a base, "after" is the loss of this step only, in
// addition to that of the source.

#include <algorithm>

#include "core/chunks/evaluate.h"
#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {
namespace {

constexpr size_t kWorst = 3;

struct LayerReport {
  size_t layer = 0;
  std::string text;
  std::optional<double> after_db;
};

class Reporter {
 public:
  explicit Reporter(const MixedJob& job) : job_(job) {}

  Status run() {
    for (size_t i = 0; i < job_.plans.size(); ++i) {
      if (!is_reported(i)) continue;
      CKPT_TRY(in(job_.model.layers[i].module, add(i)));
    }
    note_counts();
    note_layers();
    return check_worst();
  }

 private:
  const LayerPlan& plan(size_t layer) const { return job_.plans[layer]; }

  bool is_reported(size_t layer) const {
    const LayerPlan& found = plan(layer);
    if (job_.model.layers[layer].is_quantized()) return found.is_changed() || !found.how.empty();
    return found.action != LayerAction::kPlain || !found.columns.empty() || !found.rows.empty();
  }

  // Compares with the expected values: the base's or the previous ones, including all factors.
  Result<ValueError> measure(size_t layer) const {
    const LayerPlan& found = plan(layer);
    if (found.action == LayerAction::kRescale) {
      CKPT_ASSIGN(const Tensor made, rescaled_blocks(job_, layer));
      CKPT_ASSIGN(const Tensor exact, recode(made, plain_codec(job_.context.codecs, Dtype::kF32)));
      return measure_error(made, exact);
    }
    CKPT_ASSIGN(const Tensor expected, target_of(job_, layer));
    CKPT_ASSIGN(const Tensor made, encoded_weight(job_, layer));
    return measure_error(made, expected);
  }

  Status add(size_t layer) {
    const LayerPlan& found = plan(layer);
    LayerReport out{layer, {}, {}};
    std::string how = found.how;
    const auto say = [&](std::string_view text) {
      how += fmt::format("{}{}", how.empty() ? "" : "; ", text);
    };
    const bool is_made =
        found.action == LayerAction::kRequantize || found.action == LayerAction::kPlain;
    if (is_made && found.base) say("from the base");
    if (!found.rows.empty()) say("rows times the scale of the layer behind");
    std::string figures;
    if (found.base && found.action == LayerAction::kRequantize) {
      CKPT_ASSIGN(const Tensor now, effective_weight(job_, layer));
      CKPT_ASSIGN(const ValueError before, measure_error(now, *found.base));
      figures += fmt::format(", {:.1f} dB before", before.sqnr_db());
    }
    if (found.action == LayerAction::kRequantize || found.action == LayerAction::kRescale) {
      CKPT_ASSIGN(const ValueError after, measure(layer));
      const bool is_exact = after.noise <= 0;
      figures += is_exact
                     ? std::string(", exact")
                     : fmt::format(", {:.1f} dB{}", after.sqnr_db(), found.base ? " after" : "");
      if (!is_exact) out.after_db = after.sqnr_db();
    }
    out.text = fmt::format("{}: {} -> {}{}{}", job_.model.layers[layer].module,
                           job_.model.layers[layer].was(),
                           found.action == LayerAction::kPlain ? "plain" : job_.algo,
                           how.empty() ? "" : fmt::format(" ({})", how), figures);
    reports_.push_back(std::move(out));
    return {};
  }

  void note_counts() const {
    uint64_t kept = 0, rescaled = 0, requantized = 0, from_base = 0, plain = 0;
    for (size_t i = 0; i < job_.plans.size(); ++i) {
      const MixedLayer& layer = job_.model.layers[i];
      const LayerPlan& found = plan(i);
      if (found.action == LayerAction::kKeep) ++kept;
      if (found.action == LayerAction::kRescale) ++rescaled;
      if (found.action == LayerAction::kRequantize) ++requantized;
      if (found.action == LayerAction::kRequantize && found.base) ++from_base;
      if (found.action == LayerAction::kPlain && layer.is_quantized()) ++plain;
    }
    job_.context.note(
        "mixed-to-nvfp4: {} layers as they were, {} with block scales rounded again, {} "
        "requantized ({} from the base), {} made plain and excluded",
        kept, rescaled, requantized, from_base, plain);
    if (requantized > from_base) {
      job_.context.note(
          "{} layers were quantized from weights that were quantized before: base=DIR loses less",
          requantized - from_base);
    }
  }

  void note_layers() const {
    if (job_.options.report_all) {
      for (const LayerReport& report : reports_) job_.context.note(report.text);
      return;
    }
    std::vector<const LayerReport*> worst;
    for (const LayerReport& report : reports_) {
      if (report.after_db && plan(report.layer).action == LayerAction::kRequantize)
        worst.push_back(&report);
    }
    std::ranges::stable_sort(
        worst, [](const auto* a, const auto* b) { return *a->after_db < *b->after_db; });
    if (worst.size() > kWorst) worst.resize(kWorst);
    for (const LayerReport* report : worst) job_.context.note("among the worst: " + report->text);
  }

  Status check_worst() const {
    if (!job_.options.fail_below_db) return {};
    for (const LayerReport& report : reports_) {
      if (!report.after_db || *report.after_db >= *job_.options.fail_below_db) continue;
      return unsupported_hint("base=DIR or fp8=bf16 in this step", "{}; fail-below asks for {} dB",
                              report.text, *job_.options.fail_below_db);
    }
    return {};
  }

  const MixedJob& job_;
  std::vector<LayerReport> reports_;
};

}  // namespace

Status report_layers(const MixedJob& job) { return Reporter(job).run(); }

}  // namespace ckpt
