// Which tensors MLX saved otherwise than the model's release has them.
#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/lines.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {

extern const std::string_view kMlx;  // data/mlx.txt

namespace {

const std::vector<MlxRule>& mlx_rules() {
  static const std::vector<MlxRule> rules = [] {
    std::vector<MlxRule> out;
    for (const auto& row : table_rows(kMlx, 5)) {
      out.push_back({row[0], row[1], row[2], row[3], row[4]});
    }
    return out;
  }();
  return rules;
}

// A convolution of [C, K, 1], or a square of patches of [C, P, P, 3].
bool has_channels_last(const std::vector<uint64_t>& shape) {
  if (shape.size() == 3) return shape[2] == 1 && shape[1] > 1;
  return shape.size() > 3 && shape.back() != shape[shape.size() - 2];
}

bool fits(const MlxRule& rule, const Tensor& tensor, std::string_view model_type) {
  if (!tensor.name.ends_with(rule.from) || tensor.values() == 0) return false;
  if (rule.change == "prefix") return false;
  if (!rule.model_types.empty() && !has_word(rule.model_types, model_type)) return false;
  if (rule.change == "channels-last") return has_channels_last(tensor.shape);
  if (rule.change == "plus-one") return tensor.shape.size() == 1;
  return rule.change != "stack" || tensor.shape.size() == 3;
}

bool says_mlx(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.file_metadata, [](const auto& file) {
    const std::string* format = file.second.find_text("format");
    return format != nullptr && *format == "mlx";
  });
}

// The model_type in config.json, and whether a family of this tool has it.
std::pair<std::string, bool> type_of(const Checkpoint& checkpoint) {
  const Document* document = checkpoint.find_document("config.json");
  const auto config = document == nullptr ? nullptr : document->values().value_or(nullptr);
  if (config == nullptr) return {};
  const std::string type(text_in(*config, "model_type"));
  const JsonValue& classes = list_in(*config, "architectures");
  const bool has_class = !classes.empty() && classes[0].is_string() &&
                         table_of_architecture(classes[0].get<std::string>()) != nullptr;
  return {type, has_class || table_of_model_type(type) != nullptr};
}

}  // namespace

MlxTensors find_mlx_tensors(const Checkpoint& checkpoint) {
  MlxTensors out;
  if (checkpoint.format != "safetensors") return out;
  const auto [type, is_known] = type_of(checkpoint);
  const bool is_declared = says_mlx(checkpoint);
  if (!is_known && !is_declared) return out;
  std::set<std::string_view> codes;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (plain_dtype(*tensor.codec) == Dtype::kU32) codes.insert(tensor.name);
  }
  bool is_shifted = false;  // norms are
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const Tensor& tensor = checkpoint.tensors[i];
    if (last_word(tensor.name) == "scales" &&
        codes.contains(module_of(tensor.name) + std::string(kWeight))) {
      out.is_quantized = true;
      out.has_float_scales |= plain_dtype(*tensor.codec) != Dtype::kU8;
    }
    out.has_biases |= last_word(tensor.name) == "biases";
    out.has_global_scales |= last_word(tensor.name) == "global_scale";
    const auto rule = std::ranges::find_if(
        mlx_rules(), [&](const MlxRule& each) { return fits(each, tensor, type); });
    if (rule == mlx_rules().end()) continue;
    out.changed.emplace_back(i, &*rule);
    is_shifted |= rule->change == "channels-last" && tensor.shape.size() == 3;
  }
  std::erase_if(out.changed, [&](const auto& each) {
    return each.second->change == "plus-one" && !is_shifted;
  });
  if (!is_known && !out.empty()) out.unknown_type = type;
  if (!is_declared && out.changed.empty()) return out;
  for (const MlxRule& rule : mlx_rules()) {
    const bool is_prefix = rule.change == "prefix" && has_word(rule.model_types, type);
    if (is_prefix) out.prefixes.push_back(&rule);
  }
  return out;
}

}  // namespace ckpt
