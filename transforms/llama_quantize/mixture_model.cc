// Reads the facts for the mixture rules from a model: names of tensors and GGUF metadata.
// Source: llama.cpp src/llama-quant.cpp (categories, exclusions), src/llama-model.cpp and
// src/models/*.cpp (layers, heads, which models count as 70B).
#include <algorithm>
#include <array>

#include "core/base/words.h"
#include "models/models.h"
#include "transforms/llama_quantize/mixture.h"

namespace ckpt {
namespace {

struct CategoryRule {
  std::string_view part;  // part of the tensor's name
  Category category;
};
// The first match counts.
constexpr std::array<CategoryRule, 9> kCategories = {{
    {"attn_qkv.weight", Category::kQkv},
    {"attn_kv_b.weight", Category::kKvB},
    {"attn_v.weight", Category::kV},
    {"attn_k.weight", Category::kK},
    {"attn_q.weight", Category::kQ},
    {"attn_output.weight", Category::kAttentionOutput},
    {"ffn_up", Category::kUp},
    {"ffn_gate", Category::kGate},
    {"ffn_down", Category::kDown},
}};

// Tensors with such a part in their name are copied, because they are small or sensitive.
constexpr std::string_view kCopied =
    "_norm.weight ffn_gate_inp.weight ffn_gate_tid2eid.weight altup laurel per_layer_model_proj "
    "ssm_conv1d shortconv.conv.weight indexer.k_proj.weight indexer.q_proj.weight "
    "time_mix_first.weight time_mix_w0.weight time_mix_w1.weight time_mix_w2.weight "
    "time_mix_v0.weight time_mix_v1.weight time_mix_v2.weight time_mix_a0.weight "
    "time_mix_a1.weight time_mix_a2.weight time_mix_g1.weight time_mix_g2.weight "
    "time_mix_decay_w1.weight time_mix_decay_w2.weight time_mix_lerp_fused.weight "
    "attn_rel_b.weight .position_embd sam.pos_embd sam.neck. sam.net_ .rel_pos .patch_embd "
    ".patch_merger a.rvq.codebook mm.a.code_embd";

// A number, or the first layer's number if the key has one per layer.
uint64_t first_number(const Metadata& metadata, const std::string& key, uint64_t otherwise) {
  const MetaValue* value = metadata.find(key);
  if (value == nullptr) return otherwise;
  if (value->type != MetaType::kArray) return metadata.find_unsigned(key).value_or(otherwise);
  const auto& array = std::get<MetaArray>(value->value);
  if (array.count() == 0 || size_bytes(array.element) == 0) return otherwise;
  const double number = number_at(array, 0);
  return number > 0 && number < 1e9 ? static_cast<uint64_t>(number) : 0;
}

bool is_70b(const Metadata& metadata, const ModelFacts& facts, uint64_t heads, uint64_t kv_heads) {
  const uint64_t mtp = metadata.find_unsigned(facts.arch + ".nextn_predict_layers").value_or(0);
  const uint64_t layers = facts.layers - std::min(mtp, facts.layers);
  const std::string& arch = facts.arch;
  if (arch == "llama" || arch == "llama-embed") {
    return layers == 80 && facts.experts != 8 && heads != kv_heads;
  }
  if (arch == "qwen2" || arch == "deci" || arch == "olmo") return layers == 80;
  return arch == "jais2" && layers == 68;
}

}  // namespace

Category category_of(std::string_view name) {
  if (name == "output.weight") return Category::kOutput;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight") {
    return Category::kTokenEmbedding;
  }
  for (const CategoryRule& rule : kCategories) {
    if (name.find(rule.part) != std::string_view::npos) return rule.category;
  }
  return Category::kOther;
}

bool may_quantize(std::string_view name, const std::vector<uint64_t>& shape) {
  // Leading axes of length 1 do not count: {1, n} is a vector.
  if (shape.size() < 2) return false;
  if (std::all_of(shape.begin(), shape.end() - 1, [](uint64_t axis) { return axis <= 1; })) {
    return false;
  }
  if (name == "position_embd.weight" || name == "token_types.weight") return false;
  for (std::string_view parts = kCopied; !parts.empty();) {
    if (name.find(take_word(parts)) != std::string_view::npos) return false;
  }
  // llama.cpp tests `rfind("weight") == size - 6`. Both sides are npos for a name of five
  // characters, so it quantizes those too, and so does ckpt.
  return name.ends_with("weight") || name.size() == 5;
}

Result<ModelFacts> model_facts(const Metadata& metadata) {
  const std::string* arch = metadata.find_text("general.architecture");
  if (arch == nullptr) {
    return corrupt("no general.architecture in the metadata; the mixture depends on it");
  }
  ModelFacts facts;
  facts.arch = *arch;
  const auto layers = metadata.find_unsigned(*arch + ".block_count");
  // A projector file ("clip") does not count layers in this key.
  if (!layers && *arch != "clip") {
    return corrupt("no {}.block_count in the metadata; the mixture depends on it", *arch);
  }
  facts.layers = layers.value_or(0);
  if (facts.layers > kMaxLayers) {
    return corrupt("{}.block_count is {}; at most {} layers are believed", *arch, facts.layers,
                   kMaxLayers);
  }
  facts.experts = metadata.find_unsigned(*arch + ".expert_count").value_or(0);
  const uint64_t heads = first_number(metadata, *arch + ".attention.head_count", 0);
  const uint64_t kv_heads = first_number(metadata, *arch + ".attention.head_count_kv", heads);
  facts.heads_per_kv = kv_heads == 0 ? 0 : heads / kv_heads;
  facts.is_70b = is_70b(metadata, facts, heads, kv_heads);
  for (const Family* family : families()) {
    if (family->name != *arch) continue;
    facts.copied = family->mixtures.copied;
    facts.at_least_q8_0 = family->mixtures.at_least_q8_0;
  }
  // These architectures run more layers than they store, and llama.cpp counts the former.
  if (*arch == "graniteswitch") ++facts.layers;
  if (*arch == "nanbeige") {
    const uint64_t loops = metadata.find_unsigned("nanbeige.num_loops").value_or(1);
    facts.layers *= std::min(std::max<uint64_t>(loops, 1), kMaxLayers);
  }
  return facts;
}

}  // namespace ckpt
