#include "tools/report/memory.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/model/json_documents.h"
#include "models/models.h"

namespace ckpt {
namespace {


// More than any model has; sums and products of numbers up to it stay far below 64 bits.
constexpr uint64_t kMaxNumber = uint64_t{1} << 31;

// Values that one layer of each kind keeps.
struct LayerValues {
  uint64_t full = 0, window = 0;  // a token
  std::optional<uint64_t> recurrent;
};

std::optional<SequenceMemory> summed(const std::vector<LayerMemory>& kinds,
                                     const LayerValues& values,
                                     uint64_t window, uint64_t max_context) {
  SequenceMemory out;
  out.max_context = max_context;
  for (const LayerMemory kind : kinds) {
    if (kind == LayerMemory::kRecurrent && !values.recurrent) return std::nullopt;
    if (kind == LayerMemory::kFull) {
      ++out.kv_layers;
      out.kv_values_per_token += values.full;
    } else if (kind == LayerMemory::kWindow) {
      ++out.window_layers;
      out.window_values_per_token += values.window;
    } else if (kind == LayerMemory::kRecurrent) {
      out.state_bytes += *values.recurrent * sizeof(float);
    }
  }
  if (out.window_layers > 0) out.window = window;
  return out;
}

// ---- config.json --------------------------------------------------------------------------------

// Whole numbers of a configuration, 0 where it has none.
class Numbers {
 public:
  explicit Numbers(const JsonValue& config) : config_(config) {}
  uint64_t operator()(std::string_view key, uint64_t otherwise = 0) const {
    const JsonValue* found = known(config_, key);
    const auto value = found == nullptr ? std::nullopt : whole(*found);
    return value && *value <= kMaxNumber ? *value : otherwise;
  }
  bool has(std::string_view key) const { return known(config_, key) != nullptr; }
  const JsonValue& config() const { return config_; }

 private:
  const JsonValue& config_;
};

std::optional<std::vector<LayerMemory>> listed_kinds(const JsonValue& list) {
  std::vector<LayerMemory> out;
  for (const JsonValue& word : list) {
    const LayerMemory kind = word.is_string() ? layer_type(word.get_ref<const std::string&>()).kind
                                            : LayerMemory::kUnknown;
    if (kind == LayerMemory::kUnknown) return std::nullopt;
    out.push_back(kind);
  }
  return out;
}

// Nemotron-H: M is Mamba, * attention, - and E have no memory.
std::optional<std::vector<LayerMemory>> spelled_kinds(std::string_view pattern) {
  std::vector<LayerMemory> out;
  for (const char letter : pattern) {
    if (letter != 'M' && letter != '*' && letter != '-' && letter != 'E') return std::nullopt;
    out.push_back(letter == 'M'   ? LayerMemory::kRecurrent
                  : letter == '*' ? LayerMemory::kFull
                                  : LayerMemory::kNone);
  }
  return out;
}

std::optional<std::vector<LayerMemory>> layer_kinds(const Numbers& number) {
  const uint64_t layers = number("num_hidden_layers");
  if (layers == 0 || layers > kMaxModelLayers) return std::nullopt;
  const JsonValue* list = known(number.config(), "layer_types");
  if (list != nullptr && list->is_array()) {
    return list->size() == layers ? listed_kinds(*list) : std::nullopt;
  }
  if (const std::string* pattern = ckpt::text_of(number.config(), "hybrid_override_pattern")) {
    return pattern->size() == layers ? spelled_kinds(*pattern) : std::nullopt;
  }
  const bool is_recurrent = number.has("linear_num_value_heads");
  const bool uses_window =
      number("sliding_window") > 0 && (!number.has("use_sliding_window") ||
                                       is_truthy(known(number.config(), "use_sliding_window")));
  const uint64_t interval =
      number(is_recurrent ? "full_attention_interval" : "sliding_window_pattern");
  if (is_recurrent && interval == 0) return std::nullopt;
  std::vector<LayerMemory> out(layers, LayerMemory::kFull);
  for (uint64_t i = 0; i < layers; ++i) {
    const bool is_full = interval > 0 && (i + 1) % interval == 0;
    if (is_recurrent && !is_full) out[i] = LayerMemory::kRecurrent;
    if (!is_recurrent && uses_window && !is_full) out[i] = LayerMemory::kWindow;
  }
  return out;
}

// Linear attention, Mamba 2, short convolutions: the state, and
// the inputs that the convolution looks back at.
std::optional<uint64_t> recurrent_values(const Numbers& number) {
  if (const uint64_t heads = number("linear_num_value_heads"); heads > 0) {
    const uint64_t keys = number("linear_key_head_dim"),
                   values = heads * number("linear_value_head_dim");
    const uint64_t channels = values + 2 * number("linear_num_key_heads") * keys;
    return values * keys + channels * (std::max<uint64_t>(number("linear_conv_kernel_dim"), 1) - 1);
  }
  if (number.has("conv_L_cache")) {
    return number("hidden_size") * (std::max<uint64_t>(number("conv_L_cache"), 1) - 1);
  }
  for (const auto& [heads, width, state, groups, kernel] :
       {std::array{"mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups",
                   "mamba_d_conv"},
        std::array{"mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups",
                   "conv_kernel"}}) {
    if (!number.has(heads) || !number.has(width) || !number.has(state)) continue;
    const uint64_t inner = number(heads) * number(width);
    const uint64_t channels = inner + 2 * number(groups, 1) * number(state);
    return inner * number(state) + channels * (std::max<uint64_t>(number(kernel), 1) - 1);
  }
  return std::nullopt;
}

std::optional<SequenceMemory> of_config(const JsonValue& config) {
  const JsonValue* part = known(config, "text_config");
  const Numbers number(part != nullptr && part->is_object() ? *part : config);
  auto kinds = layer_kinds(number);
  if (!kinds) return std::nullopt;
  const uint64_t heads = number("num_attention_heads");
  const uint64_t kv_heads = number("num_key_value_heads", heads);
  const uint64_t width = number("head_dim", heads == 0 ? 0 : number("hidden_size") / heads);
  LayerValues values{2 * kv_heads * width, 2 * kv_heads * width, recurrent_values(number)};
  // One latent vector for all heads, and what an indexer looks through.
  if (const uint64_t rank = number("kv_lora_rank"); rank > 0) {
    values.full = values.window = rank + number("qk_rope_head_dim") + number("index_head_dim");
  }
  if (const uint64_t global = number("global_head_dim"); global > 0) {
    values.full = 2 * number("num_global_key_value_heads", kv_heads) * global;
  }
  // The last layers of Gemma 4 read what layers before them keep.
  const uint64_t shared = std::min<uint64_t>(number("num_kv_shared_layers"), kinds->size());
  std::fill(kinds->end() - static_cast<std::ptrdiff_t>(shared), kinds->end(), LayerMemory::kNone);
  const bool has_attention = std::ranges::any_of(*kinds, [](LayerMemory kind) {
    return kind == LayerMemory::kFull || kind == LayerMemory::kWindow;
  });
  if (has_attention && values.full == 0) return std::nullopt;
  const uint64_t window = number("sliding_window", number("attention_chunk_size"));
  return summed(*kinds, values, window, number("max_position_embeddings"));
}

// ---- GGUF ---------------------------------------------------------------------------------------

class Keys {
 public:
  Keys(const Metadata& metadata, std::string prefix)
      : metadata_(metadata), prefix_(std::move(prefix)) {}
  uint64_t operator()(std::string_view key, uint64_t otherwise = 0) const {
    const auto value = metadata_.find_unsigned(prefix_ + std::string(key));
    return value && *value <= kMaxNumber ? *value : otherwise;
  }
  bool has(std::string_view key) const { return array(key) != nullptr || (*this)(key) > 0; }
  // Of layer `layer`, where the key has one number a layer or one for all.
  uint64_t of_layer(std::string_view key, uint64_t layer, uint64_t otherwise) const {
    const MetaArray* numbers = array(key);
    if (numbers == nullptr) return (*this)(key, otherwise);
    if (layer >= numbers->count()) return otherwise;
    const double value = number_at(*numbers, layer);
    return value >= 0 && value <= static_cast<double>(kMaxNumber) ? static_cast<uint64_t>(value)
                                                                  : otherwise;
  }
  const MetaArray* array(std::string_view key) const {
    const MetaArray* numbers = metadata_.find_array(prefix_ + std::string(key));
    const bool has_numbers = numbers != nullptr && numbers->element != MetaType::kText &&
                             numbers->element != MetaType::kArray;
    return has_numbers ? numbers : nullptr;
  }

 private:
  const Metadata& metadata_;
  std::string prefix_;
};

// Windows that llama.cpp knows by the architecture: every how many layers one has none, and how
// many tokens where no key says so. Of others all attention is full, whatever the key.
struct UsualWindow {
  uint64_t interval = 0, tokens = 0;
};

UsualWindow usual_window(std::string_view architecture) {
  UsualWindow out;
  const auto family = std::ranges::find(families(), architecture, &Family::name);
  if (family == families().end()) return out;
  for (std::string_view layers : words_after((*family)->quirks, "full_attention_each:")) {
    take_number(layers, out.interval);
  }
  for (GraphConstant constant : (*family)->graph_constants) {
    if (constant.field == "attention_chunk_size") take_number(constant.value, out.tokens);
  }
  return out;
}

bool has_window(const Keys& key, uint64_t layer, const UsualWindow& usual) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (key("attention.sliding_window", usual.tokens) == 0) return false;
  if (key.array(kPattern) != nullptr) return key.of_layer(kPattern, layer, 0) != 0;
  const uint64_t interval = key(kPattern, usual.interval);
  return interval > 0 && (layer + 1) % interval != 0;
}

// llama.cpp's n_embd_r + n_embd_s.
uint64_t recurrent_values(const Keys& key) {
  if (const uint64_t cache = key("shortconv.l_cache"); cache > 0) {
    return key("embedding_length") * (cache - 1);
  }
  const uint64_t inner = key("ssm.inner_size"), state = key("ssm.state_size");
  const uint64_t channels = inner + 2 * key("ssm.group_count") * state;
  return inner * state + channels * (std::max<uint64_t>(key("ssm.conv_kernel"), 1) - 1);
}

std::optional<SequenceMemory> of_keys(const Metadata& metadata, const std::string& architecture) {
  const Keys key(metadata, architecture + ".");
  const uint64_t blocks = key("block_count");
  const uint64_t layers = blocks - std::min(blocks, key("nextn_predict_layers"));
  const uint64_t heads = key("attention.head_count", key.of_layer("attention.head_count", 0, 0));
  if (layers == 0 || layers > kMaxModelLayers) return std::nullopt;
  const uint64_t width = heads == 0 ? 0 : key("embedding_length") / heads;
  const uint64_t keys = key("attention.key_length", width),
                 values = key("attention.value_length", width);
  const uint64_t interval = key("full_attention_interval");
  const UsualWindow usual = usual_window(architecture);
  const bool has_state = key.has("ssm.inner_size") || key.has("shortconv.l_cache");
  SequenceMemory out;
  out.max_context = key("context_length");
  for (uint64_t i = 0; i < layers - std::min(layers, key("attention.shared_kv_layers")); ++i) {
    const uint64_t kv_heads = key.of_layer("attention.head_count_kv", i, heads);
    const bool is_mlp_alone = key.array("feed_forward_length") != nullptr &&
                              key.of_layer("feed_forward_length", i, 0) > 0 && kv_heads == 0;
    const bool is_recurrent =
        has_state && !is_mlp_alone && (kv_heads == 0 || (interval > 0 && (i + 1) % interval != 0));
    if (is_recurrent) {
      out.state_bytes += recurrent_values(key) * sizeof(float);
    } else if (has_window(key, i, usual)) {
      ++out.window_layers;
      out.window = key("attention.sliding_window", usual.tokens);
      out.window_values_per_token += kv_heads * (key("attention.key_length_swa", keys) +
                                                 key("attention.value_length_swa", values));
    } else if (kv_heads > 0) {
      ++out.kv_layers;
      // Of latent attention the values are a part of the keys.
      out.kv_values_per_token += key.has("attention.kv_lora_rank")
                                     ? keys + key("attention.indexer.key_length")
                                     : kv_heads * (keys + values);
    }
  }
  const bool has_attention = out.kv_layers + out.window_layers > 0;
  if (has_attention && out.kv_values_per_token + out.window_values_per_token == 0)
    return std::nullopt;
  return out;
}

}  // namespace

std::optional<SequenceMemory> sequence_memory(const Checkpoint& checkpoint) {
  if (checkpoint.is_projector()) return std::nullopt;
  if (const std::string* name = checkpoint.metadata.find_text("general.architecture")) {
    return of_keys(checkpoint.metadata, *name);
  }
  const auto config = read_object(checkpoint, "config.json");
  return config && *config ? of_config(**config) : std::nullopt;
}

}  // namespace ckpt
