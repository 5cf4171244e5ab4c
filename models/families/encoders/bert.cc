// BERT, RoBERTa, XLM-R and Jina's BERT compute embeddings. The positions of RoBERTa and XLM-R begin
// after the ID of the padding token. Jina's BERT has ALiBi instead of positions, and a gated MLP.
//
// Sources: llama.cpp conversion/bert.py (BertModel, RobertaModel, XLMRobertaModel,
// JinaBertV2Model); transformers models/{bert,roberta,xlm_roberta}, Jina's modeling_bert.py. The
// pooler and the heads of masked language models are left out.
#include "models/families/rows.h"

namespace ckpt {
namespace {

// clang-format off
constexpr auto kBertFrame = spread([] { return std::to_array<ParameterRule>({
    {"embeddings.word_embeddings.weight", "vocab_size hidden_size"},
    {"embeddings.token_type_embeddings.weight", "type_vocab_size hidden_size", kWhole,
     "type_vocab_size"},
    {"embeddings.LayerNorm.{weight,bias}", "hidden_size"},
    {"pooler.dense.weight",               "hidden_size hidden_size", kWhole, "optional"},
    {"pooler.dense.bias",                 "hidden_size", kWhole, "optional"},
    {".attention.self.query.weight",      "hidden_size hidden_size", kRows},
    {".attention.self.query.bias",        "hidden_size", kRows},
    {".attention.self.key.weight",        "hidden_size hidden_size", kRows},
    {".attention.self.key.bias",          "hidden_size", kRows},
    {".attention.self.value.weight",      "hidden_size hidden_size", kRows},
    {".attention.self.value.bias",        "hidden_size", kRows},
    {".attention.output.dense.weight",    "hidden_size hidden_size", kColumns},
    {".attention.output.dense.bias",      "hidden_size"},
    {".attention.output.LayerNorm.{weight,bias}", "hidden_size"},
}); });
constexpr auto kBertLayers = spread([] { return std::to_array<ParameterRule>({
    {"embeddings.position_embeddings.weight", "max_position_embeddings hidden_size"},
    {".intermediate.dense.weight", "intermediate_size hidden_size", kRows},
    {".intermediate.dense.bias",   "intermediate_size", kRows},
    {".output.dense.weight",       "hidden_size intermediate_size", kColumns},
    {".output.dense.bias",         "hidden_size"},
    {".output.LayerNorm.{weight,bias}", "hidden_size"},
}); });
constexpr ParameterRule kRobertaClassifier[] = {
    {"classifier.dense.weight",    "hidden_size hidden_size", kWhole, "classifier"},
    {"classifier.dense.bias",      "hidden_size", kWhole, "classifier"},
    {"classifier.out_proj.weight", "num_labels hidden_size", kWhole, "classifier"},
    {"classifier.out_proj.bias",   "num_labels", kWhole, "classifier"},
};
constexpr auto kJinaLayers = spread([] { return std::to_array<ParameterRule>({
    {".mlp.gated_layers.weight", "2*intermediate_size hidden_size", kRows},
    {".mlp.wo.weight",           "hidden_size intermediate_size", kColumns},
    {".mlp.wo.bias",             "hidden_size"},
    {".mlp.layernorm.{weight,bias}", "hidden_size"},
}); });
constexpr auto kBertNames = spread([] { return std::to_array<NameRule>({
    {"embeddings.word_embeddings",                   "token_embd"},
    {"embeddings.token_type_embeddings",             "token_types", kNone, Store::kF32},
    {"embeddings.position_embeddings",               "position_embd", kNone, Store::kF32},
    {"embeddings.LayerNorm",                         "token_embd_norm"},
    {"encoder.layer.{}.attention.self.{query,key,value}", "blk.{}.attn_{q,k,v}"},
    {"encoder.layer.{}.attention.output.{dense,LayerNorm}", "blk.{}.attn_{output,output_norm}"},
    {"encoder.layer.{}.{intermediate,output}.dense", "blk.{}.ffn_{up,down}"},
    {"encoder.layer.{}.output.LayerNorm",            "blk.{}.layer_output_norm"},
    {"embeddings.position_ids", ""}, {"pooler.dense", ""}, {"cls.predictions", ""},
    {"cls.predictions.decoder", ""}, {"cls.predictions.transform.dense", ""},
    {"cls.predictions.transform.LayerNorm", ""}, {"cls.seq_relationship", ""},
}); });
constexpr NameRule kRobertaNames[] = {
    {"classifier.dense",    "cls"},
    {"classifier.out_proj", "cls.output"},
};
constexpr NameRule kUnnamedClassifier[] = {
    {"classifier", "cls"},
};
constexpr NameRule kPaddedPositions[] = {
    {"embeddings.position_embeddings", "position_embd", kPositions, Store::kF32},
};
constexpr auto kJinaNames = spread([] { return std::to_array<NameRule>({
    {"encoder.layer.{}.mlp.{gated_layers,wo}", "blk.{}.ffn_{up,down}"},
    {"encoder.layer.{}.mlp.layernorm",               "blk.{}.layer_output_norm"},
    {"encoder.layer.{}.mlp.{up_gated,down}_layer", "blk.{}.ffn_{up,down}"},
    {"encoder.layer.{}.layer_norm_1",                "blk.{}.attn_norm_2"},
    {"encoder.layer.{}.layer_norm_2",                "blk.{}.layer_output_norm"},
    {"encoder.layer.{}.attention.self.layer_norm_{q,k}", "blk.{}.attn_{q,k}_norm"},
}); });
constexpr KeyRule kPaddedContext[] = {
    {"context_length", kU32, "max_position_embeddings", kPositionCount},
};
constexpr ClassDefault kBertDefaults[] = {
    {"vocab_size", "30522"}, {"hidden_size", "768"}, {"num_attention_heads", "12"},
    {"intermediate_size", "3072"}, {"max_position_embeddings", "512"}, {"type_vocab_size", "2"},
    {"layer_norm_eps", "1e-12", kInKeys}, {"num_hidden_layers", "12"}, rows::kLabelCount,
    rows::if_absent("pad_token_id", "1", kInKeys),  // not BERT's
};
// clang-format on
constexpr std::span<const ClassDefault> kUnpaddedDefaults =
    std::span(kBertDefaults).first(std::size(kBertDefaults) - 1);

constexpr Traits kBertTraits = {
    .set = {kActivationAny, kMayRotateNothing, kOtherTheta, kNoHeadDim}};

constexpr Family bert(Family made, bool has_padding_row) {
  made.activation = {"gelu", "hidden_act"};
  made.traits.text = kBertTraits;
  made.keys = rows::kEncoderKeys;
  made.defaults = has_padding_row ? std::span(kBertDefaults) : kUnpaddedDefaults;
  made.root = "";
  made.layers = "encoder.layer.";
  made.tokenizer = {.is_encoder = true};
  return made;
}

constexpr Family roberta(std::string_view architectures, std::string_view model_type) {
  return bert(
      {
          .name = "bert",
          .architectures = architectures,
          .model_types = model_type,
          .names = {kPaddedPositions, kRobertaNames, kBertNames},
          .keys_around = {.more = kPaddedContext},
          .parameters = {kBertFrame, kBertLayers, kRobertaClassifier},
          .prefixes = "roberta. bert.",
      },
      true);
}

// Two labels without names: llama.cpp's converter gives the classifier another name, and llama.cpp
// does not load the file.
constexpr std::string_view kBertClasses =
    "BertModel BertForMaskedLM CamembertModel BertForSequenceClassification";
constexpr Family kUnnamedLabels = bert({.name = "bert",
                                        .architectures = kBertClasses,
                                        .model_types = "bert",
                                        .names = {kUnnamedClassifier, kBertNames},
                                        .parameters = {kBertFrame, kBertLayers,
                                                       rows::kClassifierRows},
                                        .prefixes = "bert."},
                                       false);
constexpr FamilyVariant kBertVariants[] = {{has_unnamed_labels, &kUnnamedLabels}};

}  // namespace

const Family kBert = bert(
    {
        .name = "bert",
        .architectures = kBertClasses,
        .model_types = "bert",
        .names = {rows::kClassifierNames, kBertNames},
        .parameters = {kBertFrame, kBertLayers, rows::kClassifierRows},
        .prefixes = "bert.",
        .forms = {.variants = kBertVariants},
    },
    false);
const Family kXlmRoberta =
    roberta("XLMRobertaModel XLMRobertaForSequenceClassification", "xlm-roberta");
const Family kRoberta = roberta("RobertaModel RobertaForSequenceClassification", "roberta");

const Family kJinaBert = bert({.name = "jina-bert-v2",
                               .architectures = "JinaBertModel JinaBertForMaskedLM",
                               .model_types = "bert",
                               .names = {kJinaNames, kBertNames},
                               .parameters = {kBertFrame, kJinaLayers},
                               .prefixes = "bert."},
                              false);

}  // namespace ckpt
