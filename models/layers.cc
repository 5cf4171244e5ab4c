// Finds the kind of each layer and how many values it keeps (resolved.h).
//
// Sources: transformers models/*/configuration_*.py (how classes fill in layer_types), llama.cpp
// src/llama-hparams.cpp (n_embd_r, n_embd_s) and src/models/*.cpp (windows by architecture).
#include <algorithm>
#include <set>

#include "core/base/numbers.h"
#include "core/model/json_documents.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// More than any model has; sums and products of numbers up to it stay far below 64 bits.
constexpr uint64_t kMaxNumber = uint64_t{1} << 31;

// Counts the values of the recurrent state and of the inputs that the convolution still needs.
uint64_t state_values(uint64_t inner, uint64_t state, uint64_t groups, uint64_t kernel) {
  return inner * state + (inner + 2 * groups * state) * (std::max<uint64_t>(kernel, 1) - 1);
}

const Family* family_named(std::string_view name, std::string_view Family::*words) {
  const auto found = std::ranges::find_if(
      families(), [&](const Family* family) { return has_word(family->*words, name); });
  return name.empty() || found == families().end() ? nullptr : *found;
}

// The chunk size of chunked attention that llama.cpp fixes for the family; 0 if it fixes none.
uint64_t usual_chunk(const Family& table) {
  uint64_t out = 0;
  for (GraphConstant constant : table.graph.constants) {
    if (constant.field == "attention_chunk_size") take_number(constant.value, out);
  }
  return out;
}

// Returns nullopt if a layer with attention keeps no values, because the result would be wrong.
std::optional<ResolvedModel> checked(ResolvedModel model) {
  for (const ResolvedLayer& layer : model.layers) {
    const LayerMemory memory = layer.memory();
    const bool has_attention = memory == LayerMemory::kFull || memory == LayerMemory::kWindow;
    if (has_attention && layer.kept_values == 0) return std::nullopt;
  }
  return model;
}

std::set<uint64_t> numbers_in(const JsonValue& list) {
  std::set<uint64_t> out;
  for (const JsonValue& number : list) {
    if (const auto value = whole(number)) out.insert(*value);
  }
  return out;
}

// The sizes of chunks and windows in config.json, else those of the class, else 0.
uint64_t chunk_of(const Fields& text, const Family& table) {
  const JsonValue* declared = member(text.config(), "attention_chunk_size");
  return declared == nullptr ? usual_chunk(table) : whole(*declared).value_or(0);
}
uint64_t window_of(const Fields& text) {
  const auto declared = text.count_or_zero("sliding_window");
  return declared ? *declared : 0;
}

// The fields that decide the kind of each layer. The first one that is present wins.
struct LayerFields {
  const JsonValue* list = nullptr;         // layer_types, layers_block_type, or numbers for windows
  uint64_t interval = 0, full_rest = 0;    // full attention: layer % interval; others are linear
  uint64_t whole_groups_end = UINT64_MAX;  // Ling 3: layers from this one on are full, too
  const std::string* letters = nullptr;    // Nemotron-H: M Mamba, * attention, - an MLP, E experts
  const JsonValue* full_layers = nullptr;  // LFM2: layers with attention; others are convolutions
  bool counts_from_one = false;            // the same of Kimi Linear; others are linear
  const std::string* windows = nullptr;    // repeated for all layers; L is a window
  uint64_t period = 0, first_window = 0;   // each period-th is full; windows begin at first_window
  bool has_window = false, is_chunked = false;
  uint64_t full_end = UINT64_MAX;  // a layer that has full attention in any case
  std::set<uint64_t> full, dense;
  std::optional<std::set<uint64_t>> sparse;  // moe_layers_enum: "3,4,5"
  // A layer has experts if it is a sparse_step-th, counted from 1, layer % sparse_interval is
  // sparse_rest, and it is not one of the leading_dense first.
  uint64_t experts = 0, sparse_step = 0, leading_dense = 0, sparse_interval = 0, sparse_rest = 0;

  std::string_view type_of(uint64_t layer) const {
    constexpr std::string_view kLetters = "M*-E", kTypes[] = {"mamba", "attention", "mlp", "moe"};
    const JsonValue* entry = list != nullptr && layer < list->size() ? &(*list)[layer] : nullptr;
    if (entry != nullptr && entry->is_string()) return entry->get_ref<const std::string&>();
    if (entry != nullptr && entry->is_number()) {
      return *entry == 0 ? "full_attention" : "sliding_attention";
    }
    if (interval != 0) {
      return layer % interval == full_rest || layer >= whole_groups_end ? "full_attention"
                                                                        : "linear_attention";
    }
    if (letters != nullptr) {
      const size_t at = layer < letters->size() ? kLetters.find((*letters)[layer]) : kLetters.npos;
      return at == kLetters.npos ? std::string_view() : kTypes[at];
    }
    if (full_layers != nullptr) {
      if (full.contains(layer + (counts_from_one ? 1 : 0))) return "full_attention";
      return counts_from_one ? "linear_attention" : "conv";
    }
    const bool is_full = windows != nullptr ? (*windows)[layer % windows->size()] != 'L'
                                            : period != 0 && (layer + 1) % period == 0;
    if (!has_window || is_full || layer < first_window || layer == full_end) {
      return "full_attention";
    }
    return is_chunked ? "chunked_attention" : "sliding_attention";
  }

  bool is_sparse(const JsonValue& config, uint64_t layer) const {
    if (experts == 0 || sparse_step == 0) return false;
    const JsonValue& types = list_in(config, "mlp_layer_types");
    if (layer < types.size()) return types[layer] == "sparse";
    const JsonValue& flags = list_in(config, "moe_layer_freq");
    if (!flags.empty()) return layer < flags.size() && flags[layer] != 0;
    if (sparse) return sparse->contains(layer);
    if (layer < leading_dense || (layer + 1) % sparse_step != 0) return false;
    if (sparse_interval != 0 && layer % sparse_interval != sparse_rest) return false;
    const auto end = number(known(config, "moe_layer_end_index"));  // -1: up to the last layer
    if (end && *end != -1 && static_cast<double>(layer) > *end) return false;
    return !dense.contains(layer);
  }
};

void find_windows(const Fields& text, const Family& table, LayerFields& out) {
  const JsonValue& config = text.config();
  const JsonValue* slides = known(config, "use_sliding_window");
  out.is_chunked = window_of(text) == 0;
  out.has_window = (!out.is_chunked || chunk_of(text, table) != 0) &&
                   (slides == nullptr || is_truthy(slides));
  out.period = is_truthy(slides) ? 0 : table.windows.period;
  if (slides != nullptr) out.first_window = whole(known(config, "max_window_layers")).value_or(0);
  const JsonValue* pattern = known(config, "sliding_window_pattern");
  if (const auto step = whole(pattern)) out.period = *step;
  const auto* windows = pattern == nullptr ? nullptr : pattern->get_ptr<const std::string*>();
  if (windows != nullptr && !windows->empty()) out.windows = windows;
}

Result<LayerFields> layer_fields(const Fields& text, const Family& table, uint64_t layers) {
  LayerFields out;
  const JsonValue& config = text.config();
  const auto list_of = [&](std::string_view field) {
    const JsonValue* found = known(config, field);
    return found != nullptr && found->is_array() ? found : nullptr;
  };
  for (const char* field : {"layer_types", "layers_block_type", "hybrid_layer_pattern"}) {
    if (out.list == nullptr && (known(config, field) != nullptr)) out.list = list_of(field);
  }
  if (out.list == nullptr) {
    CKPT_ASSIGN(out.interval, text.count_or_zero("full_attention_interval"));
    out.full_rest = out.interval - 1;
    CKPT_ASSIGN(const uint64_t group, text.count_or_zero("layer_group_size"));
    CKPT_ASSIGN(const uint64_t count, text.count_or_zero("num_hidden_layers"));
    if (group != 0) out.whole_groups_end = count - count % group;
  }
  if (out.list == nullptr && out.interval == 0) {  // Jamba
    CKPT_ASSIGN(out.interval, text.count_or_zero("attn_layer_period"));
    CKPT_ASSIGN(out.full_rest, text.count_or_zero("attn_layer_offset"));
  }
  out.letters = text_of(config, "hybrid_override_pattern");
  out.full_layers = known(known(config, "linear_attn_config"), "full_attn_layers");
  out.counts_from_one = out.full_layers != nullptr;
  if (!out.counts_from_one) out.full_layers = list_of("full_attn_idxs");
  if (out.full_layers != nullptr) out.full = numbers_in(*out.full_layers);
  find_windows(text, table, out);
  if (table.windows.end_in_full) out.full_end = layers - 1;
  return out;
}

Status read_experts(const Fields& text, LayerFields& out) {
  CKPT_ASSIGN(out.experts, text.count_or_zero("num_experts"));
  if (out.experts == 0) CKPT_SET(out.experts, text.count_or_zero("n_routed_experts"));
  CKPT_ASSIGN(out.sparse_step, text.count_or_zero("decoder_sparse_step"));
  CKPT_ASSIGN(out.leading_dense, text.count_or_zero("first_k_dense_replace"));
  if (list_in(text.config(), "moe_layer_freq").empty()) {
    CKPT_ASSIGN(out.sparse_interval, text.count_or_zero("moe_layer_freq"));
  }
  if (out.sparse_interval == 0) {  // Jamba
    CKPT_SET(out.sparse_interval, text.count_or_zero("expert_layer_period"));
    CKPT_ASSIGN(out.sparse_rest, text.count_or_zero("expert_layer_offset"));
  }
  out.dense = numbers_in(list_in(text.config(), "mlp_only_layers"));
  if (const std::string* listed = text_of(text.config(), "moe_layers_enum")) {
    out.sparse.emplace();
    for (std::string_view rest = *listed; !rest.empty();) {
      const auto layer = number_from<uint64_t>(take_word(rest, ','));
      if (layer) out.sparse->insert(*layer);
    }
  }
  return {};
}

// The values that a layer with linear attention, Mamba 2 or a short convolution keeps.
std::optional<uint64_t> recurrent_values(const auto& number) {
  if (const uint64_t cache = number("conv_L_cache"); cache > 0) {
    return number("hidden_size") * (cache - 1);
  }
  struct StateFields {
    std::string_view heads, width, state, groups, kernel;
  };
  constexpr StateFields kStates[] = {
      {"linear_num_value_heads", "linear_value_head_dim", "linear_key_head_dim",
       "linear_num_key_heads", "linear_conv_kernel_dim"},
      {"mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv"},
      {"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel"},
      {"num_heads", "head_dim", "state_size", "n_groups", "conv_kernel"},
      {"linear_attn_config.num_heads", "linear_attn_config.head_dim", "linear_attn_config.head_dim",
       "linear_attn_config.num_heads", "linear_attn_config.short_conv_kernel_size"},
      {"mamba_expand", "hidden_size", "mamba_d_state", "", "mamba_d_conv"}};  // Mamba 1
  for (const auto& [heads, width, state, groups, kernel] : kStates) {
    if (number(heads) == 0 || number(width) == 0 || number(state) == 0) continue;
    return state_values(number(heads) * number(width), number(state),
                        groups.empty() ? 0 : number(groups, 1), number(kernel));
  }
  return std::nullopt;
}

// Whether programs cache the latent vector of MLA. They cache the keys and values made of it if the
// class keeps kv_b_proj in one piece.
bool caches_latents(const Family& table) {
  for (const std::span<const NameRule> list : table.names) {
    const auto rule = std::ranges::find_if(
        list, [](const NameRule& each) { return each.from.ends_with(".kv_b_proj.weight"); });
    if (rule != list.end()) return rule->change == Change::kKeyValue;
  }
  return true;
}

// The values per token that a layer with full attention and one with a window cache.
std::pair<uint64_t, uint64_t> attention_values(const auto& number, const Family& table) {
  const uint64_t heads = number("num_attention_heads", 0);
  const uint64_t key_heads = number("num_key_value_heads", heads);
  const uint64_t width = number("head_dim", heads == 0 ? 0 : number("hidden_size", 0) / heads);
  const uint64_t values = number("v_head_dim", width);
  uint64_t full = key_heads * (width + values);
  uint64_t windowed =
      number("swa_num_key_value_heads", number("sliding_groups", key_heads)) * (width + values);
  // One latent vector for all heads, and what an indexer looks through.
  if (const uint64_t rank = number("kv_lora_rank", 0); rank > 0) {
    const uint64_t turned = number("qk_rope_head_dim", 0);
    full = caches_latents(table)
               ? rank + turned + number("index_head_dim", 0)
               : heads * (number("qk_nope_head_dim", 0) + turned + number("v_head_dim", 0));
    windowed = full;
  }
  return {full, windowed};
}

// Fills in the heads of layers with full attention, where the class has fields of its own for them.
Status set_full_heads(Fields text, const Family& table, std::vector<ResolvedLayer>& layers) {
  if (table.sizes.full_head.empty()) return {};
  for (uint64_t i = 0; i < layers.size(); ++i) {
    if (layers[i].memory() != LayerMemory::kFull) continue;
    text.set_layer(i);
    CKPT_ASSIGN(layers[i].head, text.count(table.sizes.full_head));
    CKPT_ASSIGN(layers[i].key_heads, text.count(table.sizes.full_key_heads));
  }
  return {};
}

// Whether the model has an encoder and a decoder. Only the decoder's layers cache keys and values
// then. They also keep what they read from the encoder, which is not counted.
bool has_decoder(const Family* table) {
  return table != nullptr && !table->decoder.layers.empty();
}

bool is_encoder_class(const Family* table) {
  if (table == nullptr || has_decoder(table)) return false;
  return table->tokenizer.is_encoder || std::ranges::any_of(table->keys, [](const KeyRule& rule) {
           return rule.key == "attention.causal" && rule.source == KeySource::kConstant;
         });
}

// Encoders compute all tokens at once and cache nothing.
ResolvedModel without_cache(ResolvedModel model) {
  model.window = 0;
  for (ResolvedLayer& layer : model.layers) layer = {"full_attention"};
  return model;
}

// Adds a recurrent state to every layer of a family whose layers have one next to their attention.
// The list of layers holds each state as an entry of its own, behind all layers.
void add_states(ResolvedModel& model, const Family& table, uint64_t values) {
  if (!table.traits.text.has(ModelTrait::kMambaBesideAttention)) return;
  const size_t count = model.layers.size();
  model.layers.resize(2 * count, {"linear_attention", false, values});
}

std::optional<ResolvedModel> resolve_config(const JsonValue& root) {
  const JsonValue* inner = find_text_config(root);
  const JsonValue& config = inner != nullptr && inner->is_object() ? *inner : root;
  static const Family kUnknownClass;
  const Family* table = nullptr;
  for (const JsonValue* level : {&config, &root}) {
    const JsonValue& classes = list_in(*level, "architectures");
    const auto* name = classes.empty() ? nullptr : classes[0].get_ptr<const std::string*>();
    if (table == nullptr && name != nullptr) table = family_named(*name, &Family::architectures);
    if (table == nullptr) table = family_named(text_in(*level, "model_type"), &Family::model_types);
  }
  if (table == nullptr) table = &kUnknownClass;
  const bool is_bare = has_word(table->traits.bare_types, text_in(config, "model_type"));
  const Fields text(config, (is_bare ? kUnknownClass : *table).defaults, {}, ReadBy::kAll);
  const auto number = [&](std::string_view field, uint64_t otherwise = 0) {
    const auto value = text.count_or_zero(field);
    return value && *value != 0 && *value <= kMaxNumber ? *value : otherwise;
  };
  const uint64_t count = number(has_decoder(table) ? table->decoder.count : "num_hidden_layers");
  if (count == 0 || count > kMaxModelLayers) return std::nullopt;
  const auto fields = layer_fields(text, *table, count);
  const JsonValue& list = list_in(config, "layer_types");
  const std::string* letters = text_of(config, "hybrid_override_pattern");
  const bool has_linear = number("linear_num_value_heads") > 0;
  const bool may_be_longer = table->drafts.nextn == NextnLayers::kKept;
  const bool is_short = (!list.empty() && list.size() != count &&
                         (list.size() < count || !may_be_longer)) ||
                        (has_linear && list.empty() && number("full_attention_interval") == 0) ||
                        (letters != nullptr && letters->size() != count);
  if (!fields || is_short) return std::nullopt;
  const auto [full, windowed] = attention_values(number, *table);
  const auto state = recurrent_values(number);
  ResolvedModel out{{}, number("sliding_window", chunk_of(text, *table)),
                    number("max_position_embeddings")};
  // The last layers of Gemma 4 read what layers before them keep.
  for (uint64_t i = 0; i < count - std::min(count, number("num_kv_shared_layers")); ++i) {
    ResolvedLayer& layer = out.layers.emplace_back(std::string(fields->type_of(i)));
    switch (layer.memory()) {
      case LayerMemory::kFull: layer.kept_values = full; break;
      case LayerMemory::kWindow: layer.kept_values = windowed; break;
      case LayerMemory::kNone: break;
      case LayerMemory::kUnknown: return std::nullopt;
      case LayerMemory::kRecurrent:
        if (!state) return std::nullopt;
        layer.kept_values = *state;
    }
  }
  if (!set_full_heads(text, *table, out.layers)) return std::nullopt;
  for (ResolvedLayer& layer : out.layers) {
    if (layer.head > kMaxNumber || layer.key_heads > kMaxNumber) return std::nullopt;
    if (layer.head > 0) layer.kept_values = 2 * layer.key_heads * layer.head;
  }
  if (state) add_states(out, *table, *state);
  const bool is_encoder = is_encoder_class(table);
  const bool sees_later_tokens = is_truthy(member(config, "use_bidirectional_attention"));
  return is_encoder || sees_later_tokens ? without_cache(std::move(out)) : checked(std::move(out));
}

// The mean of all tokens (1), or the first token after it has seen all others (2, CLS).
bool pools_whole_texts(uint64_t pooling_type) { return pooling_type == 1 || pooling_type == 2; }

// The layers of the model itself, or of its decoder.
uint64_t layers_with_cache(const auto& key, const Family* table) {
  const uint64_t blocks = key("block_count");
  return has_decoder(table) ? key("decoder_block_count", blocks)
                            : blocks - std::min(blocks, key("nextn_predict_layers"));
}

std::optional<ResolvedModel> resolve_keys(const Metadata& metadata,
                                          const std::string& architecture) {
  const auto find = [&](std::string_view key) {
    return metadata.find(fmt::format("{}.{}", architecture, key));
  };
  const auto key = [&](std::string_view name, uint64_t otherwise = 0, uint64_t layer = 0) {
    const auto value = number_of_layer(find(name), layer);
    return value && *value <= kMaxNumber ? *value : otherwise;
  };
  const auto is_list = [&](std::string_view name) {
    return find(name) != nullptr && find(name)->type == MetaType::kArray;
  };
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const Family* table = family_named(architecture, &Family::name);
  const uint64_t count = layers_with_cache(key, table);
  if (count == 0 || count > kMaxModelLayers) return std::nullopt;
  const uint64_t heads = key("attention.head_count");
  const uint64_t width = heads == 0 ? 0 : key("embedding_length") / heads;
  const uint64_t keys = key("attention.key_length", width),
                 values = key("attention.value_length", width),
                 short_keys = key("attention.key_length_swa", keys),
                 short_values = key("attention.value_length_swa", values);
  const uint64_t interval = key("full_attention_interval"), cache = key("shortconv.l_cache");
  const uint64_t kda = key("kda.head_dim"), inner = key("ssm.inner_size", kda * heads);
  const uint64_t state = cache > 0 ? key("embedding_length") * (cache - 1)
                                   : state_values(inner, key("ssm.state_size", kda),
                                                  key("ssm.group_count", kda > 0 ? heads : 0),
                                                  key("ssm.conv_kernel"));
  // Without the key, the family's period of windows applies. 0: every layer has full attention.
  const uint64_t period = key(kPattern, table == nullptr ? 0 : table->windows.period);
  ResolvedModel out;
  out.max_context = key("context_length");
  out.window = key("attention.sliding_window", table == nullptr ? 0 : usual_chunk(*table));
  for (uint64_t i = 0; i < count - std::min(count, key("attention.shared_kv_layers")); ++i) {
    const uint64_t own_heads = key("attention.head_count_kv", heads, i);
    const bool is_mlp_alone =
        own_heads == 0 && is_list("feed_forward_length") && key("feed_forward_length", 0, i) > 0;
    const bool is_each = interval > 0 && (i + 1) % interval != 0;
    const bool slides = is_list(kPattern) ? key(kPattern, 0, i) != 0
                                          : period > 0 && (i + 1) % period != 0;
    if ((inner > 0 || cache > 0) && !is_mlp_alone && (own_heads == 0 || is_each)) {
      out.layers.push_back({cache > 0 ? "conv" : "linear_attention", false, state});
    } else if (own_heads == 0) {
      out.layers.push_back({"mlp"});
    } else if (out.window > 0 && slides) {
      out.layers.push_back({"sliding_attention", false, own_heads * (short_keys + short_values)});
    } else {  // latent attention (MLA) caches one vector, of which the values are a part
      const bool is_latent = key("attention.key_length_mla") > 0;
      out.layers.push_back({"full_attention", false,
                            is_latent ? keys + key("attention.indexer.key_length")
                                      : own_heads * (keys + values)});
    }
  }
  if (table != nullptr) add_states(out, *table, state);
  const MetaValue* causal = find("attention.causal");
  const bool is_encoder = pools_whole_texts(key("pooling_type")) || is_encoder_class(table) ||
                          (causal != nullptr && *causal == MetaValue::boolean(false));
  return is_encoder ? without_cache(std::move(out)) : checked(std::move(out));
}

}  // namespace

std::optional<uint64_t> layer_count(const JsonValue& config) {
  if (const JsonValue* count = known(config, "num_hidden_layers")) return whole(*count);
  const JsonValue& types = list_in(config, "layers_block_type");
  return types.empty() ? std::nullopt : std::optional<uint64_t>(types.size());
}

const JsonValue* find_text_config(const JsonValue& root) {
  for (const std::string_view key : kTextParts) {
    if (const JsonValue* found = known(root, key); found != nullptr && found->is_object())
      return found;
  }
  return known(known(root, "thinker_config"), "text_config");
}

Result<std::vector<ResolvedLayer>> resolve_layers(const Fields& text, const Family& table,
                                                  uint64_t layers) {
  CKPT_ASSIGN(LayerFields fields, layer_fields(text, table, layers));
  CKPT_TRY(read_experts(text, fields));
  std::vector<ResolvedLayer> out;
  for (uint64_t i = 0; i < layers; ++i) {
    out.push_back({std::string(fields.type_of(i)), fields.is_sparse(text.config(), i)});
  }
  CKPT_TRY(set_full_heads(text, table, out));
  return out;
}

Result<std::vector<ResolvedLayer>> resolve_layers(const Family& table, const JsonValue& text,
                                                  uint64_t layers) {
  return resolve_layers(Fields(text, table.defaults, {}, ReadBy::kAll), table, layers);
}

std::optional<uint64_t> number_of_layer(const MetaValue* value, uint64_t layer) {
  if (value == nullptr) return std::nullopt;
  if (const auto* one = std::get_if<uint64_t>(&value->value)) return *one;
  const auto* list = std::get_if<MetaArray>(&value->value);
  if (list == nullptr || !list->holds_numbers() || layer >= list->count()) return std::nullopt;
  const double number = number_at(*list, layer);
  return number >= 0 && number <= UINT32_MAX ? std::optional(static_cast<uint64_t>(number))
                                             : std::nullopt;
}

std::optional<ResolvedModel> resolve(const Checkpoint& checkpoint) {
  if (checkpoint.is_projector()) return std::nullopt;
  if (const std::string* name = checkpoint.metadata.find_text("general.architecture")) {
    return resolve_keys(checkpoint.metadata, *name);
  }
  const auto config = read_object(checkpoint, "config.json");
  return config && *config ? resolve_config(**config) : std::nullopt;
}

}  // namespace ckpt
