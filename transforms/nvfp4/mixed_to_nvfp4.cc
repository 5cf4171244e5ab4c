#include "transforms/nvfp4/mixed_to_nvfp4.h"

#include <algorithm>
#include <charconv>

#include "transforms/hf/packed_weights.h"
#include "transforms/nvfp4/awq_folds.h"
#include "transforms/nvfp4/mixed_job.h"
#include "transforms/steps.h"

namespace ckpt {
namespace {

constexpr OptionRule kMixedOptions[] = {
    {"base", "DIR", "the float checkpoint that was quantized; layers are encoded from it"},
    {"fp8", "nvfp4|bf16|exclude", "FP8 layers: encoded anew (default), or plain and excluded"},
    {"search", "none|four-over-six|sweep|best", "block scales of what is encoded anew; sweep"},
    {"rounding", "gpu|cpu", "how scales are divided: gpu (default) multiplies by a reciprocal"},
    {"report", "worst|all", "which layers are told of; worst (default) of those encoded anew"},
    {"fail-below", "DB", "refuse when a layer's signal-to-noise ratio falls below this"},
};

Failure bad_value(std::string_view key, std::string_view value) {
  const auto rule = std::find_if(std::begin(kMixedOptions), std::end(kMixedOptions),
                                 [&](const OptionRule& each) { return each.name == key; });
  return fail(ErrorCode::kUsage, "{}: '{}'; expected {}", key, value, rule->value);
}

Result<ScaleSearch> parse_search(const std::string& text) {
  if (text == "none") return ScaleSearch::kNone;
  if (text == "four-over-six") return ScaleSearch::kFourOverSix;
  if (text == "sweep") return ScaleSearch::kSweep;
  if (text == "best") return ScaleSearch::kBest;
  return bad_value("search", text);
}

Result<MixedOptions> parse(const Options& options) {
  MixedOptions out;
  out.base = options.get("base").value_or("");
  const std::string fp8 = options.get("fp8").value_or("nvfp4");
  if (fp8 != "nvfp4" && fp8 != "bf16" && fp8 != "exclude") return bad_value("fp8", fp8);
  out.fp8_stays_plain = fp8 != "nvfp4";
  CKPT_ASSIGN(out.encode.search, parse_search(options.get("search").value_or("sweep")));
  const std::string rounding = options.get("rounding").value_or("gpu");
  if (rounding != "gpu" && rounding != "cpu") return bad_value("rounding", rounding);
  out.encode.cpu_rounding = rounding == "cpu";
  const std::string report = options.get("report").value_or("worst");
  if (report != "worst" && report != "all") return bad_value("report", report);
  out.report_all = report == "all";
  if (const auto text = options.get("fail-below")) {
    double value = 0;
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text->data() + text->size()) {
      return bad_value("fail-below", *text);
    }
    out.fail_below_db = value;
  }
  return out;
}

bool is_plain_nvfp4(const MixedModel& model) {
  const auto& layers = model.layers;
  return model.config.algo.name == "NVFP4" &&
         std::none_of(layers.begin(), layers.end(), [](const MixedLayer& layer) {
           return layer.kind == LayerKind::kFp8 || layer.pre_quant_scale >= 0;
         });
}

// Norms that an exporter folded AWQ scales into wrongly: fixed with a base, else told.
Status mend_norms(Checkpoint& checkpoint, const MixedModel& model, const BaseWeights* base,
                  const Context& context) {
  if (!may_have_awq(model)) return {};
  if (base != nullptr) {
    CKPT_ASSIGN(const FoldRepair repair, repair_norm_folds(checkpoint, model, *base));
    if (repair.norms + repair.readers + repair.unclear > 0) context.note(describe(repair));
    return {};
  }
  CKPT_ASSIGN(const std::vector<std::string> suspects, suspect_norm_folds(checkpoint, model));
  if (suspects.empty()) return {};
  context.note(
      fmt::format("{} norms look as if AWQ scales were folded into w of 1 + w (the first: '{}'): "
                  "this model is wrong by more than quantizing loses. Try: --step "
                  "awq-fold-repair:base=DIR before this step, or base=DIR in it",
                  suspects.size(), suspects[0]));
  return {};
}

}  // namespace

Result<Checkpoint> mixed_to_nvfp4(Checkpoint checkpoint, const Options& options,
                                  const Context& context) {
  CKPT_ASSIGN(const MixedOptions parsed, parse(options));
  CKPT_ASSIGN(const MixedModel model, read_mixed_model(checkpoint));
  CKPT_TRY(check_weights_are_read(checkpoint));
  if (is_plain_nvfp4(model)) {
    context.note("mixed-to-nvfp4: the checkpoint is plain NVFP4 already; nothing changed");
    return checkpoint;
  }
  std::optional<BaseWeights> base;
  if (!parsed.base.empty()) {
    CKPT_ASSIGN(base, BaseWeights::open(parsed.base, context));
  }
  CKPT_TRY(mend_norms(checkpoint, model, base ? &*base : nullptr, context));
  MixedJob job{checkpoint,
               model,
               parsed,
               context,
               base ? &*base : nullptr,
               std::vector<LayerPlan>(model.layers.size())};
  CKPT_TRY(match_base(job));
  CKPT_TRY(fold_scales(job));
  CKPT_TRY(assign_fates(job));
  CKPT_TRY(report_layers(job));
  CKPT_TRY(build_nvfp4(job));
  return checkpoint;
}

constinit const Transform kMixedToNvfp4 = {"mixed-to-nvfp4",
                                           "FP8, NVFP4 and NVFP4_AWQ layers to plain NVFP4",
                                           kMixedOptions, mixed_to_nvfp4};

}  // namespace ckpt
