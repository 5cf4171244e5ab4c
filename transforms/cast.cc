// cast: stores the floats of a safetensors checkpoint in another plain float type.
//
// Tensors that are no plain floats (integers, quantized weights) stay as they are. config.json says
// the new type under the key it used: `dtype` (transformers 5) or `torch_dtype` (4).
#include "transforms/cast.h"

#include "core/glob.h"
#include "core/json_edit.h"

namespace ckpt {
namespace {

constexpr OptionRule kOptions[] = {
    {"type", "f32|f16|bf16", "the type to store floats in"},
    {"keep", "GLOB", "tensors to leave as they are", true},
};

bool is_plain_float(const Codec& codec) {
  return codec.name == "f32" || codec.name == "f16" || codec.name == "bf16" || codec.name == "f64";
}

std::string_view torch_name(std::string_view type) {
  if (type == "f32") return "float32";
  return type == "f16" ? "float16" : "bfloat16";
}

// Fails: kCorrupt for a config.json that is no object, or nested too deep to be written again.
Status set_config_dtype(Checkpoint& checkpoint, std::string_view type) {
  CKPT_ASSIGN(std::optional<JsonDocument> config, read_json(checkpoint, "config.json"));
  if (!config) return {};
  for (JsonText* scope : {&config->root, config->root.find("text_config")}) {
    if (scope == nullptr || !scope->is_object()) continue;
    for (const char* key : {"dtype", "torch_dtype"}) {
      if (scope->find(key) != nullptr) scope->set(key, JsonText::text(torch_name(type)));
    }
  }
  write_json(checkpoint, "config.json", *config);
  return {};
}

Result<Checkpoint> apply(Checkpoint checkpoint, const Options& options, const Context& context) {
  const std::string type = options.get("type").value_or("");
  const Codec* codec = find_codec(context.codecs, type);
  if (codec == nullptr || !is_plain_float(*codec) || codec->encode == nullptr || type == "f64") {
    return fail(ErrorCode::kUsage, "type '{}'; expected f32, f16 or bf16", type);
  }
  const GlobList keep(options.all("keep"));
  for (Tensor& tensor : checkpoint.tensors) {
    if (!is_plain_float(*tensor.codec) || keep.matches_any(tensor.name)) continue;
    CKPT_ASSIGN(tensor, recode(std::move(tensor), *codec));
  }
  CKPT_TRY(set_config_dtype(checkpoint, type));
  return checkpoint;
}

}  // namespace

constinit const Transform kCast{"cast", "stores plain floats in another plain float type", kOptions,
                                apply};

}  // namespace ckpt
