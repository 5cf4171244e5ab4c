// The mixed-to-nvfp4 step: turns checkpoints with FP8, NVFP4 and NVFP4_AWQ layers into plain NVFP4,
// which every server reads.
//
//   NVFP4                     unchanged, bit for bit
//   NVFP4_AWQ                 pre_quant_scale folded into the preceding layer or norm if that is
//                             exact; the rest into the columns, requantized
//   FP8                       requantized, from the base if available; or plain floats
//   joined by servers         the same algorithm, weight_scale_2 and input_scale
//   documents                 one quant_algo with exclude_modules, the same in both
//
// Merely dropping pre_quant_scale or renaming the algorithm would give wrong products, because
// weights are stored divided by it.
#include <algorithm>

#include "core/model/transform.h"
#include "transforms/modelopt_export/options.h"
#include "transforms/nvfp4/awq_folds.h"
#include "transforms/nvfp4/mixed_job.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

constexpr Choice kFp8Actions[] = {{"nvfp4", false}, {"bf16", true}, {"exclude", true}};
constexpr Choice kReports[] = {{"worst", false}, {"all", true}};
constexpr OptionRule kMixedOptions[] = {
    option::path("base", "DIR",
                 "the float checkpoint that was quantized; layers are encoded from it"),
    option::choice("fp8", kFp8Actions, "FP8 layers: requantized, or plain and excluded")
        .by_default("nvfp4"),
    option::choice("search", kScaleSearches, "block scales of requantized layers")
        .by_default("sweep"),
    option::choice("rounding", kRoundings, "how scales are divided: gpu multiplies by a reciprocal")
        .by_default("gpu"),
    option::choice("report", kReports, "which layers are reported; worst: of requantized ones")
        .by_default("worst"),
    option::number("fail-below", "DB",
                   "refuse when a layer's signal-to-noise ratio falls below this", {0, 1000}),
};

MixedOptions mixed_options(const OptionValues& options) {
  MixedOptions out;
  out.fp8_stays_plain = options.choice<bool>("fp8");
  out.encode.search = options.choice<ScaleSearch>("search");
  out.encode.cpu_rounding = options.choice<bool>("rounding");
  out.report_all = options.choice<bool>("report");
  out.fail_below_db = options.number("fail-below");
  return out;
}

bool is_plain_nvfp4(const MixedModel& model) {
  const auto& layers = model.layers;
  return model.config.algo.name == "NVFP4" &&
         std::ranges::none_of(layers, [](const MixedLayer& layer) {
           return layer.kind == LayerKind::kFp8 || layer.pre_quant_scale;
         });
}

// Repairs norms with wrongly folded AWQ scales if there is a base; otherwise reports them.
Status fix_norms(Checkpoint& checkpoint, const MixedModel& model, const BaseWeights* base,
                 const Context& context) {
  if (!may_have_awq(model)) return {};
  if (base != nullptr) {
    CKPT_ASSIGN(const FoldRepair repair, repair_norm_folds(checkpoint, model, *base));
    if (!repair.is_empty()) context.note(describe(repair));
    return {};
  }
  CKPT_ASSIGN(const NameCount suspects, suspect_norm_folds(checkpoint, model));
  if (suspects.count() == 0) return {};
  context.note(
      "{}: this model is wrong by more than quantizing loses. Try: --step "
      "awq-fold-repair:base=DIR before this step, or base=DIR in it",
      suspects.text(kLooksFolded));
  return {};
}

// Fails: kUsage for options; kUnsupported and kCorrupt as read_mixed_model; kCorrupt: a layer lacks
// its partner.
Result<Checkpoint> mixed_to_nvfp4(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context) {
  const MixedOptions parsed = mixed_options(options);
  CKPT_ASSIGN(const MixedModel model, read_mixed_model(checkpoint));
  CKPT_TRY(check_weights_are_read(checkpoint));
  if (is_plain_nvfp4(model)) {
    context.note("mixed-to-nvfp4: the checkpoint is plain NVFP4 already; nothing changed");
    return checkpoint;
  }
  std::optional<BaseWeights> base;
  const std::string folder = options.text("base");
  if (!folder.empty()) CKPT_SET(base, BaseWeights::open(folder, context));
  CKPT_TRY(fix_norms(checkpoint, model, base ? &*base : nullptr, context));
  MixedJob job{checkpoint,
               model,
               parsed,
               context,
               base ? &*base : nullptr,
               std::vector<LayerPlan>(model.layers.size())};
  CKPT_TRY(match_base(job));
  CKPT_TRY(fold_scales(job));
  CKPT_TRY(assign_layer_actions(job));
  CKPT_TRY(report_layers(job));
  CKPT_TRY(build_nvfp4(job));
  return checkpoint;
}

}  // namespace

extern constinit const Transform kMixedToNvfp4 = {"mixed-to-nvfp4",
                                                  "FP8, NVFP4 and NVFP4_AWQ layers to plain NVFP4",
                                                  kMixedOptions, mixed_to_nvfp4};

}  // namespace ckpt
