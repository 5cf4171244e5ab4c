// Finds the format of a path, and explains what is wrong with a path that does not exist, is
// unfinished or has another format.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "core/base/find.h"
#include "core/base/printable.h"
#include "core/base/url_secrets.h"
#include "core/base/words.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/model/document_names.h"
#include "core/patch/journal.h"
#include "core/resume/unfinished.h"
#include "formats/formats.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const Format*, 2> kFormats = {&kSafetensors, &kGguf};
constexpr std::string_view kAccepted =
    "a Hugging Face folder, a .safetensors, .gguf or PyTorch file";

// "ORG/NAME", where ORG is not a folder here: the name of a model on the Hugging Face hub.
std::string hub_name(const fs::path& path) {
  const std::string text = path.string();
  const size_t slash = text.find('/');
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const bool has_two_parts = slash != text.npos && slash > 0 && slash + 1 < text.size() &&
                             text.find('/', slash + 1) == text.npos;
  std::error_code error;
  if (!has_two_parts || text[0] == '.' || !std::ranges::all_of(text, is_plain) ||
      fs::exists(path.parent_path(), error) || has_ending(text, ".gguf") ||
      has_ending(text, ".safetensors")) {
    return {};
  }
  return text;
}

}  // namespace

Formats all_formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  const auto* found = find_by(kFormats, &Format::name, name);
  return found == nullptr ? nullptr : *found;
}

bool is_file_of(const fs::path& path, const std::string& name) {
  if (is_folder(path)) {
    const bool is_hidden = name.starts_with('.') || name.find("/.") != name.npos;
    return is_document(name) || name == kIndexName ||
           (name.ends_with(kSafetensorsEnding) && !is_hidden);
  }
  if (name == path.filename().string()) return true;
  const auto part = parse_split_name(name);
  const auto first = parse_split_name(path.filename().string());
  return part && first && part->prefix == first->prefix && part->count == first->count;
}

Result<const Format*> recognize(const fs::path& path) {
  CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
  if (!exists) {
    std::error_code error;
    if (fs::is_symlink(path, error)) return open_failure(path, ENOENT);
    const std::string name = hub_name(path);
    if (!name.empty()) {
      Failure missing = misuse_hint(
          fmt::format("hf download {} --local-dir {}, and then {}; or hf://{}", name,
                      shell_path(path.filename().string()), shell_path(path.filename().string()),
                      name),
          "{}: does not exist; a model of the Hugging Face hub has to be fetched first, or named "
          "by its URL",
          name);
      missing.value().is_missing = true;
      return missing;
    }
    if (!is_url(path) && path.native().find("://") != std::string::npos) {
      return misuse("{}: not a URL that is read here; expected hf://, s3://, https:// or http://",
                    without_url_secrets(path.string()));
    }
    return not_found("{}: does not exist; expected {}", path.string(), kAccepted);
  }
  if (!is_url(path)) {
    CKPT_TRY(refuse_unfinished_patch(path));
    CKPT_TRY(refuse_unfinished_output(path));
  }
  if (!is_folder(path)) {
    CKPT_TRY(refuse_piece(path));
    CKPT_TRY(in(path.string(), refuse_partial({path.filename().string()}, PartialBy::kFile)));
  }
  // GGUF goes first: it has a magic number, where a safetensors file has only a plausible start.
  if (kGguf.recognizes(path)) return &kGguf;
  if (kSafetensors.recognizes(path)) return &kSafetensors;
  if (holds_torch_weights(path)) return &kSafetensors;
  if (is_folder(path)) {
    // This says best what is there instead of weights.
    CKPT_TRY(find_weights(path));
    return &kSafetensors;
  }
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  CKPT_TRY(in(path.string(), refuse_other_files(*source, kAccepted)));
  return unsupported("{}: not recognized; expected {}", path.string(), kAccepted);
}

bool is_file_of_ranks(const std::string& name) { return !refuse_partial({name}, PartialBy::kFile); }

}  // namespace ckpt
