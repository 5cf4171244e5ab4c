// Joins INT4 weights that compressed-tensors packed, so that they can be decoded.
//
//   X_packed I32 [N, K/8], X_scale BF16 [N, K/G], X_shape [N, K]        X [N, K]
//
// keep-codes avoids decoding: Q4_0 has the same codes, and F16 can represent most BF16 scales.
//
// Source: llama.cpp conversion/base.py (dequant_model). Note: weights with zero points, other
// widths or groups, or a contradictory shape are not joined, and are rejected by name and type.
#include <set>
#include <unordered_map>

#include "core/base/counted.h"
#include "core/chunks/repack.h"
#include "transforms/packed/packed.h"
#include "transforms/to_gguf/mxfp4.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

constexpr std::string_view kPackedEnd = ".weight_packed";
constexpr uint64_t kValuesOfWord = 8;

using TensorsByName = std::unordered_map<std::string_view, const Tensor*>;

const Tensor* part_of(const TensorsByName& all, const std::string& stem, const char* end) {
  const auto found = all.find(stem + end);
  return found == all.end() ? nullptr : found->second;
}

bool is_stored_as(const Tensor* tensor, Dtype dtype, size_t rank) {
  return tensor != nullptr && tensor->is_stored() && tensor->codec->parts.size() == 1 &&
         tensor->codec->parts[0].dtype == dtype && tensor->shape.size() == rank;
}

// Reads rows and values per row; empty if the tensor has another form.
Result<std::vector<uint64_t>> read_shape(const Tensor* tensor) {
  std::vector<uint64_t> out;
  if (tensor == nullptr || tensor->shape != std::vector<uint64_t>{2}) return out;
  CKPT_ASSIGN(const auto numbers, read_integers(*tensor, 2));
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    out.push_back(static_cast<uint64_t>((*numbers)[i]));
  }
  return out;
}

// The codec for these codes and scales; nullptr if they have another form.
Result<const Codec*> codec_of(const TensorsByName& all, const Tensor& packed,
                              const std::string& stem, Codecs codecs) {
  const Tensor* scale = part_of(all, stem, ".weight_scale");
  CKPT_ASSIGN(const auto shape, read_shape(part_of(all, stem, ".weight_shape")));
  const bool is_plain = is_stored_as(&packed, Dtype::kI32, 2) &&
                        is_stored_as(scale, Dtype::kBF16, 2) && shape.size() == 2 &&
                        part_of(all, stem, ".weight_zero_point") == nullptr;
  if (!is_plain || scale->shape[0] != packed.shape[0] || scale->shape[1] == 0) return nullptr;
  if (shape != std::vector<uint64_t>{packed.shape[0], packed.shape[1] * kValuesOfWord}) {
    return nullptr;
  }
  if (shape[1] % scale->shape[1] != 0) return nullptr;
  return find_codec(codecs, fmt::format("int4_g{}", shape[1] / scale->shape[1]));
}

}  // namespace

Result<std::vector<Tensor>> join_packed_int4(std::vector<Tensor> tensors, Codecs codecs) {
  TensorsByName all;
  for (const Tensor& tensor : tensors) all.emplace(tensor.name, &tensor);
  std::unordered_map<std::string_view, const Codec*> taken;  // parts of joined weights, by name
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    if (!tensor.name.ends_with(kPackedEnd)) continue;
    const std::string stem = tensor.name.substr(0, tensor.name.size() - kPackedEnd.size());
    CKPT_ASSIGN(const Codec* codec, codec_of(all, tensor, stem, codecs));
    if (codec == nullptr) continue;
    Tensor joined = tensor;
    joined.name = stem + ".weight";
    joined.codec = codec;
    joined.shape[1] *= kValuesOfWord;
    const Tensor* scale = part_of(all, stem, ".weight_scale");
    joined.origin = Stored{{tensor.stored().parts[0], scale->stored().parts[0]}};
    for (const Tensor* part : {&tensor, scale, part_of(all, stem, ".weight_shape")}) {
      taken.emplace(part->name, codec);
    }
    out.push_back(std::move(joined));
  }
  if (taken.empty()) return tensors;
  for (const Tensor& tensor : tensors) {
    if (!taken.contains(tensor.name)) out.push_back(tensor);
  }
  return out;
}

Result<Checkpoint> with_whole_weights(Checkpoint input, Codecs codecs) {
  input.tensors = join_mxfp4(std::move(input.tensors), codecs);
  CKPT_ASSIGN(input, join_packed_weights(std::move(input), codecs));
  CKPT_ASSIGN(input.tensors, join_packed_int4(std::move(input.tensors), codecs));
  return input;
}

std::optional<Tensor> with_kept_codes(const Tensor& tensor, Codecs codecs) {
  if (tensor.codec->scheme != Scheme::kPackedInt4) return std::nullopt;
  auto made = repack(tensor, plain_codec(codecs, Dtype::kQ4_0));
  return made ? std::optional<Tensor>(std::move(*made)) : std::nullopt;
}

Status note_kept_codes(const Checkpoint& input, const std::vector<Tensor>& made,
                       const Context& context) {
  std::set<std::string_view> packed;
  for (const Tensor& tensor : input.tensors) {
    if (is_made_of_words(tensor)) packed.insert(tensor.name);
  }
  uint64_t kept = 0;
  NameCount decoded;
  for (const Tensor& tensor : made) {
    const bool is_kept = moved_scheme(tensor) == Scheme::kPackedInt4;
    kept += is_kept ? 1 : 0;
    if (!is_kept && packed.contains(tensor.source_name)) decoded.add(tensor.source_name);
  }
  constexpr std::string_view kWhich =
      "INT4 of compressed-tensors in groups of 32 or 128, with scales of BF16 and without zero "
      "points";
  if (kept == 0) {
    return misuse_hint("the same without it",
                       "keep-codes: Q4_0 holds the codes of no weight here; it takes {}", kWhich);
  }
  const MovedBlocks moved = count_moved(made);
  context.note("{} tensors of INT4 keep their codes as q4_0: {} blocks, all exact", moved.tensors,
               moved.blocks);
  if (decoded.count() > 0) {
    context.note("{}; q4_0 takes the codes of {}", decoded.text("packed tensors are decoded"),
                 kWhich);
  }
  return {};
}

}  // namespace ckpt
