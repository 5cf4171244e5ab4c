// T5, with an encoder and a decoder, mT5 and UMT5, and T5's encoder alone.
//
// Sources: llama.cpp conversion/t5.py (T5Model, T5EncoderModel); transformers models/{t5,mt5,umt5}.
// Positions are learned biases by distance, in the first layer of each stack; in UMT5 in each.
#include "models/families/rows.h"
#include "models/shape.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kT5Rows = spread([] { return std::to_array<ParameterRule>({
    {"shared.weight",                        "vocab_size d_model"},
    {"encoder.final_layer_norm.weight",      "d_model"},
    {".layer.0.SelfAttention.{q,k,v}.weight", "num_heads*d_kv d_model", kRows},
    {".layer.0.SelfAttention.o.weight",      "d_model num_heads*d_kv", kColumns},
    {".layer.{0,1}.layer_norm.weight",       "d_model"},
    {".layer.1.DenseReluDense.{wi_0,wi_1}.weight", "d_ff d_model", kRows, "encoder is_gated"},
    {".layer.1.DenseReluDense.wi.weight",    "d_ff d_model", kRows, "encoder is_plain"},
    {".layer.1.DenseReluDense.wo.weight",    "d_model d_ff", kColumns, "encoder"},
}); });
constexpr auto kT5Decoder = spread([] { return std::to_array<ParameterRule>({
    {"lm_head.weight",                       "vocab_size d_model", kWhole, "head"},
    {"decoder.final_layer_norm.weight",      "d_model"},
    {".layer.1.EncDecAttention.{q,k,v}.weight", "num_heads*d_kv d_model", kRows, "decoder"},
    {".layer.1.EncDecAttention.o.weight",    "d_model num_heads*d_kv", kColumns, "decoder"},
    {".layer.2.layer_norm.weight",           "d_model", kWhole, "decoder"},
    {".layer.2.DenseReluDense.{wi_0,wi_1}.weight", "d_ff d_model", kRows, "decoder is_gated"},
    {".layer.2.DenseReluDense.wi.weight",    "d_ff d_model", kRows, "decoder is_plain"},
    {".layer.2.DenseReluDense.wo.weight",    "d_model d_ff", kColumns, "decoder"},
}); });
constexpr ParameterRule kT5Biases[] = {
    {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
     "relative_attention_num_buckets num_heads"},
    {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
     "relative_attention_num_buckets num_heads"},
};
constexpr ParameterRule kUmt5Biases[] = {
    {".layer.0.SelfAttention.relative_attention_bias.weight",
     "relative_attention_num_buckets num_heads"},
};
constexpr auto kT5Names = spread([] { return std::to_array<NameRule>({
    {"{shared,encoder.embed_tokens,decoder.embed_tokens}", "token_embd", kFirst},
    {"lm_head",                              "output"},
    {"{encoder,decoder}.final_layer_norm",   "{enc,dec}.output_norm"},
    {"encoder.block.{}.layer.0.SelfAttention.{q,k,v,o,relative_attention_bias}",
     "enc.blk.{}.attn_{q,k,v,o,rel_b}"},
    {"encoder.block.{}.layer.{0,1}.layer_norm", "enc.blk.{}.{attn,ffn}_norm"},
    {"encoder.block.{}.layer.1.DenseReluDense.{wi,wi_0,wi_1,wo}",
     "enc.blk.{}.ffn_{up,gate,up,down}"},
    {"decoder.block.{}.layer.0.SelfAttention.{q,k,v,o,relative_attention_bias}",
     "dec.blk.{}.attn_{q,k,v,o,rel_b}"},
    {"decoder.block.{}.layer.1.EncDecAttention.{q,k,v,o,relative_attention_bias}",
     "dec.blk.{}.cross_attn_{q,k,v,o,rel_b}"},
    {"decoder.block.{}.layer.{0,1,2}.layer_norm", "dec.blk.{}.{attn,cross_attn,ffn}_norm"},
    {"decoder.block.{}.layer.2.DenseReluDense.{wi,wi_0,wi_1,wo}",
     "dec.blk.{}.ffn_{up,gate,up,down}"},
}); });
constexpr auto kT5Keys = spread([] { return std::to_array<KeyRule>({
    {"context_length",                   kU32, "n_positions"},
    {"embedding_length",                 kU32, "d_model"},
    {"feed_forward_length",              kU32, "d_ff"},
    {"block_count",                      kU32, "", kBlockCount},
    {"decoder_block_count",              kU32, "num_decoder_layers"},
    {"attention.head_count",             kU32, "num_heads"},
    {"attention.{key,value}_length",     kU32, "d_kv"},
    {"attention.layer_norm_epsilon",     kF32, "layer_norm_epsilon"},
    {"attention.relative_buckets_count", kU32, "relative_attention_num_buckets"},
    {"attention.layer_norm_rms_epsilon", kF32, "layer_norm_epsilon"},
    {"decoder_start_token_id",           kU32, "decoder_start_token_id", kNumber},
    {"general.file_type",                kU32, "", kFileType},
}); });
constexpr auto kT5EncoderKeys = [] {
  std::array<KeyRule, std::size(kT5Keys) - 2> keys;
  std::ranges::copy_if(kT5Keys, keys.begin(), [](const KeyRule& rule) {
    return !rule.key.starts_with("decoder_");
  });
  return keys;
}();
Result<uint64_t> is_gated(const Fields& fields) {
  const bool is_mt5 = text_in(fields.config(), "model_type") != "t5";
  const std::string* words = text_of(fields.config(), "feed_forward_proj");
  return words == nullptr ? is_mt5 : words->starts_with("gated-");
}
Result<uint64_t> is_plain(const Fields& fields) {
  return is_gated(fields).map([](uint64_t gated) { return 1 - gated; });
}
constexpr ClassDefault kT5Defaults[] = {
    {"d_model", "512"}, {"d_kv", "64"}, {"num_decoder_layers", "num_layers"},
    {"layer_norm_epsilon", "1e-6", kInKeys}, {"relative_attention_num_buckets", "32"},
    {"n_positions", "512", kInKeys}, {"num_hidden_layers", "num_layers", kInShapes},
    {"num_attention_heads", "num_heads", kInShapes}, {"head_dim", "d_kv", kInShapes},
    {"max_position_embeddings", "n_positions", kInShapes},
    {.field = "is_gated", .value = "", .read_by = kInShapes, .compute = is_gated},
    {.field = "is_plain", .value = "", .read_by = kInShapes, .compute = is_plain},
    {"vocab_size", "32128"}, {"d_ff", "2048"}, {"num_layers", "6"}, {"num_heads", "8"},
    {"tie_word_embeddings", "1", kInShapes},
};
constexpr auto kUmt5Defaults = [] {
  auto rows = std::to_array(kT5Defaults);
  for (ClassDefault& row : rows) {
    if (row.field == "vocab_size") row.value = "250112";
    if (row.field == "d_ff") row.value = "1024";
    if (row.field == "num_layers") row.value = "8";
    if (row.field == "num_heads") row.value = "6";
  }
  return rows;
}();
constexpr std::span<const ClassDefault> kMt5Defaults =
    std::span(kUmt5Defaults).first(kUmt5Defaults.size() - 1);  // its head is its own
// clang-format on

// Gives the fields that follow from the keys T5's own names, and adds those that no key has.
void add_t5_fields(const GraphConfig& made) {
  made.config["num_layers"] = made.layers;
  made.config["feed_forward_proj"] = is_truthy(known(made.config, "is_gated_act")) ? "gated-gelu"
                                                                                   : "relu";
  for (const char* other : {"num_hidden_layers", "max_position_embeddings", "attention_bias",
                            "mlp_bias"}) {
    made.config.erase(other);
  }
}

constexpr Family t5(Family made) {
  made.activation = {"gelu_new", ""};
  made.traits.text = {.set = {kActivationAny, kMayRotateNothing, kOtherTheta, kNoHeadDim},
                      .told_fields = {{"is_gated_act", "enc.blk.0.ffn_gate.weight"}}};
  made.names = {kT5Names};
  made.keys_around.has_common = false;
  made.root = "";
  made.layers = "encoder.block.";
  made.tokenizer = {.piece_file = PieceFile::kPreferred, .is_encoder = true, .is_t5 = true};
  made.graph = {.constants = {{"relative_attention_max_distance", "128"}},
                .add_fields = add_t5_fields};
  return made;
}
constexpr Family with_decoder(Family made) {
  made.keys = kT5Keys;
  made.decoder = {"decoder.block.", "num_decoder_layers"};
  return t5(made);
}

}  // namespace

const Family kT5 = with_decoder({.name = "t5",
                                 .architectures = "T5ForConditionalGeneration T5WithLMHeadModel",
                                 .model_types = "t5",
                                 .defaults = kT5Defaults,
                                 .parameters = {kT5Rows, kT5Decoder, kT5Biases}});
const Family kMt5 = with_decoder({.name = "t5",
                                  .architectures = "MT5ForConditionalGeneration",
                                  .model_types = "mt5",
                                  .defaults = kMt5Defaults,
                                  .parameters = {kT5Rows, kT5Decoder, kT5Biases}});
const Family kUmt5 = with_decoder({.name = "t5",
                                   .architectures = "UMT5ForConditionalGeneration UMT5Model",
                                   .model_types = "umt5",
                                   .defaults = kUmt5Defaults,
                                   .parameters = {kT5Rows, kT5Decoder, kUmt5Biases}});
const Family kT5Encoder = [] {
  Family made = t5({.name = "t5encoder",
                    .architectures = "T5EncoderModel",
                    .model_types = "t5",
                    .defaults = kT5Defaults,
                    .parameters = {kT5Rows, std::span(kT5Biases).first(1)}});
  made.keys = kT5EncoderKeys;
  return made;
}();

}  // namespace ckpt
