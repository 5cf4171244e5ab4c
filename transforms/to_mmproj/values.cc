// Changes of values for a projector (llama.cpp conversion/{qwen3vl,gemma,llava}.py modify_tensors).
//
//   a convolution over two frames   {out, in, 2, h, w}   ─▶  {out, in, h, w} twice
//   patches with colors last        {out, h w rgb}       ─▶  {out, rgb, h, w}
#include "transforms/to_gguf/values.h"

#include <cmath>

#include "core/chunks/written_source.h"
#include "core/computed/decoded_source.h"
#include "core/computed/strided_source.h"
#include "transforms/to_mmproj/projector.h"

namespace ckpt {
namespace {

Result<std::vector<Tensor>> split_frames(const Tensor& tensor) {
  constexpr uint64_t kFrames = 2;
  const std::vector<uint64_t>& shape = tensor.shape;
  if (shape.size() != 5 || shape[2] != kFrames) {
    return wrong_shape(tensor, "a convolution over 2 frames, [out, in, 2, height, width]");
  }
  const uint64_t pixels = shape[3] * shape[4];
  const uint64_t image = kFrames * pixels;
  std::vector<Tensor> out;
  for (uint64_t frame = 0; frame < kFrames; ++frame) {
    CKPT_ASSIGN(Tensor taken, take_grid(tensor, {frame * pixels,
                                                 {shape[0], shape[1], pixels},
                                                 {shape[1] * image, image, 1}}));
    CKPT_ASSIGN(out.emplace_back(),
                reshape(std::move(taken), {shape[0], shape[1], shape[3], shape[4]}));
  }
  return out;
}

Result<Tensor> colors_first(const Tensor& tensor) {
  constexpr uint64_t kColors = 3;
  const uint64_t pixels = tensor.row_values() / kColors;
  const auto side = static_cast<uint64_t>(std::sqrt(static_cast<double>(pixels)));
  if (tensor.shape.size() != 2 || side == 0 || side * side * kColors != tensor.row_values()) {
    return wrong_shape(tensor, "[out, height x width x 3] of a square");
  }
  const uint64_t rows = tensor.shape[0];
  CKPT_ASSIGN(Tensor taken,
              take_grid(tensor, {0, {rows, kColors, pixels}, {tensor.row_values(), 1, kColors}}));
  return reshape(std::move(taken), {rows, kColors, side, side});
}

// Runs of rows, or of the values of a 1-D tensor, as `shape`.
Result<Tensor> rows_as(const Tensor& tensor, const std::vector<RowRun>& runs,
                       std::vector<uint64_t> shape) {
  CKPT_ASSIGN(const Tensor rows, tensor.shape.size() > 1
                                     ? Result<Tensor>(tensor)
                                     : reshape(tensor, {tensor.shape[0], 1}));
  CKPT_ASSIGN(Tensor taken, reorder_rows(rows, runs));
  return reshape(std::move(taken), std::move(shape));
}

Result<std::vector<Tensor>> thirds(const Tensor& tensor) {
  constexpr uint64_t kParts = 3;
  const uint64_t rows = tensor.shape[0] / kParts;
  if (rows == 0 || tensor.shape[0] % kParts != 0) return wrong_shape(tensor, "rows of q, k and v");
  std::vector<uint64_t> shape = tensor.shape;
  shape[0] = rows;
  std::vector<Tensor> out;
  for (uint64_t part = 0; part < kParts; ++part) {
    CKPT_ASSIGN(out.emplace_back(), rows_as(tensor, {{part * rows, rows}}, shape));
  }
  return out;
}

// A head rotates along time, height and width: HF has the first halves of all three, then the
// second halves; here each axis has its halves together.
Result<Tensor> along_axes(const Tensor& tensor, uint64_t heads) {
  constexpr uint64_t kAxes = 3;
  const uint64_t size = heads == 0 ? 0 : tensor.shape[0] / heads;
  const uint64_t axis = size / kAxes / 2;  // values of half an axis
  if (size == 0 || tensor.shape[0] != heads * size) return wrong_shape(tensor, "rows of heads");
  std::vector<RowRun> runs;
  for (uint64_t head = 0; head < heads; ++head) {
    const uint64_t first = head * size;
    for (uint64_t i = 0; i < kAxes; ++i) {
      runs.push_back({first + i * axis, axis});
      runs.push_back({first + (kAxes + i) * axis, axis});
    }
    if (const uint64_t rest = size - 2 * kAxes * axis; rest > 0) {
      runs.push_back({first + size - rest, rest});
    }
  }
  return rows_as(tensor, runs, tensor.shape);
}

Result<Tensor> row_of_token(const Tensor& tensor, const ProjectorModel& model) {
  if (!model.break_token) {
    return corrupt_hint("the tokenizer of the model in the folder",
                        "no token [IMG_BREAK] in tokenizer_config.json or tokenizer.json, whose "
                        "row of '{}' a projector holds",
                        tensor.name);
  }
  if (tensor.shape.size() != 2 || *model.break_token >= tensor.shape[0]) {
    return wrong_shape(tensor, fmt::format("a row for token {}, [IMG_BREAK]", *model.break_token));
  }
  CKPT_ASSIGN(Tensor row, take_rows(tensor, *model.break_token, 1));
  return reshape(std::move(row), {tensor.shape[1]});
}

// One number per channel of a head. They are so few that planning computes them; F32 rounding
// follows each of two functions, as in the converter.
Result<Tensor> softplus(const Tensor& tensor, Codecs codecs) {
  constexpr uint64_t kMaxChannels = 1 << 16;
  constexpr float kLinearFrom = 20;  // as in PyTorch
  CKPT_ASSIGN(std::vector<float> values, read_values(tensor, kMaxChannels));
  for (float& value : values) {
    const auto exponential = static_cast<float>(std::exp(static_cast<double>(value)));
    if (value > kLinearFrom) continue;
    value = static_cast<float>(std::log1p(static_cast<double>(exponential)));
  }
  return make_f32_tensor(tensor.name, tensor.shape, values, codecs);
}

Result<Tensor> change_one_of_tower(Tensor tensor, TowerChange change, const ProjectorModel& model,
                                   Codecs codecs) {
  switch (change) {
    case TowerChange::kAddOne: return with_sum(std::move(tensor), AddScalar{1.0f});
    case TowerChange::kPixels: return colors_first(tensor);
    case TowerChange::kImageBreak: return row_of_token(tensor, model);
    case TowerChange::kSqueeze: return squeezed(std::move(tensor));
    case TowerChange::kSoftplus: return softplus(tensor, codecs);
    case TowerChange::kPairs:
    case TowerChange::kAxes: {
      CKPT_ASSIGN(const uint64_t heads, model.vision.count("num_attention_heads"));
      return change == TowerChange::kAxes ? along_axes(tensor, heads)
                                          : pair_rows(std::move(tensor), heads);
    }
    case TowerChange::kNextRows: {
      if (tensor.shape.size() != 2 || tensor.shape[0] < 2) return wrong_shape(tensor, "[rows, n]");
      return take_rows(tensor, 1, tensor.shape[0] - 1);
    }
    case TowerChange::kColumn: return reshape(tensor, {tensor.values(), 1});
    case TowerChange::kChannels: return reshape(tensor, {1, tensor.values(), 1, 1});
    case TowerChange::kNone:
    case TowerChange::kDeepstack:
    case TowerChange::kSpatial:
    case TowerChange::kThirds:
    case TowerChange::kFrames: break;
  }
  return tensor;
}

}  // namespace

Result<std::vector<Tensor>> change_tower_values(Tensor tensor, TowerChange change,
                                                const ProjectorModel& model, Codecs codecs) {
  if (tensor.shape.empty()) CKPT_SET(tensor, reshape(std::move(tensor), {1}));
  const bool moves = change == TowerChange::kFrames || change == TowerChange::kPixels;
  if (change != TowerChange::kNone) tensor = stored_as_written(tensor);
  if (moves && !tensor.is_plain_float()) {
    tensor = stored_as_f32(tensor, plain_codec(codecs, Dtype::kF32));
  }
  if (change == TowerChange::kFrames) return split_frames(tensor);
  if (change == TowerChange::kThirds) return thirds(tensor);
  CKPT_ASSIGN(Tensor changed, change_one_of_tower(std::move(tensor), change, model, codecs));
  return std::vector<Tensor>{std::move(changed)};
}

}  // namespace ckpt
