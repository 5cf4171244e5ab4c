// Lists the values of --to with their sizes, errors and uses.
#include <algorithm>

#include "plan/text/type_names.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

//   bits    average per weight of a model with 8 B parameters, including tensors that a mixture
//           stores in other types
//   error   relative RMSE in percent, measured on normally distributed weights of such a model,
//           with an importance matrix only for types that need one
struct TypeFacts {
  std::string_view name;
  double bits, error;
  std::string_view use;
};
constexpr TypeFacts kTypeFacts[] = {
    {"f32", 32, 0, "exact for every float type; for further conversions"},
    {"f16", 16, 0.02, "half floats, up to 65504"},
    {"bf16", 16, 0.17, "exact for models that were trained in it, as most are"},
    {"q8_0", 8.5, 0.54, "hardly any loss, fast everywhere"},
    {"q6_k", 6.56, 1.78, "loss that is hard to measure"},
    {"q5_1", 6.04, 3.69, "an older type; q6_k has half the error"},
    {"q5_k_m", 5.70, 3.33, "a small loss"},
    {"q5_k_s", 5.57, 3.51, "a small loss"},
    {"q5_0", 5.57, 4.15, "an older type; q5_k_s has a lower error at this size"},
    {"q4_1", 5.10, 7.57, "an older type; q4_k_m is smaller and has a lower error"},
    {"q4_k_m", 4.89, 6.45, "the usual choice: under a third of bf16, with a moderate loss"},
    {"iq4_nl", 4.68, 7.12, "4 bits for rows that are not multiples of 256"},
    {"q4_k_s", 4.67, 6.81, "a little smaller than q4_k_m"},
    {"q4_0", 4.64, 8.32, "the fastest 4 bits on some CPUs and phones"},
    {"nvfp4-ggml", 4.64, 9.99, "NVFP4 in a GGUF, for GPUs that compute with it"},
    {"mxfp4_moe", 4.25, 11.4, "experts in MXFP4, as in gpt-oss; all other weights in q8_0"},
    {"iq4_xs", 4.46, 7.18, "the smallest 4 bits; on CPUs slower than q4_k_s"},
    {"q3_k_l", 4.30, 12.0, "3 bits, more of them for attention and ffn_down"},
    {"q3_k_m", 4.00, 12.5, "a noticeable loss"},
    {"iq3_m", 3.76, 12.6, "a noticeable loss; use --imatrix"},
    {"iq3_s", 3.66, 13.1, "a noticeable loss; use --imatrix"},
    {"q3_k_s", 3.64, 14.6, "iq3_s has a lower error at this size"},
    {"iq3_xs", 3.50, 15.3, "needs --imatrix for some tensors"},
    {"iq3_xxs", 3.25, 17.6, "needs --imatrix"},
    {"q2_k", 3.16, 22.6, "a strong loss; iq3_xxs has a lower error"},
    {"q2_k_s", 2.97, 25.3, "a strong loss; needs --imatrix"},
    {"iq2_m", 2.93, 22.4, "for very large models; needs --imatrix"},
    {"iq2_s", 2.74, 26.7, "for very large models; needs --imatrix"},
    {"iq2_xs", 2.59, 28.4, "for very large models; needs --imatrix"},
    {"tq2_0", 2.52, 75.3, "only for models that were trained with ternary weights"},
    {"iq2_xxs", 2.38, 32.3, "for very large models; needs --imatrix"},
    {"tq1_0", 2.19, 75.3, "only for models that were trained with ternary weights"},
    {"iq1_m", 2.15, 41.1, "when nothing else fits; needs --imatrix"},
    {"iq1_s", 2.00, 43.9, "when nothing else fits; needs --imatrix"},
    {"nvfp4", 4.5, 9.51, "NVFP4 weights and inputs, as ModelOpt exports; needs activation maxima"},
    {"nvfp4-w4a16", 4.5, 9.51, "NVFP4 weights, inputs stay 16 bits; needs no calibration"},
    {"fp8", 8, 2.67, "FP8 weights and inputs, as ModelOpt exports; needs activation maxima"},
};

TargetType described(std::string_view name, std::string_view kind, std::string_view base) {
  const auto* facts = std::ranges::find(kTypeFacts, name, &TypeFacts::name);
  if (facts == std::end(kTypeFacts)) return {name, kind, "", base, 0, 0};
  return {name, kind, std::string(facts->use), base, facts->bits, facts->error};
}

}  // namespace

std::vector<TargetType> target_types() {
  std::vector<TargetType> out;
  for (const TypeInfo& type : all_types())
    out.push_back(described(type.name, "mixture", type.base));
  for (const std::string_view name : {"nvfp4", "nvfp4-w4a16", "fp8"}) {
    out.push_back(described(name, "export", ""));
  }
  return out;
}

}  // namespace ckpt
