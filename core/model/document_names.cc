#include "core/model/document_names.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/base/glob.h"

namespace ckpt {
namespace {

using enum DocumentKind;
constexpr auto kNames = std::to_array<DocumentName>({
    {"config.json", kModel},
    {"generation_config.json", kModel},
    {"hf_quant_config.json", kModel},
    {"quantize_config.json", kModel},
    {"recipe.yaml", kModel},
    {"params.json", kModel},
    {"adapter_config.json", kModel},
    // a quantization-aware training's account of its quantizers; read as data, never run
    {"modelopt_state.pth", kModel},
    {"tokenizer.json", kVocabulary},
    {"vocab.json", kVocabulary},
    {"vocab.txt", kVocabulary},
    {"merges.txt", kVocabulary},
    {"tokenizer.model", kVocabulary},
    {"tokenizer.model.v*", kVocabulary},
    {"tiktoken.model", kVocabulary},
    {"tekken.json", kVocabulary},
    {"spiece.model", kVocabulary},
    {"sentencepiece.bpe.model", kVocabulary},
    {"tokenizer_config.json", kTokenizer},
    {"special_tokens_map.json", kTokenizer},
    {"added_tokens.json", kTokenizer},
    {"chat_template.jinja", kTemplate},
    {"chat_template.json", kTemplate},
    {"chat_templates.json", kTemplate},
    {"additional_chat_templates/*.jinja", kTemplate},
    {"preprocessor_config.json", kInputs},
    {"video_preprocessor_config.json", kInputs},
    {"processor_config.json", kInputs},
    {"image_processor_config.json", kInputs},
    {"feature_extractor_config.json", kInputs},
    {"modules.json", kEmbedding},
    {"sentence_bert_config.json", kEmbedding},
    {"config_sentence_transformers.json", kEmbedding},
    {"?_Pooling/config.json", kEmbedding},
    {"?_Normalize/config.json", kEmbedding},
    {"README.md", kWords},
    {"LICENSE", kWords},
    {"LICENSE.*", kWords},
    {"LICENCE*", kWords},
    {"NOTICE", kWords},
    {"NOTICE.*", kWords},
    {"USE_POLICY.md", kWords},
    {"MODEL_CARD.md", kWords},
});

const GlobList& globs_of(DocumentKind kind) {
  static const auto made = [] {
    std::map<DocumentKind, std::vector<std::string>> globs;
    for (const DocumentName& name : kNames) globs[name.kind].emplace_back(name.glob);
    std::map<DocumentKind, GlobList> lists;
    for (const auto& [of, patterns] : globs) lists.emplace(of, GlobList(patterns));
    return lists;
  }();
  return made.at(kind);
}

}  // namespace

std::span<const DocumentName> document_names() { return kNames; }

bool is_document(std::string_view path) {
  static const GlobList all = [] {
    std::vector<std::string> globs;
    for (const DocumentName& name : kNames) globs.emplace_back(name.glob);
    return GlobList(globs);
  }();
  return all.matches_any(path);
}

bool is_document_of(DocumentKind kind, std::string_view path) {
  return globs_of(kind).matches_any(path);
}

}  // namespace ckpt
