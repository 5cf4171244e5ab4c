#include "formats/formats.h"

#include <array>

#include "core/folder.h"
#include "core/patch/journal.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const Format*, 2> kFormats = {&kSafetensors, &kGguf};
constexpr std::string_view kAccepted = "a Hugging Face folder, a .safetensors or a .gguf file";

}  // namespace

Formats all_formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  for (const Format* format : kFormats) {
    if (format->name == name) return format;
  }
  return nullptr;
}

Result<const Format*> recognise(const fs::path& path) {
  std::error_code error;
  CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
  if (!exists) {
    return fail(ErrorCode::kUsage, "{}: nothing is there; expected {}", path.string(), kAccepted);
  }
  CKPT_TRY(refuse_unfinished_patch(path));
  // GGUF goes first: it has a magic number, where a safetensors file has only a plausible start.
  if (kGguf.recognises(path)) return &kGguf;
  if (kSafetensors.recognises(path)) return &kSafetensors;
  if (fs::is_directory(path, error)) {
    // This says best what is there instead of weights.
    CKPT_TRY(find_weights(path));
    return &kSafetensors;
  }
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  CKPT_TRY(in(path.string(), refuse_other_files(*source, kAccepted)));
  return fail(ErrorCode::kUnsupported, "{}: not recognised; expected {}", path.string(), kAccepted);
}

}  // namespace ckpt
