#include "core/model/document_names.h"

#include <algorithm>
#include <map>

#include "core/base/glob.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

using enum DocumentKind;
struct KindNames {
  DocumentKind kind;
  std::string_view globs;
};
constexpr KindNames kNames[] = {
    // modelopt_state.pth: the state of quantizers after quantization-aware training; read as data,
    // never executed
    {kModel,
     "config.json generation_config.json hf_quant_config.json quantize_config.json recipe.yaml "
     "params.json adapter_config.json modelopt_state.pth"},
    {kVocabulary,
     "tokenizer.json vocab.json vocab.txt merges.txt tokenizer.model tokenizer.model.v* "
     "tiktoken.model *.tiktoken tekken.json spiece.model spm.model sentencepiece.model "
     "sentencepiece.bpe.model vocab.bpe encoder.json"},
    {kTokenizer, "tokenizer_config.json special_tokens_map.json added_tokens.json"},
    {kTemplate,
     "chat_template.jinja chat_template.json chat_templates.json "
     "additional_chat_templates/*.jinja"},
    {kInputs,
     "preprocessor_config.json video_preprocessor_config.json processor_config.json "
     "image_processor_config.json feature_extractor_config.json"},
    {kEmbedding,
     "modules.json sentence_bert_config.json config_sentence_transformers.json "
     "?_Pooling/config.json ?_Normalize/config.json ?_Dense/config.json ?_LayerNorm/config.json "
     "?_Dropout/config.json ?_WeightedLayerPooling/config.json ?_SpladePooling/config.json"},
    {kModules,
     "?_Dense/model.safetensors ?_Dense/pytorch_model.bin ?_LayerNorm/model.safetensors "
     "?_LayerNorm/pytorch_model.bin ?_WeightedLayerPooling/model.safetensors "
     "?_WeightedLayerPooling/pytorch_model.bin"},
    {kWords, "README.md LICENSE LICENSE.* LICENCE* NOTICE NOTICE.* USE_POLICY.md MODEL_CARD.md"},
};

const std::map<DocumentKind, GlobList>& globs_by_kind() {
  static const auto made = [] {
    std::map<DocumentKind, GlobList> lists;
    for (const auto& [kind, globs] : kNames) {
      lists.emplace(kind, GlobList(split_words<std::string>(globs)));
    }
    return lists;
  }();
  return made;
}

}  // namespace

std::vector<std::string_view> document_globs() {
  std::vector<std::string_view> out;
  for (const KindNames& each : kNames)
    std::ranges::copy(split_words(each.globs), std::back_inserter(out));
  return out;
}

bool is_document(std::string_view path) {
  return std::ranges::any_of(globs_by_kind(),
                             [&](const auto& of_kind) { return of_kind.second.matches_any(path); });
}

bool is_document_of(DocumentKind kind, std::string_view path) {
  return globs_by_kind().at(kind).matches_any(path);
}

}  // namespace ckpt
