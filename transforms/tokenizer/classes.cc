// Selects the class to name in tokenizer_config.json.
//
//                      4.57                                5.x
//   Qwen2Tokenizer     rules of tokenizer.json             Qwen2's own rules
//   Qwen3_5Tokenizer   absent                              Qwen3.5's own rules
//   TokenizersBackend  absent                              rules of tokenizer.json
//   PreTrainedTokenizerFast   rules of tokenizer.json      rules of tokenizer.json
//
// Source: huggingface/transformers v4.57.1 and v5.17.0 src/transformers/models/auto/
// tokenization_auto.py, tokenization_utils_tokenizers.py (convert_to_native_format),
// models/qwen2/tokenization_qwen2.py, models/qwen3_5/tokenization_qwen3_5.py; processors of 4.57:
// models/*/processing_*.py (tokenizer_class). Hub checkpoints of Qwen3.5 name Qwen2Tokenizer, with
// which transformers 5 splits combining marks differently.
#include <algorithm>

#include "core/base/find.h"
#include "core/base/words.h"
#include "models/models.h"
#include "transforms/tokenizer/file.h"
#include "transforms/tokenizer/jobs.h"
#include "transforms/tokenizer/model.h"

namespace ckpt {
namespace {

// Names before "Tokenizer" or "TokenizerFast" that 4.57 resolves.
constexpr std::string_view kStems =
    "Albert Bart Barthez Bartpho Bert BertGeneration BertJapanese Bertweet BigBird BioGpt "
    "Blenderbot BlenderbotSmall Bloom ByT5 CLIP CTRL Camembert Canine Clvp CodeGen CodeLlama "
    "Cohere ConvBert Cpm CpmAnt DPRQuestionEncoder Deberta DebertaV2 Dia DistilBert Electra "
    "ErnieM Esm FNet FSMT FastSpeech2Conformer Flaubert Funnel GPT2 GPTNeoX GPTNeoXJapanese "
    "GPTSanJapanese GPTSw3 Gemma Herbert Jukebox LED LayoutLM LayoutLMv2 LayoutLMv3 LayoutXLM "
    "Llama Longformer Luke Lxmert M2M100 MBart MBart50 MLuke MPNet MT5 Marian Mgpstr "
    "MistralCommon MobileBert Mvp MyT5 Nllb OpenAIGPT PLBart Pegasus Perceiver Phobert PreTrained "
    "ProphetNet Qwen2 Rag Realm Reformer RemBert RetriBert RoCBert RoFormer Roberta SeamlessM4T "
    "Siglip Speech2Text Speech2Text2 SpeechT5 Splinter SqueezeBert T5 Tapas Tapex TransfoXL Udop "
    "Vits Wav2Vec2CTC Wav2Vec2PhonemeCTC Whisper XGLM XLM XLMProphetNet XLMRoberta XLNet";

// Names of classes without a fast form. For other classes, 4.57 resolves "Tokenizer" to the fast
// class.
constexpr std::string_view kSlowStems =
    "Bartpho BertGeneration BertJapanese Bertweet BioGpt ByT5 CTRL Canine Clvp CpmAnt Dia ErnieM "
    "Esm FSMT FastSpeech2Conformer Flaubert GPTNeoXJapanese GPTSanJapanese GPTSw3 Jukebox Luke "
    "M2M100 MLuke Marian Mgpstr MistralCommon MyT5 PLBart Perceiver Phobert ProphetNet Rag "
    "RoCBert Siglip Speech2Text Speech2Text2 SpeechT5 Tapas Tapex TransfoXL Vits Wav2Vec2CTC "
    "Wav2Vec2PhonemeCTC XLM XLMProphetNet";

// Model types without a family whose processor in 4.57 (or in vLLM 0.17 with it) accepts only one
// class, as Traits::processor_tokenizer says it for those of a family.
struct ProcessorRow {
  std::string_view model_types, name;
};
constexpr std::string_view kQwen2Pattern = "Qwen2TokenizerFast";
constexpr ProcessorRow kProcessors[] = {
    {"qwen2_5_omni qwen3_omni_moe colqwen2", kQwen2Pattern},
    {"chameleon idefics janus llava_next_video", "LlamaTokenizerFast"},
    {"colpali paligemma", "GemmaTokenizerFast"},
    {"emu3 phi4_multimodal", "GPT2TokenizerFast"},
};

// Rules of Qwen's classes in transformers 5 that replace those in tokenizer.json.
struct OwnRules {
  std::string_view stem, split;
};
constexpr OwnRules kOwnRules[] = {
    {"Qwen2", R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+)"
              R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {"Qwen3_5", R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+)"
                R"(|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

std::string_view stem_of(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  if (name.ends_with("Tokenizer")) name.remove_suffix(9);
  return name;
}

bool is_type(const JsonValue& json, std::string_view type) { return text_in(json, "type") == type; }

// Whether it splits by `pattern` and then represents bytes by letters.
bool cuts_by(const JsonValue& cutter, std::string_view pattern) {
  const JsonValue* steps = known(cutter, "pretokenizers");
  if (!is_type(cutter, "Sequence") || steps == nullptr || !steps->is_array() || steps->size() != 2)
    return false;
  const JsonValue& split = (*steps)[0];
  const JsonValue& bytes = (*steps)[1];
  return is_type(split, "Split") && text_in(known(split, "pattern"), "Regex") == pattern &&
         text_in(split, "behavior") == "Isolated" && !is_truthy(known(split, "invert")) &&
         is_type(bytes, "ByteLevel") && !is_truthy(known(bytes, "add_prefix_space")) &&
         !is_truthy(known(bytes, "use_regex"));
}

// Whether tokenizer.json has the rules that the class would make.
bool says(const TokenizerFile& file, const OwnRules& rules) {
  constexpr std::string_view kUnset[] = {
      "model.dropout",      "model.unk_token",          "model.continuing_subword_prefix",
      "model.fuse_unk",     "model.end_of_word_suffix", "model.byte_fallback",
      "model.ignore_merges"};
  return file.part("model.type") == "BPE" && is_type(file.part("normalizer"), "NFC") &&
         cuts_by(file.part("pre_tokenizer"), rules.split) &&
         std::ranges::none_of(kUnset, [&](auto key) { return is_truthy(&file.part(key)); });
}

}  // namespace

bool is_class_of_4_57(std::string_view name) {
  const std::string_view stem = stem_of(name);
  if (name.ends_with("Fast") && has_word(kSlowStems, stem)) return false;
  return stem != name && has_word(kStems, stem);
}

std::string_view class_of_processor(std::string_view model_type) {
  const std::string_view own = traits_of(model_type).processor_tokenizer;
  if (!own.empty()) return own;
  const auto* found = std::ranges::find_if(
      kProcessors, [&](const auto& row) { return has_word(row.model_types, model_type); });
  return found == std::end(kProcessors) ? std::string_view() : found->name;
}

bool transformers_5_cuts_otherwise(std::string_view name, std::string_view model_type,
                                   const TokenizerFile& file) {
  const std::string_view own = traits_of(model_type).tokenizer_class;
  const std::string_view stem = own.empty() ? stem_of(name) : own;
  const OwnRules* rules = find_by(kOwnRules, &OwnRules::stem, stem);
  return rules != nullptr && !says(file, *rules);
}

std::string class_with_own_rules(std::string_view name, bool takes_file_rules,
                                 const TokenizerFile& file) {
  const std::string_view stem = stem_of(name);
  if (takes_file_rules || stem == "PreTrained" || stem == "TokenizersBackend") return {};
  const OwnRules* rules = find_by(kOwnRules, &OwnRules::stem, stem);
  if (rules != nullptr && says(file, *rules)) return {};
  return name.empty() ? "not named" : std::string(stem);
}

ClassChoice choose_class(const TokenizerModel& model, const TokenizerFile& file) {
  const bool is_qwen2 = says(file, kOwnRules[0]);
  const std::string_view wanted = class_of_processor(model.model_type);
  if (!wanted.empty()) return {std::string(wanted), wanted != kQwen2Pattern || !is_qwen2};
  if (is_qwen2 && model.text_model_type.starts_with("qwen")) {
    return {std::string(kQwen2Pattern), false};
  }
  return {"PreTrainedTokenizerFast", false};
}

}  // namespace ckpt
