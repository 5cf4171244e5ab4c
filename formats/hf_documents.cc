// Reads the small files of a Hugging Face folder that belong to the model.
#include <algorithm>
#include <array>
#include <set>

#include "core/io/folder.h"
#include "core/io/remote_files.h"
#include "core/model/document_names.h"
#include "core/model/transform.h"
#include "core/patch/journal.h"
#include "core/resume/unfinished.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

bool has_subfolder_documents(const std::string& name) {
  return std::ranges::any_of(document_globs(), [&](std::string_view glob) {
    const size_t slash = glob.find('/');
    return slash != std::string_view::npos && glob_matches(glob.substr(0, slash), name);
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
      } else if (is_document(prefix + name) && !is_document_of(DocumentKind::kWords, name)) {
        return unsupported("{}: a folder; expected a file", entries->path().string());
      }
    } else if (is_document(prefix + name)) {
      found.insert(prefix + name);
    }
  }
  if (!error) return {};
  return io_failure(folder, "cannot be listed", error.value());
}

Result<Document> read_document(const std::filesystem::path& folder, const std::string& path,
                               const ReadOptions& options) {
  const bool is_never_small = is_document_of(DocumentKind::kVocabulary, path) ||
                              is_document_of(DocumentKind::kModules, path);
  // An entry for each of a model's quantizers.
  const bool is_large = is_never_small || path == "modelopt_state.pth";
  if (is_never_small && is_url(folder) && options.skip_vocabularies_of_urls) {
    return Document(path, "");
  }
  CKPT_ASSIGN(const SharedSource source, open_document(folder, path, options));
  CKPT_ASSIGN(std::string text,
              read_text(*source, is_large ? kMaxVocabularyBytes : kMaxDocumentBytes));
  if (text.starts_with("version https://git-lfs")) {
    CKPT_TRY(in(source->name(), refuse_other_files(*source, path)));
  }
  return Document(path, std::move(text));
}

}  // namespace

bool is_checkpoint_file(const std::string& path) {
  constexpr auto kWeights = std::to_array<std::string_view>(
      {kIndexName, "model*.safetensors",
       "*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].safetensors"});
  if (is_document(path)) return true;
  return path.find('/') == path.npos &&
         std::ranges::any_of(kWeights,
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
    CKPT_TRY(refuse_unfinished_patch(folder));
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
