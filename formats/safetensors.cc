// The safetensors format: one file, or a Hugging Face folder.
#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>

#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "formats/sniff.h"
#include "formats/torch.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

// A name, or a header that starts as one does: length, then '{'.
bool is_safetensors_file(const fs::path& path) {
  if (path.extension() == kSafetensorsEnding) return true;
  const auto source = open_file(path);
  if (!source || (*source)->size_bytes() < 9) return false;
  std::array<std::byte, 9> head{};
  if (!(*source)->read(0, head)) return false;
  uint64_t length = 0;
  std::memcpy(&length, head.data(), sizeof(length));
  return head[8] == std::byte{'{'} && length <= kMaxSafetensorsHeaderBytes &&
         length <= (*source)->size_bytes() - 8;
}

bool is_safetensors_name(const fs::path& name) {
  return name.extension() == kSafetensorsEnding || name == kIndexName;
}

bool is_safetensors(const fs::path& path) {
  if (!is_folder(path)) return is_safetensors_file(path);
  if (is_url(path)) {
    const auto names = names_at_url(path).value_or(std::vector<std::string>());
    return std::any_of(names.begin(), names.end(), is_safetensors_name);
  }
  std::error_code error;
  fs::directory_iterator entries(path, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    if (is_safetensors_name(entries->path().filename())) return true;
  }
  return false;
}

Result<Checkpoint> read_one_file(const fs::path& path, Codecs codecs) {
  CKPT_ASSIGN(SharedSource source, open_file(path));
  const bool is_torch = holds_torch_weights(path);
  CKPT_ASSIGN(SafetensorsHeader header, is_torch
                                            ? in_file(source->name(), read_torch_header(source))
                                            : read_safetensors_header(source, codecs));
  const std::string name = path.filename().string();
  std::vector<SafetensorsFile> files;
  files.push_back(
      {is_torch ? torch_file_as_safetensors(name) : name, std::move(source), std::move(header)});
  Checkpoint checkpoint;
  checkpoint.format = kSafetensors.name;
  checkpoint.name = path.stem().string();
  CKPT_ASSIGN(const NameIndex index, index_entries(files));
  CKPT_ASSIGN(checkpoint.tensors, assemble_tensors(files, index, codecs));
  checkpoint.file_metadata[files[0].path] = std::move(files[0].header.metadata);
  return checkpoint;
}

Result<Checkpoint> read_safetensors(const fs::path& path, Codecs codecs) {
  return is_folder(path) ? read_hf_folder(path, codecs) : read_one_file(path, codecs);
}

}  // namespace

constinit const Format kSafetensors{
    .name = "safetensors",
    .help = "a Hugging Face folder, or one .safetensors file",
    .recognizes = is_safetensors,
    .read = read_safetensors,
    .lay_out = lay_out_safetensors,
};

}  // namespace ckpt
