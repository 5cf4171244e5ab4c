// Checks of tensor names: does the program's class find them where it looks?
//
// Source: vLLM vllm/model_executor/models/qwen3_5.py and qwen3_vl.py (hf_to_vllm_mapper), utils.py
// (AutoWeightsLoader); transformers src/transformers/conversion_mapping.py.
// What a reader would get wrong: names do not follow from model_type; a text-only folder may carry
// the wrapper's names.
#include <algorithm>

#include "checks/subject.h"

namespace ckpt {
namespace {

bool has_prefix(const Examined& on, std::string_view prefix) {
  const auto at = on.modules.lower_bound(std::string(prefix));
  return at != on.modules.end() && at->first.starts_with(prefix);
}

Status look_prefix(const Look& look) {
  const Examined& on = look.on;
  if (on.is_gguf || !on.model_class.starts_with("Qwen3_5")) return {};
  const bool is_wrapper = on.model_class.ends_with("ForConditionalGeneration");
  if (is_wrapper && has_prefix(on, "model.layers.")) {
    look.report("model.layers.*",
                "text names under a wrapper's class, which wants "
                "model.language_model.layers.*");
  }
  return {};
}

// ---- what every layer must have -----------------------------------------------------------------

struct Expected {
  std::string_view name;  // below the layer
  std::string_view kind;  // layer_types entry; "" for every layer
};
constexpr Expected kQwen35[] = {
    {"input_layernorm.weight", ""},
    {"post_attention_layernorm.weight", ""},
    {"self_attn.q_proj.weight", "full_attention"},
    {"self_attn.k_proj.weight", "full_attention"},
    {"self_attn.v_proj.weight", "full_attention"},
    {"self_attn.o_proj.weight", "full_attention"},
    {"self_attn.q_norm.weight", "full_attention"},
    {"self_attn.k_norm.weight", "full_attention"},
    {"linear_attn.A_log", "linear_attention"},
    {"linear_attn.dt_bias", "linear_attention"},
    {"linear_attn.conv1d.weight", "linear_attention"},
    {"linear_attn.in_proj_qkv.weight", "linear_attention"},
    {"linear_attn.in_proj_z.weight", "linear_attention"},
    {"linear_attn.in_proj_a.weight", "linear_attention"},
    {"linear_attn.in_proj_b.weight", "linear_attention"},
    {"linear_attn.out_proj.weight", "linear_attention"},
    {"linear_attn.norm.weight", "linear_attention"},
};
constexpr Expected kLlama[] = {
    {"input_layernorm.weight", ""},  {"post_attention_layernorm.weight", ""},
    {"self_attn.q_proj.weight", ""}, {"self_attn.k_proj.weight", ""},
    {"self_attn.v_proj.weight", ""}, {"self_attn.o_proj.weight", ""},
    {"mlp.gate_proj.weight", ""},    {"mlp.up_proj.weight", ""},
    {"mlp.down_proj.weight", ""},
};
constexpr Expected kDenseMlp[] = {
    {"mlp.gate_proj.weight", ""}, {"mlp.up_proj.weight", ""}, {"mlp.down_proj.weight", ""}};

std::vector<std::span<const Expected>> expected_of(const Examined& on) {
  if (on.text_type == "qwen3_5_text") return {kQwen35, kDenseMlp};
  if (on.text_type == "qwen3_5_moe_text") return {kQwen35};
  if (on.model_type == "llama" || on.model_type == "qwen3" || on.model_type == "mistral" ||
      on.model_type == "qwen2") {
    return {kLlama};
  }
  return {};
}

bool has_tensor(const Examined& on, const std::string& name) {
  if (on.tensor(name) != nullptr) return true;
  // Codes go by the module's name, whatever their parts are called.
  if (!name.ends_with(".weight")) return false;
  const std::string module = name.substr(0, name.size() - 7);
  const auto found = on.modules.find(module);
  if (found != on.modules.end() && found->second.weight != nullptr) return true;
  return on.tensor(name + "_packed") != nullptr;
}

Status look_complete(const Look& look) {
  const Examined& on = look.on;
  const auto lists = expected_of(on);
  const JsonValue* said = known(on.text_config(), "num_hidden_layers");
  const uint64_t layers = said == nullptr ? 0 : whole(*said).value_or(0);
  if (on.is_gguf || lists.empty() || layers > 100'000) return {};
  const bool is_nested = has_prefix(on, "model.language_model.");
  const std::string root = is_nested ? "model.language_model." : "model.";
  const std::vector<std::string> types = on.layer_types();
  std::vector<std::string> missing;
  for (const std::string_view name : {"embed_tokens.weight", "norm.weight"}) {
    if (!has_tensor(on, root + std::string(name))) missing.push_back(root + std::string(name));
  }
  for (uint64_t layer = 0; layer < layers; ++layer) {
    for (const auto& list : lists) {
      for (const Expected& expected : list) {
        if (!expected.kind.empty() && (layer >= types.size() || types[layer] != expected.kind)) {
          continue;
        }
        std::string name = fmt::format("{}layers.{}.{}", root, layer, expected.name);
        if (!has_tensor(on, name)) missing.push_back(std::move(name));
      }
    }
  }
  if (!missing.empty()) {
    look.report(missing.front(), fmt::format("{} tensors that the model needs are missing, the "
                                             "first '{}'",
                                             missing.size(), missing.front()));
  }
  return {};
}

Status look_embedding(const Look& look) {
  const Examined& on = look.on;
  const JsonValue* vocab = known(on.text_config(), "vocab_size");
  const JsonValue* hidden = known(on.text_config(), "hidden_size");
  if (vocab == nullptr || hidden == nullptr || on.is_gguf) return {};
  for (const auto& [name, module] : on.modules) {
    if (!name.ends_with("embed_tokens") || module.weight == nullptr) continue;
    if (module.form != Form::kPlain || module.weight->shape.size() != 2) continue;
    const auto& shape = module.weight->shape;
    if (shape[0] == whole(*vocab) && shape[1] == whole(*hidden)) continue;
    look.report(name, fmt::format("[{}, {}]; config.json says [{}, {}]", shape[0], shape[1],
                                  vocab->dump(), hidden->dump()));
  }
  return {};
}

Status look_unknown(const Look& look) {
  size_t count = 0;
  std::string first;
  for (const Tensor* tensor : look.on.stray) {
    const std::string& name = tensor->name;
    const bool is_codes = tensor->codec->name == "u8" || tensor->codec->name == "i8";
    const bool is_usual = name.ends_with(".bias") || name.ends_with(".A_log") ||
                          name.ends_with(".dt_bias") || name.ends_with("_scale") ||
                          name.ends_with("_amax") || name.find("_quantizer.") != name.npos;
    if (look.on.is_gguf || is_usual || !is_codes) continue;
    if (count++ == 0) first = name;
  }
  if (count != 0)
    look.report(first, fmt::format("{} tensors of codes without their scales", count));
  return {};
}

// Profiles: v16 v17 vllm sglang trt gguf tf4 tf5.
constexpr Check kChecks[] = {
    {"W01", "tensor names are those of the class", "UUU-U---",
     "There is no module or parameter named 'model' in Qwen3_5ForConditionalGeneration", "vl-wrap",
     "", look_prefix},
    {"W02", "every layer has its tensors", "UUUUUU-S", "weights that were not initialized", "",
     "download or convert again", look_complete},
    {"W09", "the embedding has the shape that config.json says", "UUUUUU-U",
     "shape mismatch of embed_tokens", "", "take config.json from the source model",
     look_embedding},
    {"W03", "no codes without scales", "WWWWWW-W", "", "", "quantize again", look_unknown},
};

}  // namespace

std::span<const Check> weight_checks() { return kChecks; }

}  // namespace ckpt
