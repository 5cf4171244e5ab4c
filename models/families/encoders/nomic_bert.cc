// Nomic's BERT has rotary positions and a gated MLP. config.json declares more positions than the
// model was trained with; the GGUF declares a quarter of them.
//
// Sources: llama.cpp conversion/bert.py (NomicBertModel); Nomic's configuration_hf_nomic_bert.py
// and modeling_hf_nomic_bert.py. Models with experts are not converted.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

Result<uint64_t> trained_positions(const Fields& fields) {
  return fields.count("n_positions").map([](uint64_t positions) { return positions / 4; });
}

// clang-format off
constexpr auto kNomicRows = spread([] { return std::to_array<ParameterRule>({
    {"embeddings.word_embeddings.weight", "vocab_size n_embd"},
    {"embeddings.token_type_embeddings.weight", "type_vocab_size n_embd", kWhole,
     "type_vocab_size"},
    {"emb_ln.{weight,bias}", "n_embd"},
    {".attn.Wqkv.weight",     "3*n_embd n_embd", kRows},
    {".attn.out_proj.weight", "n_embd n_embd", kColumns},
    {".mlp.fc1{1,2}.weight", "n_inner n_embd", kRows},
    {".mlp.fc2.weight",       "n_embd n_inner", kColumns},
    {".norm1.{weight,bias}", "n_embd"},
    {".norm2.{weight,bias}", "n_embd"},
}); });
constexpr auto kNomicNames = spread([] { return std::to_array<NameRule>({
    {"embeddings.word_embeddings",       "token_embd"},
    {"embeddings.token_type_embeddings", "token_types", kNone, Store::kF32},
    {"emb_ln",                           "token_embd_norm"},
    {"encoder.layers.{}.attn.{Wqkv,out_proj}", "blk.{}.attn_{qkv,output}"},
    {"encoder.layers.{}.mlp.{fc11,fc12,fc2}", "blk.{}.ffn_{up,gate,down}"},
    {"encoder.layers.{}.norm{1,2}", "blk.{}.{attn,layer}_output_norm"},
}); });
constexpr KeyRule kNomicContext[] = {
    {"context_length", kU32, "trained_positions", kNumber},
};
constexpr ClassDefault kNomicDefaults[] = {
    {"vocab_size", "30528", kInShapes}, {"n_embd", "768", kInShapes},
    {"n_inner", "3072", kInShapes}, {"n_layer", "12", kInShapes}, {"n_head", "12", kInShapes},
    {"num_hidden_layers", "n_layer", kInShapes}, {"hidden_size", "n_embd", kInShapes},
    {"num_attention_heads", "n_head", kInShapes}, {"intermediate_size", "n_inner", kInShapes},
    {.field = "trained_positions", .value = "", .read_by = kInShapes,
     .compute = trained_positions},
};
// clang-format on

// Rejects models that llama.cpp computes differently, and lengths that its converter does not know.
bool is_other_nomic(const JsonValue& config) {
  const auto is_not = [&](const char* field, const JsonValue& value) {
    const JsonValue* found = member(config, field);
    return found == nullptr || *found != value;
  };
  const uint64_t positions = count_in(config, "n_positions");
  const JsonValue* trained = member(config, "max_trained_positions");
  return is_truthy(known(config, "moe_every_n_layers")) ||
         (positions != 8192 && positions != 2048) || (trained != nullptr && *trained != 2048) ||
         is_not("activation_function", "swiglu") || is_not("causal", false) ||
         is_not("qkv_proj_bias", false) || is_not("mlp_fc1_bias", false) ||
         is_not("mlp_fc2_bias", false) || is_not("prenorm", false) ||
         is_not("rotary_emb_fraction", 1.0) || is_not("rotary_emb_interleaved", false) ||
         is_not("rotary_emb_scale_base", nullptr);
}
// Writes config.json's fields under the names of Nomic's class, and those that have one value in
// all models that are read.
void add_nomic_fields(const GraphConfig& made) {
  JsonValue& config = made.config;
  config["n_layer"] = made.layers;
  config["n_positions"] = 4 * count_in(config, "max_position_embeddings");
  for (const char* field : {"num_hidden_layers", "max_position_embeddings"}) config.erase(field);
  config["type_vocab_size"] = uint64_t{2};
  config["rotary_emb_base"] = made.rope.value("rope_theta", 10000.0);
  config["rotary_emb_fraction"] = 1.0;
  config["rotary_emb_scale_base"] = nullptr;
  config["activation_function"] = "swiglu";
  for (const char* field : {"causal", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "prenorm",
                            "rotary_emb_interleaved"}) {
    config[field] = false;
  }
}
constexpr FamilyVariant kNomicVariants[] = {
    {is_other_nomic, nullptr, "a NomicBertModel other than nomic-embed-text v1 and v1.5"}};

}  // namespace

const Family kNomicBert = {
    .name = "nomic-bert",
    .architectures = "NomicBertModel",
    .model_types = "nomic_bert",
    .activation = {"silu", ""},
    .names = {kNomicNames},
    .keys = rows::kEncoderKeys,
    .keys_around = {.more = kNomicContext,
                    .own_spellings = "n_embd n_inner n_head layer_norm_epsilon"},
    .defaults = kNomicDefaults,
    .parameters = {kNomicRows},
    .root = "",
    .layers = "encoder.layers.",
    .forms = {.variants = kNomicVariants},
    .tokenizer = {.is_encoder = true},
    .graph = {.add_fields = add_nomic_fields},
};

}  // namespace ckpt
