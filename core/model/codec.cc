#include "core/model/codec.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/result.h"

namespace ckpt {

void combine(Stats& into, const Stats& other) { into.amax = std::max(into.amax, other.amax); }

const Codec* find_codec(Codecs codecs, std::string_view name) {
  for (const Codec* codec : codecs) {
    if (codec->name == name) return codec;
  }
  return nullptr;
}

const Repack* find_repack(const Codec& from, const Codec& to) {
  return find_by(to.repacks, &Repack::from, &from);
}

const Codec& scheme_codec(Codecs codecs, Scheme scheme, Dialect dialect) {
  for (const Codec* codec : codecs) {
    if (codec->scheme == scheme && codec->dialect == dialect) return *codec;
  }
  CKPT_CHECK(false && "a scheme without a codec");
  __builtin_unreachable();
}

std::optional<Dtype> plain_dtype(const Codec& codec) {
  if (codec.scheme != Scheme::kPlain || codec.parts.size() != 1) return std::nullopt;
  return codec.parts[0].dtype;
}

bool is_plain_float(const Codec& codec) {
  const auto dtype = plain_dtype(codec);
  return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBF16;
}

const Codec& plain_codec(Codecs codecs, Dtype dtype) {
  for (const Codec* codec : codecs) {
    if (plain_dtype(*codec) == dtype) return *codec;
  }
  CKPT_CHECK(false && "a dtype without a plain codec");
  __builtin_unreachable();
}

PartShape part_shape(const PartRule& rule, uint64_t rows, uint64_t row_values) {
  const uint64_t part_rows = rule.tile_rows == 0 ? 1 : divide_up(rows, rule.tile_rows);
  const uint64_t elements = rule.tile_values == 0 ? 1 : divide_up(row_values, rule.tile_values);
  return {part_rows, elements, part_rows * elements * size_bytes(rule.dtype)};
}

}  // namespace ckpt
