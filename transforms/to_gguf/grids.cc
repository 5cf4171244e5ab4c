// Changes of to-gguf that reorder matrices: experts stored as [in, out], keys and values of latent
// attention, alternating pairs (llama.cpp conversion/{gpt_oss,llama,deepseek}.py modify_tensors).
//
// MXFP4 experts already have the order [out, in], so only their rows are separated.
#include "core/base/words.h"
#include "core/computed/decoded_source.h"
#include "core/computed/strided_source.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/values.h"

namespace ckpt {
namespace {

bool is_plain(const Tensor& tensor) {
  return tensor.codec->parts.size() == 1 && tensor.codec->block_values == 1;
}

// Exchanges axes of {n, in, out} and takes rows `first`, first + step, ... of {n, out, in}.
Result<Tensor> swapped(const Tensor& tensor, uint64_t first, uint64_t step, uint64_t rows) {
  const uint64_t in = tensor.shape[1];
  const uint64_t out = tensor.shape[2];
  return take_grid(tensor, {first, {tensor.shape[0], rows, in}, {in * out, step, out}});
}

// Separates even and odd rows of {n, 2 rows, columns}, for any codec.
Result<std::vector<Tensor>> row_pairs(const Tensor& tensor) {
  std::vector<Tensor> out;
  for (const uint64_t first : {uint64_t{0}, uint64_t{1}}) {
    CKPT_ASSIGN(Tensor taken, take_every(tensor, first, 2));
    CKPT_ASSIGN(out.emplace_back(),
                reshape(std::move(taken), {tensor.shape[0], tensor.shape[1] / 2, tensor.shape[2]}));
  }
  return out;
}

Result<std::vector<Tensor>> swap_axes(const Tensor& tensor, Change change) {
  if (tensor.shape.size() != 3) return wrong_shape(tensor, "experts, in, out");
  const uint64_t rows = tensor.shape[2];
  std::vector<Tensor> out;
  if (change == Change::kSwap) {
    if (!is_plain(tensor)) return std::vector<Tensor>{tensor};
    CKPT_ASSIGN(out.emplace_back(), swapped(tensor, 0, 1, rows));
    return out;
  }
  const bool is_turned = !is_plain(tensor);
  if ((is_turned ? tensor.shape[1] : rows) % 2 != 0) {
    return wrong_shape(tensor, "as many rows of gate as of up");
  }
  if (is_turned) return row_pairs(tensor);
  const bool in_turn = change == Change::kSwapPairs;
  for (const uint64_t part : {uint64_t{0}, uint64_t{1}}) {
    CKPT_ASSIGN(out.emplace_back(),
                swapped(tensor, in_turn ? part : part * (rows / 2), in_turn ? 2 : 1, rows / 2));
  }
  return out;
}

Result<std::vector<Tensor>> value_pairs(const Tensor& tensor) {
  if (tensor.shape.size() != 2 || tensor.shape[1] % 2 != 0) {
    return wrong_shape(tensor, "experts, gate and up");
  }
  const uint64_t rows = tensor.shape[0];
  const uint64_t columns = tensor.shape[1];
  std::vector<Tensor> out;
  for (const uint64_t part : {uint64_t{0}, uint64_t{1}}) {
    CKPT_ASSIGN(Tensor taken, take_grid(tensor, {part, {1, rows, columns / 2}, {0, columns, 2}}));
    CKPT_ASSIGN(out.emplace_back(), reshape(std::move(taken), {rows, columns / 2}));
  }
  return out;
}

Result<std::vector<Tensor>> keys_and_values(const Tensor& tensor, const Model& model) {
  const bool is_of_queries = model.family->traits.text.has(ModelTrait::kLatentsOfQueries);
  const std::string fields = fmt::format("num_{}_heads qk_nope_head_dim v_head_dim",
                                         is_of_queries ? "attention" : "key_value");
  CKPT_ASSIGN(const std::vector<uint64_t> sizes,
              numbers_of_fields(*model.family, model.config, fields));
  const uint64_t heads = sizes[0], keys = sizes[1], values = sizes[2];
  const uint64_t head_rows = keys + values;
  const uint64_t latent = tensor.row_values();
  if (keys == 0 || values == 0 || tensor.shape.size() != 2 ||
      tensor.shape[0] != heads * head_rows) {
    return wrong_shape(tensor, "num_key_value_heads x (qk_nope_head_dim + v_head_dim), latent");
  }
  const uint64_t head = head_rows * latent;
  std::vector<Tensor> out;
  CKPT_ASSIGN(out.emplace_back(), take_grid(tensor, {0, {heads, latent, keys}, {head, 1, latent}}));
  CKPT_ASSIGN(out.emplace_back(),
              take_grid(tensor, {keys * latent, {heads, values, latent}, {head, latent, 1}}));
  return out;
}

}  // namespace

Failure wrong_shape(const Tensor& tensor, std::string_view expected) {
  return corrupt("tensor '{}' has shape [{}]; expected {}", tensor.name,
                 fmt::join(tensor.shape, ", "), expected);
}

Result<std::vector<Tensor>> change_grid(const Tensor& given, Change change, const Model& model,
                                        const Codec& f32) {
  const bool keeps_codec = change == Change::kSwapPairs || change == Change::kSwap;
  CKPT_ASSIGN(Tensor tensor, stored_floats(given));
  if (!is_plain(tensor) && !keeps_codec) tensor = stored_as_f32(tensor, f32);
  if (change == Change::kPairs) return value_pairs(tensor);
  if (change == Change::kKeyValue) return keys_and_values(tensor, model);
  return swap_axes(tensor, change);
}

}  // namespace ckpt
