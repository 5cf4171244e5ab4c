// Scales of codes, and 8-bit codes with scales.
#include "core/base/arithmetic.h"
#include "core/model/float_convert.h"
#include "transforms/packed/job.h"

namespace ckpt {

std::shared_ptr<const std::vector<float>> e2m1_values() {
  std::vector<float> out = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (size_t i = 0; i < 8; ++i) out.push_back(-out[i]);
  return std::make_shared<const std::vector<float>>(std::move(out));
}

std::shared_ptr<const std::vector<float>> fp8_values(Dtype dtype) {
  std::vector<float> out(256);
  for (uint32_t code = 0; code < out.size(); ++code) {
    out[code] = dtype == Dtype::kF8E4M3 ? float_from_e4m3(static_cast<uint8_t>(code))
                                        : float_from_e5m2(static_cast<uint8_t>(code));
  }
  return std::make_shared<const std::vector<float>>(std::move(out));
}

namespace {

// Scales for the tiles in `shape`.
Result<ScaleGrid> block_scales(ScaleGrid out, const Tensor& scale, const ScaledShape& shape) {
  const uint64_t tile_rows = shape.block[0], tile_columns = shape.block[1];
  out.rows = divide_up(shape.rows, tile_rows);
  out.columns = divide_up(shape.columns, tile_columns);
  const bool is_one = scale.values() == 1 && out.rows * out.columns == 1;
  if (!is_one && scale.shape != std::vector<uint64_t>{out.rows, out.columns}) {
    return wrong_part(scale, fmt::format("[{}, {}], one for each {} x {} values, as the "
                                         "documents say",
                                         out.rows, out.columns, tile_rows, tile_columns));
  }
  out.tile_rows = tile_rows;
  out.tile_columns = tile_columns;
  return out;
}

}  // namespace

bool is_fp8_grid(const Tensor& tensor) {
  return is_plain_grid(tensor, Dtype::kF8E4M3, 2) || is_plain_grid(tensor, Dtype::kF8E5M2, 2);
}

Result<ScaleGrid> scales_of(const Tensor& scale, const ScaledShape& shape) {
  const auto [rows, columns, group, block] = shape;
  const bool is_sound = is_float_grid(scale, scale.shape.size()) ||
                        is_plain_grid(scale, Dtype::kF8E8M0, scale.shape.size());
  ScaleGrid out;
  if (is_sound) out.bytes = only_slice(scale);
  out.dtype = scale.codec->parts[0].dtype;
  const uint64_t across = scale.shape.size() == 2 ? scale.shape[1] : 1;
  const bool is_by_row = !scale.shape.empty() && scale.shape.size() <= 2 && scale.shape[0] == rows;
  const bool is_by_block = block.size() == 2 && block[0] != 0 && block[1] != 0;
  if (is_sound && is_by_block) return block_scales(std::move(out), scale, shape);
  out.rows = out.columns = 1;
  out.tile_rows = rows;
  out.tile_columns = columns;
  if (is_sound && scale.values() == 1) return out;
  out.rows = rows;
  out.tile_rows = 1;
  out.columns = across;
  if (is_sound && is_by_row && across == 1) return out;
  out.tile_columns = group != 0 ? group : divide_up(columns, across);
  if (is_sound && is_by_row && divide_up(columns, out.tile_columns) == across) return out;
  return wrong_part(scale, fmt::format("floats: one, [{}, 1]{}", rows,
                                       group == 0 ? " or groups of a row"
                                                  : fmt::format(" or [{}, {}]", rows,
                                                                divide_up(columns, group))));
}

std::string describe(const ScaleGrid& scales) {
  if (scales.tile_rows != 1 && scales.rows * scales.columns != 1) {
    return fmt::format("blocks of {} x {}", scales.tile_rows, scales.tile_columns);
  }
  if (scales.columns != 1) return fmt::format("group {}", scales.tile_columns);
  return scales.rows == 1 ? "tensor" : "channel";
}

CodeGrid byte_codes(const Tensor& codes, uint64_t rows, uint64_t columns) {
  return {.bytes = only_slice(codes),
          .outer = rows,
          .inner = columns,
          .bits = 8,
          .word_bytes = 1,
          .is_signed = codes.codec->parts[0].dtype == Dtype::kI8};
}

Result<CodedMatrix> scaled_codes(const Tensor& codes, const Tensor& scale,
                                 const ScaledShape& shape) {
  CodedMatrix out{.rows = shape.rows,
                  .columns = shape.columns,
                  .codes = byte_codes(codes, shape.rows, shape.columns)};
  CKPT_ASSIGN(out.scales, scales_of(scale, shape));
  if (!out.codes.is_signed) out.table = fp8_values(codes.codec->parts[0].dtype);
  return out;
}

}  // namespace ckpt
