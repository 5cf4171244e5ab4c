// The awq-fold-repair step: repairs norms into which ModelOpt folded AWQ scales as if they
// multiplied by w, although the model computes 1 + w (Qwen3.5, Qwen3-Next); formulas: awq_folds.h.
//
//   norm           w s            ──▶ (1 + w) s - 1
//   in_proj_a, in_proj_b, gates   ──▶ columns divided by s
//   everything else, documents    ──▶ unchanged
#include "core/model/transform.h"
#include "transforms/nvfp4/awq_folds.h"

namespace ckpt {
namespace {

constexpr OptionRule kAwqFoldRepairOptions[] = {
    option::path("base", "DIR", "the float checkpoint that was quantized; needed"),
};

// Fails: kUsage: no base; otherwise as read_mixed_model, BaseWeights::open, repair_norm_folds.
Result<Checkpoint> repair_awq_folds(Checkpoint checkpoint, const OptionValues& options,
                                    const Context& context) {
  CKPT_ASSIGN(const MixedModel model, read_mixed_model(checkpoint));
  const auto folder = options.find("base");
  if (!folder) {
    CKPT_ASSIGN(const NameCount suspects, suspect_norm_folds(checkpoint, model));
    return misuse_hint("--step awq-fold-repair:base=DIR",
                       "base is missing, the checkpoint that was quantized; without it {}",
                       suspects.count() == 0 ? "no norm looks wrongly folded"
                                             : suspects.text("norms look wrongly folded"));
  }
  if (!has_known_layers(model.model_type)) {
    return unsupported("model type '{}': which layers read which norm is not known",
                       model.model_type);
  }
  CKPT_ASSIGN(const BaseWeights base, BaseWeights::open(*folder, context));
  CKPT_ASSIGN(const FoldRepair repair, repair_norm_folds(checkpoint, model, base));
  context.note("awq-fold-repair: " + (repair.is_empty()
                                          ? "no norm is folded wrongly; nothing changed"
                                          : describe(repair)));
  return checkpoint;
}

}  // namespace

extern constinit const Transform kAwqFoldRepair = {
    "awq-fold-repair", "repair AWQ scales folded into norms that compute (1 + w)",
    kAwqFoldRepairOptions, repair_awq_folds};

}  // namespace ckpt
