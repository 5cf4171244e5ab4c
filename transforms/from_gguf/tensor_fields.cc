// Fields of config.json that only the presence or the shape of tensors determines, such as biases
// and a tied head.
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

  void run(const Family& family) {
    if (const Tensor* tokens = file_.find_embeddings()) {
      config_["vocab_size"] = tokens->rows();
    }
    if (const Tensor* tokens = file_.find_tensor("per_layer_token_embd.weight")) {
      config_["vocab_size_per_layer_input"] = tokens->rows();
    }
    if (const Tensor* left = first("laurel_l")) config_["laurel_rank"] = left->rows();
    config_["tie_word_embeddings"] = !file_.has_head();
    config_["attention_bias"] = has_anywhere("attn_q.bias");
    config_["mlp_bias"] = has_anywhere("ffn_up.bias");
    const Traits& traits = family.traits.text;
    if (traits.has(ModelTrait::kListsMlpTypes)) add_mlp_types();
    if (traits.has(ModelTrait::kPerLayerInputs)) add_layer_inputs();
    for (const ToldField& told : traits.told_fields) add_presence_field(told);
    if (!traits.head_gate.empty()) {
      const Tensor* gate = first(traits.head_gate);  // one per head, or one per value of a head
      const auto heads = whole(known(config_, "num_attention_heads"));
      const bool is_by_head = gate != nullptr && heads == gate->rows();
      config_["gating"] = is_by_head ? "per-head" : "per-element";
    }
    const Tensor* up = first("ffn_up");
    if (up != nullptr && traits.has(ModelTrait::kWidthOfUp))
      config_["intermediate_size"] = up->rows();
    if (traits.has(ModelTrait::kNoauxRouter) && has_anywhere("exp_probs_b.bias")) {
      config_["topk_method"] = "noaux_tc";
    }
  }

 private:
  // Finds a weight of the first layer.
  const Tensor* first(std::string_view name) const {
    return file_.find_tensor(fmt::format("blk.0.{}.weight", name));
  }
  bool has(uint64_t layer, std::string_view name) const {
    return names_.contains(fmt::format("blk.{}.{}", layer, name));
  }
  bool has_anywhere(std::string_view name) const {
    for (uint64_t layer = 0; layer < layers_; ++layer) {
      if (has(layer, name)) return true;
    }
    return false;
  }

  // Sets mlp_layer_types, because dense layers need not be the first ones.
  void add_mlp_types() {
    JsonValue types = JsonValue::array();
    for (uint64_t layer = 0; layer < layers_; ++layer) {
      types.push_back(has(layer, "ffn_gate_exps.weight") ? "sparse" : "dense");
    }
    config_["mlp_layer_types"] = std::move(types);
  }

  // Handles layers of full attention that use their keys as values.
  void add_layer_inputs() {
    bool are_shared = false;
    for (uint64_t layer = 0; layer < layers_; ++layer) {
      are_shared = are_shared || (has(layer, "attn_k.weight") && !has(layer, "attn_v.weight"));
    }
    config_["attention_k_eq_v"] = are_shared;
    config_["enable_moe_block"] = has_anywhere("ffn_gate_inp.weight");
    if (!config_.contains("use_double_wide_mlp")) config_["use_double_wide_mlp"] = false;
  }

  void add_presence_field(const ToldField& told) {
    if (told.tensor.starts_with("ssm_") && !has_anywhere("ssm_in.weight")) return;
    config_[std::string(told.field)] = has_anywhere(told.tensor) || names_.contains(told.tensor);
  }

  const Checkpoint& file_;
  uint64_t layers_;
  JsonValue& config_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

void add_tensor_fields(const Checkpoint& file, const Family& family, uint64_t layers,
                       JsonValue& config) {
  TensorFields(file, layers, config).run(family);
}

}  // namespace ckpt
