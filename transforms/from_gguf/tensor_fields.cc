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
    if (const Tensor* tokens = file_.find_tensor("token_embd.weight")) {
      config_["vocab_size"] = tokens->rows();
    }
    if (const Tensor* tokens = file_.find_tensor("per_layer_token_embd.weight")) {
      config_["vocab_size_per_layer_input"] = tokens->rows();
    }
    if (const Tensor* left = first("laurel_l")) config_["laurel_rank"] = left->rows();
    config_["tie_word_embeddings"] = !names_.contains("output.weight");
    config_["attention_bias"] = has_anywhere("attn_q.bias");
    config_["mlp_bias"] = has_anywhere("ffn_up.bias");
    const auto has_quirk = [&](std::string_view word) { return has_word(family.quirks, word); };
    if (has_quirk("lists_mlp_types")) add_mlp_types();
    if (has_quirk("per_layer_inputs")) add_layer_inputs();
    for (const std::string_view told : words_after(family.quirks, "tells:"))
      add_presence_field(told);
    for (const std::string_view name : words_after(family.quirks, "gates_heads:")) {
      const Tensor* gate = first(name);  // one per head, or one per value of a head
      const auto heads = whole(known(config_, "num_attention_heads"));
      const bool is_by_head = gate != nullptr && heads == gate->rows();
      config_["gating"] = is_by_head ? "per-head" : "per-element";
    }
    const Tensor* up = first("ffn_up");
    if (up != nullptr && has_quirk("width_of_up")) config_["intermediate_size"] = up->rows();
    if (has_quirk("noaux_router") && has_anywhere("exp_probs_b.bias")) {
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

  // Sets fields for the presence of tensors, by the words "tells:FIELD=TENSOR" of a family.
  void add_presence_field(std::string_view told) {
    const size_t sign = told.find('=');
    const std::string_view tensor = told.substr(sign + 1);
    if (tensor.starts_with("ssm_") && !has_anywhere("ssm_in.weight")) return;
    config_[std::string(told.substr(0, sign))] = has_anywhere(tensor) || names_.contains(tensor);
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
