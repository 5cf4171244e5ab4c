#include "transforms/modelopt_export/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/model/tensor_names.h"

namespace ckpt {

std::string joined_key(std::string_view module, const SharedGroup& group) {
  const auto expert = expert_name(module);
  return std::string(expert ? expert->front : group.is_fused ? group.key : module);
}

std::string without_expert(std::string_view module) {
  const auto expert = expert_name(module);
  return expert ? fmt::format("{}*.{}", expert->front, expert->rest) : std::string(module);
}

Result<std::string> check_experts_whole(const std::vector<Tensor>& tensors,
                                        const std::vector<std::string>& quantized, uint64_t count) {
  // The numbers of the experts that have a matrix of this name, by front and name.
  std::map<std::string_view, std::map<std::string_view, std::set<uint64_t>>> layers;
  for (const std::string& module : quantized) {
    if (const auto expert = expert_name(module)) layers.try_emplace(expert->front);
  }
  std::map<std::string_view, uint64_t> counts;
  for (const Tensor& tensor : tensors) {
    const auto expert = expert_name(tensor.name);
    if (!expert || !tensor.name.ends_with(kWeight)) continue;
    const auto layer = layers.find(expert->front);
    if (layer == layers.end()) continue;
    if (!layer->second[expert->rest].insert(expert->number).second) {
      return corrupt("tensor '{}': expert {} has another '{}'; expected one", tensor.name,
                     expert->number, expert->rest);
    }
    uint64_t& found = counts[expert->front];
    found = std::max(found, expert->number + 1);
  }
  for (const auto& [front, matrices] : layers) {
    for (const auto& [name, numbers] : matrices) {
      uint64_t missing = 0;
      while (numbers.count(missing) != 0) ++missing;
      if (missing >= counts[front]) continue;
      return corrupt_hint("the whole folder, downloaded again",
                          "tensor '{}{}.{}' is missing; expert {} has it", front, missing, name,
                          *numbers.rbegin());
    }
  }
  const auto fewer =
      std::ranges::find_if(counts, [&](const auto& layer) { return layer.second < count; });
  if (fewer == counts.end()) return std::string();
  return fmt::format("'{}*': {} experts; config.json says {}", fewer->first, fewer->second, count);
}

}  // namespace ckpt
