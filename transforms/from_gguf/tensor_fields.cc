#include <algorithm>
#include <set>

#include "transforms/from_gguf/config_fields.h"

namespace ckpt {
namespace {

class TensorFields {
 public:
  TensorFields(const Checkpoint& file, uint64_t layers, JsonValue& config)
      : file_(file), layers_(layers), config_(config) {
    for (const Tensor& tensor : file.tensors) names_.insert(tensor.name);
  }

  void add_common();
  void add_of(const Family& family);

 private:
  bool has(uint64_t layer, std::string_view name) const {
    return names_.contains(fmt::format("blk.{}.{}", layer, name));
  }
  bool has_anywhere(std::string_view name) const {
    for (uint64_t layer = 0; layer < layers_; ++layer) {
      if (has(layer, name)) return true;
    }
    return false;
  }
  void add_mlp_types();
  void add_of_gemma4();
  void add_fields_of_their_own(const Family& family);

  const Checkpoint& file_;
  uint64_t layers_;
  JsonValue& config_;
  std::set<std::string, std::less<>> names_;
};

void TensorFields::add_common() {
  if (const Tensor* tokens = file_.find_tensor("token_embd.weight")) {
    config_["vocab_size"] = tokens->rows();
  }
  config_["tie_word_embeddings"] = !names_.contains("output.weight");
  config_["attention_bias"] = has_anywhere("attn_q.bias");
  config_["mlp_bias"] = has_anywhere("ffn_up.bias");
}

// Of layers whose first ones need not be the dense ones.
void TensorFields::add_mlp_types() {
  JsonValue types = JsonValue::array();
  for (uint64_t layer = 0; layer < layers_; ++layer) {
    types.push_back(has(layer, "ffn_gate_exps.weight") ? "sparse" : "dense");
  }
  config_["mlp_layer_types"] = std::move(types);
}

// Values of full attention may be its keys.
void TensorFields::add_of_gemma4() {
  bool are_shared = false;
  for (uint64_t layer = 0; layer < layers_; ++layer) {
    are_shared = are_shared || (has(layer, "attn_k.weight") && !has(layer, "attn_v.weight"));
  }
  config_["attention_k_eq_v"] = are_shared;
  config_["enable_moe_block"] = has_anywhere("ffn_gate_inp.weight");
  if (!config_.contains("use_double_wide_mlp")) config_["use_double_wide_mlp"] = false;
  if (const Tensor* tokens = file_.find_tensor("per_layer_token_embd.weight")) {
    config_["vocab_size_per_layer_input"] = tokens->rows();
  }
}

// Fields that are called otherwise than in other families, and a width that no key says.
void TensorFields::add_fields_of_their_own(const Family& family) {
  const bool has_use_bias =
      family.is("starcoder2") || family.is("ernie4_5") || family.is("ernie4_5_moe");
  if (has_use_bias) config_["use_bias"] = has_anywhere("attn_q.bias");
  if (family.is("stablelm")) {
    config_["use_qkv_bias"] = has_anywhere("attn_q.bias");
  }
  if (family.is("cohere")) {
    config_["use_qk_norm"] = has_anywhere("attn_q_norm.weight");
  }
  if (family.is("gpt_neox")) {
    config_["attention_bias"] = has_anywhere("attn_qkv.bias");
  }
  if (family.is("phimoe")) {
    config_["lm_head_bias"] = names_.contains("output.bias");
  }
  if (!family.is("phi")) return;
  const Tensor* up = file_.find_tensor("blk.0.ffn_up.weight");
  if (up != nullptr) config_["intermediate_size"] = up->rows();
}

void TensorFields::add_of(const Family& family) {
  const bool has_mlp_types = family.is("glm_moe_dsa") || family.is("glm4_moe_lite");
  if (has_mlp_types) add_mlp_types();
  if (family.is("gemma4_text")) add_of_gemma4();
  add_fields_of_their_own(family);
  const bool has_bias = has_anywhere("ssm_conv1d.bias");
  if (family.is("granitemoehybrid") && has_anywhere("ssm_in.weight")) {
    config_["mamba_conv_bias"] = has_bias;
  }
  if (family.is("nemotron_h")) config_["use_conv_bias"] = has_bias;
  const bool has_router_bias = has_anywhere("exp_probs_b.bias");
  if (family.is("lfm2_moe")) config_["use_expert_bias"] = has_router_bias;
  if (has_router_bias && family.is("deepseek_v3")) {
    config_["topk_method"] = "noaux_tc";
  }
}

}  // namespace

void add_tensor_fields(const Checkpoint& file, const Family& family, uint64_t layers,
                       JsonValue& config) {
  TensorFields fields(file, layers, config);
  fields.add_common();
  fields.add_of(family);
}

}  // namespace ckpt
