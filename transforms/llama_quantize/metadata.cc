// The keys of a quantized file in llama-quantize's order, with texts and booleans changed as it
// changes them, so that both programs write the same bytes.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "transforms/llama_quantize/options.h"

namespace ckpt {
namespace {

constexpr uint64_t kQuantizationVersion = 2;  // ggml/include/ggml.h GGML_QNT_VERSION
constexpr size_t kOverrideBytes = 127;        // include/llama.h llama_model_kv_override::val_str

void move_to_end(Metadata& metadata, const std::string& key, MetaValue value) {
  metadata.remove(key);
  metadata.append(key, std::move(value));
}

void cut_at_nul(std::string& text) { text.resize(std::min(text.find('\0'), text.size())); }

// The original copies texts as C strings, which end at their first NUL, and reads any byte except 0
// as true, which it writes as 1.
void copy_as_original(Metadata& metadata) {
  for (MetaEntry& entry : metadata.entries) {
    if (auto* text = std::get_if<std::string>(&entry.value.value)) cut_at_nul(*text);
    if (entry.value.type == MetaType::kBool) {
      entry.value = MetaValue::boolean(std::get<uint64_t>(entry.value.value) != 0);
    }
    auto* array = std::get_if<MetaArray>(&entry.value.value);
    if (array == nullptr) continue;
    for (std::string& text : array->texts) cut_at_nul(text);
    if (array->element != MetaType::kBool) continue;
    for (std::byte& flag : array->numbers) flag = std::byte{flag != std::byte{0}};
  }
}

MetaValue override_text(std::string text) {
  cut_at_nul(text);
  text.resize(std::min(text.size(), kOverrideBytes));
  return MetaValue::text(std::move(text));
}

}  // namespace

void update_quantized_metadata(Metadata& metadata, FileType file_type, const Imatrix* imatrix) {
  copy_as_original(metadata);
  move_to_end(metadata, "general.quantization_version", MetaValue::u32(kQuantizationVersion));
  move_to_end(metadata, "general.file_type", MetaValue::u32(static_cast<uint32_t>(file_type)));
  for (const char* key : {"split.no", "split.count", "split.tensors.count"}) metadata.remove(key);
  if (imatrix == nullptr) return;
  move_to_end(metadata, "quantize.imatrix.file", override_text(imatrix->file));
  if (!imatrix->datasets.empty()) {
    move_to_end(metadata, "quantize.imatrix.dataset", override_text(imatrix->datasets.front()));
  }
  move_to_end(metadata, "quantize.imatrix.entries_count", MetaValue::u32(imatrix->weights.size()));
  // The original stores a larger count as a negative number, and then omits it.
  constexpr uint64_t kMaxChunks = std::numeric_limits<int32_t>::max();
  if (imatrix->chunk_count > 0 && imatrix->chunk_count <= kMaxChunks) {
    move_to_end(metadata, "quantize.imatrix.chunks_count", MetaValue::u32(imatrix->chunk_count));
  }
}

}  // namespace ckpt
