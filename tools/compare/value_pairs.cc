#include "tools/compare/value_pairs.h"

#include <map>
#include <set>

#include "core/base/glob.h"

namespace ckpt {
namespace {

std::string shapes_text(const Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ","));
}

}  // namespace

const Codec& codec_of(const Tensor& tensor) { return *tensor.stored_tensor().codec; }

PairedTensors pair_tensors(const Checkpoint& a, const Checkpoint& b, const std::string& glob) {
  std::map<std::string_view, const Tensor*> of_b;
  for (const Tensor& tensor : b.tensors) of_b[tensor.name] = &tensor;
  std::set<std::string_view> of_a;
  const Glob wanted(glob);
  PairedTensors out;
  for (const Tensor& tensor : a.tensors) {
    of_a.insert(tensor.name);
    if (!wanted.matches(tensor.name)) continue;
    const auto found = of_b.find(tensor.name);
    if (found == of_b.end()) {
      out.apart.push_back({tensor.name, "only in A"});
    } else if (tensor.shape != found->second->shape) {
      out.apart.push_back({tensor.name, fmt::format("shape {} -> {}", shapes_text(tensor),
                                                    shapes_text(*found->second))});
    } else if (codec_of(tensor).decode != nullptr && codec_of(*found->second).decode != nullptr) {
      out.values.push_back({&tensor, found->second});
    } else if (tensor.codec == found->second->codec) {
      out.bytes.push_back({&tensor, found->second});
    } else {
      out.apart.push_back(
          {tensor.name, fmt::format("{} -> {}, of which one cannot be decoded",
                                    codec_of(tensor).name, codec_of(*found->second).name)});
    }
  }
  for (const Tensor& tensor : b.tensors) {
    if (wanted.matches(tensor.name) && !of_a.contains(tensor.name)) {
      out.apart.push_back({tensor.name, "only in B"});
    }
  }
  return out;
}

}  // namespace ckpt
