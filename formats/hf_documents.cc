// The small files of a Hugging Face folder that belong to the model.
//
// A list of what is taken, not of what is left out: a folder of a trainer also holds optimizer
// states, random number states, logs and caches, and none of them may travel with the weights.
// Python files (remote code) are left out too: they are programs, to be copied by a person who
// has read them.
#include <algorithm>
#include <array>
#include <set>

#include "core/base/glob.h"
#include "core/io/folder.h"
#include "core/io/remote_files.h"
#include "core/model/transform.h"
#include "core/resume/unfinished.h"
#include "formats/linked_documents.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

// Globs over paths relative to the folder.
constexpr auto kDocuments = std::to_array<std::string_view>({
    // model
    "config.json",
    "generation_config.json",
    "hf_quant_config.json",
    "quantize_config.json",
    "recipe.yaml",
    "params.json",
    "adapter_config.json",
    // a quantization-aware training's account of its quantizers; read as data, never run
    "modelopt_state.pth",
    // tokenizer
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "tokenizer.model.v*",
    "tiktoken.model",
    "tekken.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    // chat templates
    "chat_template.jinja",
    "chat_template.json",
    "chat_templates.json",
    "additional_chat_templates/*.jinja",
    // images, video, sound
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "processor_config.json",
    "image_processor_config.json",
    "feature_extractor_config.json",
    // embedding models
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "?_Pooling/config.json",
    "?_Normalize/config.json",
});

// Those that people write.
constexpr auto kWords = std::to_array<std::string_view>({
    "README.md",
    "LICENSE",
    "LICENSE.*",
    "LICENCE*",
    "NOTICE",
    "NOTICE.*",
    "USE_POLICY.md",
    "MODEL_CARD.md",
});

bool has_subfolder_documents(const std::string& name) {
  return std::any_of(kDocuments.begin(), kDocuments.end(), [&](std::string_view pattern) {
    const size_t slash = pattern.find('/');
    return slash != std::string_view::npos && glob_matches(pattern.substr(0, slash), name);
  });
}

Status list(const std::filesystem::path& folder, const std::string& prefix,
            std::set<std::string>& found) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    if (entries->is_directory(ignored)) {
      if (prefix.empty() && has_subfolder_documents(name)) {
        CKPT_TRY(list(entries->path(), name + "/", found));
      }
    } else if (is_document(prefix + name)) {
      found.insert(prefix + name);
    }
  }
  if (!error) return {};
  return io_failure(folder, "cannot be listed", error.value());
}

// Files that hold a vocabulary or its merges, or an entry for each of a model's quantizers.
bool is_large(const std::string& path) {
  static const GlobList kLarge(
      {"tokenizer.*", "vocab.*", "merges.txt", "tekken.json", "*.model", "modelopt_state.pth"});
  return kLarge.matches_any(path);
}

Result<Document> read_document(const std::filesystem::path& folder, const std::string& path,
                               const ReadOptions& options) {
  const bool is_vocabulary = is_large(path) && path != "modelopt_state.pth";
  if (is_vocabulary && is_url(folder) && options.skip_vocabularies_of_urls) {
    return Document(path, "");
  }
  CKPT_ASSIGN(const SharedSource source, open_document(folder, path, options));
  CKPT_ASSIGN(std::string text,
              read_text(*source, is_large(path) ? kMaxVocabularyBytes : kMaxDocumentBytes));
  if (text.starts_with("version https://git-lfs")) {
    CKPT_TRY(in(source->name(), refuse_other_files(*source, path)));
  }
  return Document(path, std::move(text));
}

}  // namespace

bool is_document(const std::string& path) {
  static const GlobList list({kDocuments.begin(), kDocuments.end()});
  return list.matches_any(path) || is_written_by_people(path);
}

bool is_written_by_people(const std::string& path) {
  static const GlobList list({kWords.begin(), kWords.end()});
  return list.matches_any(path);
}

bool is_checkpoint_file(const std::string& path) {
  constexpr auto kWeights = std::to_array<std::string_view>(
      {kIndexName, "model*.safetensors",
       "*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].safetensors"});
  if (is_document(path)) return true;
  return path.find('/') == path.npos &&
         std::any_of(kWeights.begin(), kWeights.end(),
                     [&](std::string_view pattern) { return glob_matches(pattern, path); });
}

Result<std::vector<Document>> read_documents(const std::filesystem::path& folder,
                                             const ReadOptions& options) {
  CKPT_TRY(refuse_unfinished_output(folder));
  std::set<std::string> paths;
  if (is_url(folder)) {
    CKPT_ASSIGN(const auto entries, url_files().list(folder.string()));
    for (const RemoteEntry& entry : entries) {
      if (is_document(entry.path)) paths.insert(entry.path);
    }
  } else {
    CKPT_TRY(list(folder, "", paths));
  }
  std::vector<Document> documents;
  for (const std::string& path : paths) {
    CKPT_ASSIGN(Document document, read_document(folder, path, options));
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace ckpt
