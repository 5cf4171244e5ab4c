// Builds a folder's headers without its bytes and runs to-gguf on them: the result shows what
// to-gguf does with each tensor, and proves that the reconstructed config.json gives the file's
// keys.
#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "core/base/arithmetic.h"
#include "core/model/tensor_names.h"
#include "transforms/from_gguf/config_fields.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

// A source without bytes; reading it fails.
class NoBytes final : public ByteSource {
 public:
  NoBytes(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}
  Status read(uint64_t, std::span<std::byte>) const override {
    return unsupported("{}: a parameter without values", name_);
  }
  uint64_t size_bytes() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  uint64_t size_;
};

// Experts that stay MXFP4 are stored as [out, in], unlike float experts.
bool stays_mxfp4(const Parameter& parameter, const JsonValue& config) {
  return text_in(known(config, "quantization_config"), "quant_method") == "mxfp4" &&
         parameter.shape.size() == 3 && is_of_experts(parameter.name);
}

// Tables of whole numbers, which to-gguf cuts to I32.
bool is_of_numbers(const Parameter& parameter, const Family& family) {
  const auto match = find_name_rule(family, parameter.name);
  return match && match->rule->change == Change::kWholeNumbers;
}

// Families whose GGUFs keep the types of their folders (DeepSeek V4) store vectors as F32 there,
// except for most norms.
bool is_vector_of_f32(const Parameter& parameter, const Family& family) {
  const std::string_view name = parameter.name;
  const bool is_norm = name.ends_with("norm.weight") && name.find(".compressor.") == name.npos;
  return family.traits.text.has(ModelTrait::kKeepsTypes) && parameter.shape.size() == 1 && !is_norm;
}

Result<Tensor> without_bytes(const Parameter& parameter, const JsonValue& config,
                             const Family& family, Codecs codecs) {
  Tensor out;
  out.name = parameter.name;
  out.shape = parameter.shape;
  const bool is_f32 = keeps_f32(parameter.name) || is_vector_of_f32(parameter, family);
  out.codec = &plain_codec(codecs, is_of_numbers(parameter, family) ? Dtype::kI64
                                   : is_f32                         ? Dtype::kF32
                                                                    : Dtype::kBF16);
  if (stays_mxfp4(parameter, config)) {
    std::swap(out.shape[1], out.shape[2]);
    out.codec = &scheme_codec(codecs, Scheme::kMxfp4, Dialect::kCompressedTensors);
  }
  CKPT_TRY(in(parameter.name, check_shape(out.shape, *out.codec)));
  Stored stored;
  for (size_t part = 0; part < out.codec->parts.size(); ++part) {
    const uint64_t size = part_size_bytes(out, part);
    const SharedSource source = std::make_shared<NoBytes>(parameter.name, size);
    stored.parts.push_back({Slice{source, 0, size}});
  }
  out.origin = std::move(stored);
  return out;
}

// The file declares differences between layers if a table does not.
Result<std::vector<Parameter>> parameters_of(const Checkpoint& file, const JsonValue& config,
                                             const Family& family) {
  ModelForm form = form_of(file.tensors);
  const std::string nextn = std::string(family.name) + ".nextn_predict_layers";
  // A folder may count such layers without having them, and the file is then as its folder was.
  form.has_mtp = file.metadata.find_unsigned(nextn).value_or(0) > 0 &&
                 std::ranges::any_of(file.tensors, [](const Tensor& tensor) {
                   return tensor.name.find(".nextn.") != std::string::npos;
                 });
  if (family.traits.text.has(ModelTrait::kStackedAlone)) form.stacked.insert("all");
  CKPT_ASSIGN(auto out, expected_parameters({family, family, config}, form));
  for (Parameter& parameter : out) {
    const bool is_draft =
        !family.drafts.layers.empty() && parameter.name.starts_with(family.drafts.layers);
    if (is_draft) parameter.name.insert(0, family.root);
  }
  return out;
}

// Limits the work of to-gguf, because a wrong configuration may claim huge sizes. An optional
// parameter that is larger than the file is dropped.
Status check_values(const Checkpoint& file, std::vector<Parameter>& parameters) {
  // Twice the values: for a tied head, and for rows that to-gguf omits.
  uint64_t left = 0;
  for (const Tensor& tensor : file.tensors) left += 2 * tensor.values();
  std::vector<Parameter> kept;
  for (Parameter& parameter : parameters) {
    const auto values = product(parameter.shape);
    const bool fits = values && *values <= left;
    if (!fits && !parameter.is_required) continue;
    if (!fits) {
      return corrupt("a model of these keys has more values than the file, from '{}' of [{}] on",
                     parameter.name, fmt::join(parameter.shape, ", "));
    }
    if (parameter.is_required) left -= *values;
    kept.push_back(std::move(parameter));
  }
  parameters = std::move(kept);
  return {};
}

// The source of a made tensor, which identifies its parameter.
const ByteSource* bytes_behind(const Tensor& made) {
  const Stored& stored = made.stored_tensor().stored();
  const auto& slices = stored.parts[0];
  return slices.empty() ? nullptr : slices[0].source.get();
}

// The shape without leading axes of length 1, which llama-quantize drops.
std::span<const uint64_t> bare_shape(const std::vector<uint64_t>& shape) {
  std::span<const uint64_t> out = shape;
  while (out.size() > 1 && out[0] == 1) out = out.subspan(1);
  return out;
}

std::string text_of_value(const MetaValue* value) {
  if (value == nullptr) return "absent";
  if (value->type == MetaType::kArray) return "another list";
  if (const auto* text = std::get_if<std::string>(&value->value)) return *text;
  return json_of(*value).dump();
}

std::string taken_instead(const std::optional<MetaValue>& absent) {
  return absent ? fmt::format(" (llama.cpp takes {})", text_of_value(&*absent)) : "";
}

// Whether two values are equal; a list may repeat one number for each layer.
bool says(const MetaValue& found, const MetaValue& made) {
  const JsonValue number = json_of(made);
  const bool may_repeat = found.type == MetaType::kArray && number.is_number();
  return found == made || (may_repeat && number_of_layers(found) == number);
}

// Whether llama.cpp finds no scaling of rotary embeddings in `entry`, as there is none in `made`,
// or reads the newer name of the key instead.
bool says_no_scaling(const MetaEntry& entry, const Checkpoint& file, const Metadata& made) {
  const auto key = [&](std::string_view name) {
    return fmt::format("{}.rope.{}", file.metadata.architecture(), name);
  };
  const MetaValue* type = made.find(key("scaling.type"));
  const bool is_scaled = type != nullptr;
  const bool is_linear = is_scaled && *type == MetaValue::text("linear");
  const auto value = number(json_of(entry.value));
  const bool is_unscaled = value == 0.0 || value == 1.0;
  if (entry.key == key("scaling.type")) return entry.value == MetaValue::text("none");
  if (entry.key == key("scaling.factor")) return !is_scaled && is_unscaled;
  const bool is_of_yarn = entry.key.starts_with(key("scaling.yarn_")) ||
                          entry.key == key("scaling.original_context_length");
  if (is_of_yarn) return !is_scaled || is_linear;
  return entry.key == key("scale_linear") &&
         (file.metadata.find(key("scaling.factor")) != nullptr || is_scaled || is_unscaled);
}

// Compares keys of the family, because others describe the file, not the model. If a key is absent,
// the value that llama.cpp assumes is compared.
Status check_keys(const Checkpoint& file, const Checkpoint& folder, MadeFrom source,
                  ForwardResult& forward) {
  const Model& model = forward.model;
  Metadata made;
  CKPT_TRY(add_early_keys(folder, model, made));
  CKPT_TRY(add_model_keys(folder, model, made));
  const std::string prefix = fmt::format("{}.", model.family->name);
  const auto differs = [&](const std::string& key, const MetaValue* made_value) -> Status {
    const MetaValue* found = file.metadata.find(key);
    const bool are_one = found != nullptr && made_value != nullptr &&
                         text_of_value(found) == text_of_value(made_value);
    if (are_one && found->type != made_value->type) {
      return corrupt("key '{}' is {}; expected {}", key, name(found->type), name(made_value->type));
    }
    const auto taken = found == nullptr ? absent_gguf_value(file, key) : std::nullopt;
    return unsupported("key '{}' is {} in the file{}; a configuration made from it gives {}", key,
                       text_of_value(found), taken_instead(taken), text_of_value(made_value));
  };
  for (const MetaEntry& entry : made.entries) {
    if (!entry.key.starts_with(prefix)) continue;
    const MetaValue* found = file.metadata.find(entry.key);
    const auto absent = found == nullptr ? absent_gguf_value(file, entry.key) : std::nullopt;
    if (absent) found = &*absent;
    if (found == nullptr && computes_without(model.family->name, entry.key)) continue;
    const bool is_other = found == nullptr || !says(*found, entry.value);
    if (is_other && source == MadeFrom::kBase && file.metadata.find(entry.key) == nullptr) {
      forward.of_base.push_back(fmt::format("{} {}{}", entry.key, text_of_value(&entry.value),
                                            taken_instead(absent)));
      continue;
    }
    if (is_other) return differs(entry.key, &entry.value);
    const bool is_list = entry.value.type == MetaType::kArray;
    if (absent) forward.absent.push_back(entry.key + (is_list ? "" : " " + text_of_value(found)));
  }
  for (const MetaEntry& entry : file.metadata.entries) {
    if (!entry.key.starts_with(prefix) || made.find(entry.key) != nullptr) continue;
    if (absent_gguf_value(file, entry.key) == entry.value) continue;
    if (says_no_scaling(entry, file, made)) continue;
    if (find_gguf_key(model.family->name, entry.key)) return differs(entry.key, nullptr);
    forward.unread.push_back(entry.key);
  }
  return {};
}

// Tensors that are made from the configuration alone have values, which are compared.
Status check_made_values(const Tensor& made, const Tensor& found) {
  constexpr uint64_t kMaxMadeValues = 65536;
  const ByteSource* source = bytes_behind(made);
  const bool is_made = made.is_stored() && source != nullptr && !source->memory().empty();
  if (!is_made) return {};
  CKPT_ASSIGN(const std::vector<float> expected, read_values(made, kMaxMadeValues));
  CKPT_ASSIGN(const std::vector<float> values, read_values(found, kMaxMadeValues));
  if (expected == values) return {};
  return unsupported("tensor '{}' follows no rule that is known here", made.name);
}

}  // namespace

bool keeps_f32(std::string_view name) {
  const bool is_of_nemotron = name.starts_with("backbone.");
  const bool is_of_streams = name.find(".hc_") != name.npos || name.ends_with("_sink_param");
  const bool is_of_delta =
      name.find(".self_attn.") != name.npos || name.find(".attention.") != name.npos;
  return (is_of_delta && (name.ends_with(".A_log") || name.ends_with(".dt_bias"))) ||
         name.ends_with(".e_score_correction_bias") || name.ends_with(".expert_bias") ||
         name.ends_with(".router_bias") || name.ends_with(".moe.gate.weight") || is_of_streams ||
         (is_of_nemotron && (name.ends_with(".mixer.A_log") || name.ends_with(".mixer.D")));
}

const Family& form_of_file(const Family& family, const Checkpoint& file) {
  const Family* earlier = family.forms.earlier;
  if (earlier == nullptr) return family;
  if (earlier->name != family.name) {
    return file.metadata.architecture() == earlier->name ? *earlier : family;
  }
  const std::string_view pattern = earlier->names.begin()->front().to;
  std::vector<std::string> numbers;
  const bool is_earlier = std::ranges::any_of(file.tensors, [&](const Tensor& tensor) {
    return matches_pattern(pattern, tensor.name, numbers);
  });
  return is_earlier ? *earlier : family;
}

Result<ForwardResult> run_forward(const Checkpoint& folder, const Checkpoint& file,
                                  const Context& context) {
  ForwardResult out;
  CKPT_ASSIGN(out.model, read_model(folder));
  out.model.family = &form_of_file(*out.model.family, file);
  CKPT_ASSIGN(std::vector<NamedTensor> selected,
              select_tensors(folder, true, out.model, context.codecs));
  out.model.out_type = guess_out_type(selected);
  CKPT_ASSIGN(out.tensors, make_gguf_tensors(std::move(selected), out.model, context.codecs));
  return out;
}

Result<Checkpoint> make_skeleton(const Checkpoint& file, const JsonValue& config,
                                 const Family& family, const Context& context) {
  CKPT_ASSIGN(std::vector<Parameter> parameters, parameters_of(file, config, family));
  CKPT_TRY(check_values(file, parameters));
  Checkpoint out;
  out.format = "safetensors";
  out.name = file.name;
  out.set_document("config.json", config.dump(2) + "\n");
  std::set<std::string> optional;
  for (const Parameter& parameter : parameters) {
    CKPT_ASSIGN(Tensor tensor, without_bytes(parameter, config, family, context.codecs));
    if (!parameter.is_required) optional.insert(tensor.name);
    out.tensors.push_back(std::move(tensor));
  }
  CKPT_ASSIGN(const ForwardResult forward, run_forward(out, file, context));
  std::set<std::string_view> names;
  for (const Tensor& tensor : file.tensors) names.insert(tensor.name);
  std::set<const ByteSource*> used;
  std::set<const ByteSource*> unwanted;  // optional, and not in any tensor of `file`
  for (const Tensor& tensor : forward.tensors) {
    const Stored& stored = tensor.stored_tensor().stored();
    for (const Slice& slice : stored.parts[0]) used.insert(slice.source.get());
    if (names.contains(tensor.name)) continue;
    const ByteSource* source = bytes_behind(tensor);
    if (source == nullptr || !optional.contains(source->name())) {
      return corrupt("tensor '{}' is missing, which models of the family {} have (as '{}')",
                     tensor.name, family.name, tensor.original_name());
    }
    unwanted.insert(source);
  }
  std::erase_if(out.tensors, [&](const Tensor& tensor) {
    const ByteSource* source = tensor.stored().parts[0][0].source.get();
    return unwanted.contains(source) || (!used.contains(source) && optional.contains(tensor.name));
  });
  return out;
}

Status check_forward(const Checkpoint& file, const Checkpoint& folder, MadeFrom source,
                     ForwardResult& forward) {
  CKPT_TRY(check_keys(file, folder, source, forward));
  std::unordered_map<std::string_view, const Tensor*> made;
  for (const Tensor& tensor : forward.tensors) made[tensor.name] = &tensor;
  for (const Tensor& tensor : file.tensors) {
    const auto found = made.find(tensor.name);
    // Float folders have no separate tensors for the scales of NVFP4 weights.
    const bool is_scale = tensor.name.ends_with(".scale") || tensor.name.ends_with(".input_scale");
    if (found == made.end() && is_scale) continue;
    if (found == made.end()) {
      return unsupported("tensor '{}': {} has no tensor that becomes it", tensor.name,
                         forward.model.architecture);
    }
    if (!std::ranges::equal(bare_shape(found->second->shape), bare_shape(tensor.shape))) {
      return corrupt("tensor '{}' has shape [{}]; {} gives it [{}]", tensor.name,
                     fmt::join(tensor.shape, ", "), forward.model.architecture,
                     fmt::join(found->second->shape, ", "));
    }
    CKPT_TRY(check_made_values(*found->second, tensor));
  }
  return {};
}

}  // namespace ckpt
