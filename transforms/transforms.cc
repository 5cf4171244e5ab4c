// The list of transforms.
#include "transforms/transforms.h"

#include "transforms/hf/serving_config.h"
#include "transforms/llama_quantize/mixture.h"
#include "transforms/llama_quantize/quantize.h"
#include "transforms/modelopt_export/export.h"
#include "transforms/nvfp4/awq_fold_repair.h"
#include "transforms/nvfp4/dequantize.h"
#include "transforms/nvfp4/mixed_to_nvfp4.h"
#include "transforms/steps.h"
#include "transforms/vl/preprocessor.h"
#include "transforms/vl/wrap.h"

namespace ckpt {
namespace {

const Transform* const kTransforms[] = {
    &kToGguf,     &kQuantize,     &kCast,         &kExport,       &kNvfp4Layout,
    &kFromGguf,   &kToMmproj,     &kDequantize,   &kMixedToNvfp4, &kAwqFoldRepair,
    &kVlWrap,     &kVlUnwrap,     &kPreprocessor, &kTokenizer,    &kServingConfig,
    &kConfigEdit, &kMetadataEdit, &kGraft,        &kDrop,         &kRename,
};

}  // namespace

Transforms all_transforms() { return kTransforms; }

const Transform* find_transform(std::string_view name) {
  for (const Transform* transform : kTransforms) {
    if (transform->name == name) return transform;
  }
  return nullptr;
}

std::vector<TypeInfo> all_types() {
  std::vector<TypeInfo> out;
  for (const Mixture& mixture : all_mixtures()) {
    out.push_back({mixture.name, info(mixture.base).name});
  }
  return out;
}

}  // namespace ckpt
