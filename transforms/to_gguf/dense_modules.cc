// Dense layers that sentence-transformers runs after pooling, as tensors of the GGUF.
//
//   modules.json ─▶ 2_Dense/config.json         keys dense_2_feat_in, dense_2_feat_out
//                   2_Dense/model.safetensors   linear.weight ─▶ dense_2.weight
//
// llama.cpp multiplies by two such matrices, without bias or activation.
// Source: llama.cpp conversion/gemma.py (EmbeddingGemma, --sentence-transformers-dense-modules).
#include <algorithm>
#include <span>

#include "core/model/json_documents.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {
namespace {

constexpr std::string_view kDenseWeight = "linear.weight";
constexpr uint64_t kHeaderStart = 8;

std::string file_of_module(std::string_view path, std::string_view file) {
  return fmt::format("{}{}{}", path, path.ends_with('/') ? "" : "/", file);
}

// A number of a pair; UINT64_MAX if `pair` is not a pair of whole numbers.
uint64_t number_at(const JsonValue& pair, size_t index) {
  return pair.size() == 2 ? whole(pair[index]).value_or(UINT64_MAX) : UINT64_MAX;
}

// Reads the only tensor in a module's safetensors file.
Result<Tensor> read_weight(const Document& file, Codecs codecs) {
  const std::string& text = file.text();
  uint64_t size = 0;
  for (size_t i = std::min<size_t>(kHeaderStart, text.size()); i-- > 0;) {
    size = size << 8 | static_cast<uint8_t>(text[i]);
  }
  if (text.size() < kHeaderStart || size > text.size() - kHeaderStart) {
    return corrupt("{}: not a safetensors file", file.path);
  }
  CKPT_ASSIGN(const JsonValue header,
              parse_json(file.path, std::string_view(text).substr(kHeaderStart, size)));
  for (const auto& [name, entry] : header.items()) {
    if (name == kDenseWeight || name == "__metadata__") continue;
    return unsupported("{}: tensor '{}', for which llama.cpp has no place", file.path, name);
  }
  const JsonValue& entry = object_in(header, kDenseWeight);
  const JsonValue& shape = list_in(entry, "shape");
  const JsonValue& range = list_in(entry, "data_offsets");
  const uint64_t rows = number_at(shape, 0), columns = number_at(shape, 1);
  const uint64_t begin = number_at(range, 0), end = number_at(range, 1);
  const uint64_t held = text.size() - kHeaderStart - size;
  const bool is_matrix = rows <= UINT32_MAX && columns <= UINT32_MAX;
  if (!is_matrix || begin > end || end > held) {
    return corrupt("{}: no matrix '{}'", file.path, kDenseWeight);
  }
  const std::string_view dtype = text_in(entry, "dtype");
  const Dtype type = dtype == "BF16" ? Dtype::kBF16 : dtype == "F16" ? Dtype::kF16 : Dtype::kF32;
  if (dtype != "F32" && type == Dtype::kF32) {
    return unsupported("{}: '{}' is stored as {}; known are F32, F16 and BF16", file.path,
                       kDenseWeight, dtype);
  }
  const uint64_t width = type == Dtype::kF32 ? 4 : 2;
  if (end - begin != rows * columns * width) {
    return corrupt("{}: '{}' has {} bytes; its shape is [{}, {}]", file.path, kDenseWeight,
                   end - begin, rows, columns);
  }
  const auto bytes = std::as_bytes(std::span(text)).subspan(kHeaderStart + size + begin);
  return make_tensor(file.path, {rows, columns}, plain_codec(codecs, type),
                     {bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(end - begin)});
}

}  // namespace

Result<std::vector<NamedTensor>> read_dense_modules(const Checkpoint& checkpoint, Model& model,
                                                    Codecs codecs) {
  std::vector<NamedTensor> out;
  for (const auto& [path, type] : sentence_modules(checkpoint)) {
    if (!type.ends_with("Dense")) continue;
    const std::string name = path == "2_Dense" ? "dense_2" : "dense_3";
    const std::string weights = file_of_module(path, "model.safetensors");
    const Document* file = checkpoint.find_document(weights);
    CKPT_ASSIGN(const auto config,
                read_object(checkpoint, file_of_module(path, "config.json")));
    if (file == nullptr || !config) {
      return corrupt("modules.json names '{}', which lacks {}", path,
                     file == nullptr ? "model.safetensors" : "config.json");
    }
    const std::string_view activation = text_in(*config, "activation_function");
    if (!activation.ends_with("Identity")) {
      return unsupported("{}/config.json: activation_function is '{}'; llama.cpp computes none",
                         path, activation);
    }
    CKPT_ASSIGN(Tensor weight, read_weight(*file, codecs));
    model.dense.push_back({name, weight.row_values(), weight.rows()});
    out.push_back({name + ".weight", std::move(weight)});
  }
  if (out.empty()) return misuse("dense-modules: modules.json names no Dense module");
  return out;
}

}  // namespace ckpt
