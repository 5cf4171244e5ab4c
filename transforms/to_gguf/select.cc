// Selects and orders the tensors to be converted (llama.cpp conversion/base.py index_tensors,
// TextModel.filter_tensors; conversion/qwen.py _QwenMtpMixin).
//
//   files by name ─▶ in a file, tensors by name ─▶ towers dropped ─▶ "language_model." removed
//                                                ─▶ mtp.layers.1.x ─▶ model.layers.<layers + 1>.x
//
// Names are compared as bytes, so layer 10 comes before layer 2.
#include "transforms/to_gguf/select.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/mxfp4.h"
#include "transforms/to_gguf/names.h"

namespace ckpt {
namespace {

// Buffers that some exporters save although no program needs them.
constexpr std::string_view kBufferEnds[] = {".attention.masked_bias", ".attention.bias",
                                            ".rotary_emb.inv_freq"};

struct MtpName {
  std::string name;
  uint64_t layers = 0;  // required number of layers
};

// Names "mtp.layers.I.X" and "mtp.fc.weight" as layers after the last; keeps other names.
MtpName mtp_as_layer(std::string_view name, uint64_t layers) {
  constexpr std::pair<std::string_view, std::string_view> kSelectRows[] = {
      {"mtp.fc.", "eh_proj."},
      {"mtp.pre_fc_norm_embedding.", "enorm."},
      {"mtp.pre_fc_norm_hidden.", "hnorm."},
      {"mtp.norm.", "shared_head.norm."},
  };
  for (const auto& [from, to] : kSelectRows) {
    if (name.starts_with(from)) {
      return {fmt::format("model.layers.{}.{}{}", layers, to, name.substr(from.size())), 0};
    }
  }
  constexpr std::string_view kLayers = "mtp.layers.";
  if (!name.starts_with(kLayers)) return {std::string(name), 0};
  std::string_view rest = name.substr(kLayers.size());
  const auto index = take_leading<uint32_t>(rest);
  if (!index || !rest.starts_with('.')) return {std::string(name), 0};
  return {fmt::format("model.layers.{}{}", layers + *index, rest), uint64_t{*index} + 1};
}

std::string quantization_found(const Checkpoint& checkpoint, const Model& model) {
  for (const JsonValue* scope : {&model.config, known(model.config, "text_config")}) {
    for (const char* key : {"quantization_config", "compression_config"}) {
      const JsonValue* config = scope == nullptr ? nullptr : known(*scope, key);
      if (config == nullptr) continue;
      const std::string* method = text_of(*config, "quant_method");
      const std::string* algorithm = text_of(*config, "quant_algo");
      return fmt::format("config.json's {} says {}{}{}", key, method == nullptr ? "?" : *method,
                         algorithm == nullptr ? "" : " ", algorithm == nullptr ? "" : *algorithm);
    }
  }
  if (checkpoint.find_document("hf_quant_config.json") != nullptr) {
    return "hf_quant_config.json says that the weights are quantized";
  }
  return "config.json has no quantization_config";
}

// Explains why codes could not be joined with their scales.
std::string missing_part(const Checkpoint& checkpoint, const Tensor& tensor) {
  constexpr std::string_view kPacked = "_packed";
  const bool is_packed = tensor.name.ends_with(kPacked);
  if (tensor.codec->parts[0].dtype != Dtype::kU8 ||
      (!is_packed && !tensor.name.ends_with(".weight"))) {
    return {};
  }
  const std::string stem =
      tensor.name.substr(0, tensor.name.size() - (is_packed ? kPacked.size() : 0));
  const std::string last = stem + (is_packed ? "_global_scale" : "_scale_2");
  for (const std::string& name : {stem + "_scale", last}) {
    const Tensor* found = checkpoint.find_tensor(name);
    if (found == nullptr) return fmt::format("; '{}', which NVFP4 needs, is missing", name);
  }
  const Tensor* scale = checkpoint.find_tensor(stem + "_scale");
  return fmt::format("; '{}' is {} [{}], which is not what NVFP4 has for codes of [{}]",
                     scale->name, scale->codec->name, fmt::join(scale->shape, ", "),
                     fmt::join(tensor.shape, ", "));
}

Status check_source(const Tensor& tensor, const Checkpoint& checkpoint, const Model& model) {
  if (tensor.name.ends_with(".pre_quant_scale")) {
    return unsupported_hint("--step dequantize before it",
                            "tensor '{}': GGUF has no scales of activation columns (AWQ)",
                            tensor.name);
  }
  const bool is_decodable = tensor.has_scales() && tensor.codec->decode != nullptr;
  if (tensor.is_plain_float() || is_decodable) return {};
  CKPT_TRY(refuse_mlx_codes(checkpoint));
  return unsupported(
      "tensor '{}' is stored as {}; to-gguf takes floats, and NVFP4, FP8, packed INT4, GPTQ, "
      "AWQ and bitsandbytes with their scales{} ({})",
      tensor.name, tensor.codec->name, missing_part(checkpoint, tensor),
      quantization_found(checkpoint, model));
}

// Whether the tensor may hold other values than floats, because the GGUF does not have it or stores
// it as whole numbers.
bool may_be_no_float(const Model& model, std::string_view name) {
  const std::optional<Match> match = find_name_rule(*model.family, name);
  return match && (match->rule->to.empty() || match->rule->change == Change::kWholeNumbers);
}

// The scales of inputs, by name of the weight.
Result<std::map<std::string, float>> find_input_scales(const Checkpoint& checkpoint) {
  std::map<std::string, float> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    constexpr std::string_view kInputScales[] = {".input_global_scale", ".input_scale"};
    if (!ends_with_any(tensor.name, kInputScales)) continue;
    CKPT_ASSIGN(out[module_of(tensor.name) + ".weight"], read_scale(tensor));
  }
  return out;
}

// Layers after the last that join a token's embedding with a state, for multi-token prediction.
// Other layers after the last mean that config.json has too few layers (missing.cc).
std::set<uint64_t> draft_layers(const Checkpoint& checkpoint, const Model& model) {
  std::set<uint64_t> out;
  if (model.family->drafts.nextn == NextnLayers::kUnknown) return out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_of_draft(tensor.name)) continue;
    const std::string name = replace_all(tensor.name, "language_model.", "");
    const auto layer = number_after(name, "model.layers.");
    if (layer && *layer >= model.layers) out.insert(*layer);
  }
  return out;
}

// Counts the layers for multi-token prediction by config.json, even if their tensors are absent,
// because llama.cpp does not need them. Families whose GGUFs have no such layers are left as they
// are.
Status count_nextn(bool keep_mtp, const std::set<uint64_t>& drafts, Model& model) {
  if (model.family->drafts.nextn != NextnLayers::kKept) return {};
  const bool is_nextn = model.field(kNextnCountField) != nullptr;
  const char* field = is_nextn ? kNextnCountField : kMtpCountField;
  const JsonValue* declared = model.field(field);
  CKPT_ASSIGN(const uint64_t count, declared == nullptr ? Result<uint64_t>(0) : model.count(field));
  if (model.mtp_layers <= count) {
    model.mtp_layers = keep_mtp ? count : 0;
    return {};
  }
  std::string hint = "--no-mtp";
  if (count == 1 && drafts.size() == 1) {  // it kept its index when earlier layers were dropped
    hint += fmt::format(", or --step rename:from=model.layers.{}.,to=model.layers.{}.",
                        *drafts.begin(), model.layers);
  }
  return corrupt_hint(hint, "config.json: {} layers and {} {}, but tensors of layer {} are there",
                      model.layers, count, field, model.layers + model.mtp_layers - 1);
}

// A GGUF may have no place for a head. Drops it if it equals the embeddings, and fails otherwise.
Result<bool> drops_head(const Model& model) {
  const Family& family = *model.family;
  const JsonValue* tie = known(model.config, "tie_word_embeddings");
  if (family.head.is_in_gguf) return family.head.is_dropped_if_tied && is_truthy(tie);
  if (tie == nullptr || *tie == true) return true;  // these classes tie by default
  return unsupported_hint(
      "--step drop:tensors=lm_head.weight, if it equals the embeddings",
      "tensor 'lm_head.weight': llama.cpp takes the embeddings of {} as its head, and config.json "
      "says that they differ (tie_word_embeddings: false)",
      family.name);
}

// transformers 5 saves some stacks of experts as [expert, out, in] that are released as [expert,
// in, out]; the converter exchanges axes in any case. If down_proj is square, gate_up_proj shows
// the order.
Result<bool> has_turned_experts(const std::vector<NamedTensor>& tensors, const Model& model) {
  if (model.family->forms.turned == nullptr) return false;
  for (const NamedTensor& named : tensors) {
    const size_t parts = parts_of_stack(last_word(named.name)).size();
    if (parts == 0) continue;
    CKPT_ASSIGN(const uint64_t width, model.count("hidden_size"));
    CKPT_ASSIGN(const uint64_t inner, model.count("moe_intermediate_size"));
    const uint64_t out = parts == 1 ? width : 2 * inner;
    const uint64_t in = parts == 1 ? inner : width;
    const std::vector<uint64_t>& shape = named.tensor.shape;
    if (in != out && shape.size() == 3) return shape[1] == out && shape[2] == in;
  }
  return false;
}

}  // namespace

Result<float> read_scale(const Tensor& tensor) {
  CKPT_ASSIGN(const std::vector<float> values, read_values(tensor, 1));
  const float found = values.empty() ? 0 : values[0];
  const float scale = tensor.name.ends_with("_global_scale") ? 1.0f / found : found;
  if (std::isfinite(scale) && scale > 0) return scale;
  return corrupt("tensor '{}' is {}; expected a finite number above zero", tensor.name, found);
}

bool is_side_scale(std::string_view name) {
  return ends_with_any(name, kCompanions) && !name.ends_with(kColumnScale);
}

bool is_of_draft(std::string_view name) {
  return name.find(".eh_proj") != name.npos || name.find(".enorm.") != name.npos ||
         name.find(".hnorm.") != name.npos;
}

bool is_nvfp4(const Tensor& tensor, Codecs codecs) {
  return find_repack(*tensor.codec, plain_codec(codecs, Dtype::kNvfp4)) != nullptr;
}

Result<std::vector<NamedTensor>> select_tensors(const Checkpoint& checkpoint, bool keep_mtp,
                                                Model& model, Codecs codecs) {
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : checkpoint.tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, [](const Tensor* a, const Tensor* b) {
    // The converter decodes these into new tensors after all others.
    const bool packed_a = is_made_of_words(*a);
    const bool packed_b = is_made_of_words(*b);
    return std::tie(packed_a, a->home, a->name) < std::tie(packed_b, b->home, b->name);
  });
  const bool is_quantized = std::ranges::any_of(
      order, [](const Tensor* tensor) { return tensor->has_scales() || is_unpacked(*tensor); });
  std::map<std::string, float> input_scales;
  if (is_quantized) CKPT_SET(input_scales, find_input_scales(checkpoint));
  const std::set<uint64_t> drafts = draft_layers(checkpoint, model);
  std::vector<NamedTensor> out;
  uint64_t mtp_layers = 0;
  for (const Tensor* tensor : order) {
    if (is_of_tower(tensor->name)) model.towers.push_back(tensor->name);
    if (is_of_tower(tensor->name) || ends_with_any(tensor->name, kBufferEnds)) continue;
    std::string name = own_name(*model.family, tensor->name);
    if (name.starts_with("model.mtp.")) name.erase(0, std::string_view("model.").size());
    if (model.family->drafts.are_outside && name.starts_with("mtp.")) {
      if (!keep_mtp) continue;
      MtpName renamed = mtp_as_layer(name, model.layers);
      mtp_layers = std::max({mtp_layers, renamed.layers, uint64_t{1}});
      name = std::move(renamed.name);
    }
    const auto layer = number_after(name, "model.layers.");
    if (layer && drafts.contains(*layer)) {
      const bool is_left_out = model.family->drafts.nextn == NextnLayers::kLeftOut;
      model.left_out += is_left_out && keep_mtp;
      if (is_left_out || !keep_mtp) continue;
      mtp_layers = std::max(mtp_layers, *layer + 1 - model.layers);
    }
    const auto begins_so = [&](std::string_view start) { return name.starts_with(start); };
    if (std::ranges::any_of(split_words(model.family->left_out_start), begins_so)) {
      model.left_out += keep_mtp;
      continue;
    }
    if (name == "lm_head.weight") {
      CKPT_ASSIGN(const bool is_dropped, drops_head(model));
      if (is_dropped) continue;
    }
    if (is_quantized && is_side_scale(tensor->name)) continue;
    if (!may_be_no_float(model, name)) CKPT_TRY(check_source(*tensor, checkpoint, model));
    NamedTensor& named = out.emplace_back(NamedTensor{std::move(name), *tensor});
    model.is_mxfp4 |= is_mxfp4(*tensor);
    if (!is_nvfp4(*tensor, codecs)) continue;
    model.is_nvfp4 = true;
    if (const float* scale = find_mapped(input_scales, tensor->name)) named.input_scale = *scale;
  }
  model.mtp_layers = mtp_layers;
  model.keeps_mtp = keep_mtp;
  CKPT_TRY(count_nextn(keep_mtp, drafts, model));
  CKPT_ASSIGN(const bool is_turned, has_turned_experts(out, model));
  if (is_turned) model.family = model.family->forms.turned;
  return out;
}

OutType guess_out_type(const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& named : tensors) {
    if (named.tensor.shape.size() < 2) continue;
    const Dtype dtype = named.tensor.codec->parts[0].dtype;
    if (dtype == Dtype::kBF16) return OutType::kBF16;
    if (dtype == Dtype::kF16) return OutType::kF16;
  }
  return OutType::kF32;
}

}  // namespace ckpt
