#include "tools/compare/value_pairs.h"

#include "core/base/glob.h"

namespace ckpt {

std::string shape_of(const Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ","));
}

const Codec& codec_of(const Tensor& tensor) { return *tensor.stored_tensor().codec; }

PairedTensors pair_tensors(const Checkpoint& a, const Checkpoint& b, const std::string& glob) {
  const Glob wanted(glob);
  PairedTensors out;
  const auto apart = [&](const std::string& name, std::string_view why) {
    if (wanted.matches(name)) out.apart.push_back({name, std::string(why)});
  };
  const auto pair = [&](const Tensor& of_a, const Tensor& of_b) {
    if (!wanted.matches(of_a.name)) return;
    if (of_a.shape != of_b.shape) {
      apart(of_a.name, fmt::format("shape {} -> {}", shape_of(of_a), shape_of(of_b)));
    } else if (codec_of(of_a).decode != nullptr && codec_of(of_b).decode != nullptr) {
      out.values.push_back({&of_a, &of_b});
    } else if (of_a.codec == of_b.codec) {
      out.bytes.push_back({&of_a, &of_b});
    } else {
      apart(of_a.name, fmt::format("{} -> {}, of which one cannot be decoded", codec_of(of_a).name,
                                   codec_of(of_b).name));
    }
  };
  pair_up(a.tensors, b.tensors, &Tensor::name, pair, apart);
  return out;
}

}  // namespace ckpt
