// Parts of an encoded tensor in memory of their own, each at an odd address.
#pragma once

#include <vector>

#include "core/model/codec.h"
#include "core/model/float_convert.h"
#include "tests/quantizers/data_sets.h"

namespace ckpt {

class PartBuffers {
 public:
  PartBuffers(const Codec& codec, uint64_t rows, uint64_t row_values) {
    for (const PartRule& rule : codec.parts) {
      buffers_.emplace_back(part_shape(rule, rows, row_values).size_bytes + 1);
    }
    for (std::vector<std::byte>& buffer : buffers_) {
      spans_.push_back(std::span(buffer).subspan(1));
      const_spans_.push_back(spans_.back());
    }
  }
  PartBuffers(PartBuffers&&) = default;
  PartBuffers(const PartBuffers&) = delete;
  Parts parts() const { return spans_; }
  ConstParts const_parts() const { return const_spans_; }
  std::vector<std::byte> bytes(size_t part) const {
    return {spans_[part].begin(), spans_[part].end()};
  }

 private:
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::span<std::byte>> spans_;
  std::vector<std::span<const std::byte>> const_spans_;
};

inline PartBuffers encode_with(const Codec& codec, const std::vector<float>& values,
                               uint64_t row_values, const EncodeContext& context) {
  PartBuffers out(codec, values.size() / row_values, row_values);
  codec.encode({values, row_values}, context, out.parts());
  return out;
}

}  // namespace ckpt
