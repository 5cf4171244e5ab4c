// The list of transforms.
#include "transforms/transforms.h"

#include "transforms/awq_fold_repair.h"
#include "transforms/cast.h"
#include "transforms/config_edit.h"
#include "transforms/dequantize.h"
#include "transforms/drop.h"
#include "transforms/export.h"
#include "transforms/from_gguf.h"
#include "transforms/graft.h"
#include "transforms/metadata_edit.h"
#include "transforms/mixed_to_nvfp4.h"
#include "transforms/mixture.h"
#include "transforms/nvfp4_layout.h"
#include "transforms/quantize.h"
#include "transforms/rename.h"
#include "transforms/serving_config.h"
#include "transforms/to_gguf.h"
#include "transforms/tokenizer.h"
#include "transforms/vl_preprocessor.h"
#include "transforms/vl_wrap.h"

namespace ckpt {
namespace {

const Transform* const kTransforms[] = {
    &kToGguf,       &kQuantize,     &kCast,         &kExport,        &kNvfp4Layout,
    &kFromGguf,     &kDequantize,   &kMixedToNvfp4, &kAwqFoldRepair, &kVlWrap,
    &kVlUnwrap,     &kPreprocessor, &kTokenizer,    &kServingConfig, &kConfigEdit,
    &kMetadataEdit, &kGraft,        &kDrop,         &kRename,
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
