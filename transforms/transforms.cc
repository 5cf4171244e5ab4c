// The list of transforms.
#include "transforms/transforms.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/llama_quantize/mixture.h"
#include "transforms/modelopt_export/select.h"
#include "transforms/to_mmproj/families/families.h"
#include "transforms/vl/families.h"

namespace ckpt {

// The steps, one source file each.
extern const Transform kToGguf, kQuantize, kCast, kExport, kNvfp4Layout, kFromGguf, kToMmproj,
    kDequantize, kMixedToNvfp4, kAwqFoldRepair, kVlWrap, kVlUnwrap, kPreprocessor, kTokenizer,
    kServingConfig, kConfigEdit, kMetadataEdit, kGraft, kDrop, kRename, kExperts, kLora,
    kLoraToGguf, kComplete, kReindex;

namespace {

const Transform* const kTransforms[] = {
    &kToGguf,     &kQuantize,     &kCast,         &kExport,       &kNvfp4Layout,
    &kFromGguf,   &kToMmproj,     &kDequantize,   &kMixedToNvfp4, &kAwqFoldRepair,
    &kVlWrap,     &kVlUnwrap,     &kPreprocessor, &kTokenizer,    &kServingConfig,
    &kConfigEdit, &kMetadataEdit, &kGraft,        &kDrop,         &kRename,
    &kExperts,    &kLora,         &kLoraToGguf,   &kComplete,     &kReindex,
};

bool is_wrapped_by(const VlFamily& wrapper, std::string_view architectures) {
  return has_word(architectures, wrapper.architecture) ||
         std::ranges::any_of(wrapper.texts, [&](const VlText& text) {
           return has_word(architectures, text.architecture);
         });
}

// Whether rows are shorter than the 16 values that share a scale in NVFP4.
bool has_narrow_rows(const Family& family) {
  const JsonValue usual = JsonValue::object();  // all fields have their default
  for (const std::span<const ParameterRule> list : family.parameters) {
    for (const ParameterRule& rule : list) {
      const std::vector<std::string_view> shape = split_words(rule.shape);
      if (shape.size() != 2 || !rule.name.ends_with(".weight")) continue;
      const auto columns = number_of_fields(family, usual, shape[1]);
      if (columns && *columns > 0 && *columns < 16) return true;
    }
  }
  return false;
}

// Whether experts can be exported: rules that exchange their axes mark experts stored exchanged.
bool exports_experts(const Family& family) {
  const bool is_exchanged = std::ranges::any_of(family.names, [](std::span<const NameRule> list) {
    return std::ranges::any_of(list, [](const NameRule& rule) {
      const bool swaps = rule.change == Change::kSwap || rule.change == Change::kSwapPairs ||
                         rule.change == Change::kSwapHalves;
      return swaps && is_of_experts(rule.from);
    });
  });
  return !is_exchanged || takes_exchanged_experts(family.text_type()) ||
         keeps_experts_stacked(family.text_type());
}

}  // namespace

Transforms all_transforms() { return kTransforms; }

const Transform* find_transform(std::string_view name) {
  const auto* found = std::ranges::find(kTransforms, name, &Transform::name);
  return found == std::end(kTransforms) ? nullptr : *found;
}

std::vector<FamilyInfo> all_families() {
  std::vector<FamilyInfo> out;
  for (const Family* family : families()) {
    FamilyInfo info{family->name, family->architectures};
    const std::vector<std::string_view> classes = split_words(info.architectures);
    info.has_projector =
        std::ranges::any_of(projector_families(), [&](const ProjectorFamily* projector) {
          return std::ranges::any_of(classes, [&](std::string_view name) {
            return has_word(projector->architectures, name);
          });
        });
    info.has_wrapper = std::ranges::any_of(all_vl_families(), [&](const VlFamily& wrapper) {
      return is_wrapped_by(wrapper, info.architectures);
    });
    // Whether a folder can get it.
    const bool has_vocabulary = !family->tokenizer.is_encoder || family->tokenizer.is_t5;
    const bool has_class = std::ranges::any_of(
        classes, [](std::string_view name) { return returned_class(name).has_value(); });
    info.comes_back = has_vocabulary && has_class && turns_back(*family);
    const bool has_experts = exports_experts(*family);
    if (has_narrow_rows(*family)) info.not_in_nvfp4 = "narrow rows";
    if (!has_experts) info.not_in_nvfp4 = "experts";
    info.has_fp8_export = has_experts && !keeps_experts_stacked(family->text_type());
    out.push_back(info);
  }
  return out;
}

std::vector<TypeInfo> all_types() {
  std::vector<TypeInfo> out;
  for (const Mixture& mixture : all_mixtures()) {
    out.push_back({mixture.name, info(mixture.base).name, static_cast<uint32_t>(mixture.file_type),
                   mixture.alias, mixture.target_place});
  }
  return out;
}

}  // namespace ckpt
