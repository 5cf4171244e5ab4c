// exclude_modules: which names say "not quantized" in the fewest words.
//
//   model.visual.blocks.0.attn.qkv   ─▶ "model*" hits a quantized name, "model.visual*" does not
//   model.layers.1.mlp.gate          ─▶ "….mlp.gate*" would hit mlp.gate_proj: the whole name
//
// Source: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py
// (_prefix_wildcard_summarize_exclude_modules).
// A prefix is tried in two forms, "a*" and then "a" with "a.*"; of the second form only "a.*" is
// written.
#include <set>

#include "transforms/facts/quant_config.h"

namespace ckpt {
namespace {

class Quantized {
 public:
  explicit Quantized(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
  bool has_prefix(std::string_view prefix) const {
    const auto at = names_.lower_bound(prefix);
    return at != names_.end() && at->starts_with(prefix);
  }
  bool has_name(std::string_view name) const { return names_.count(name) != 0; }

 private:
  std::set<std::string, std::less<>> names_;
};

// The first form that matches no quantized name; empty when the name itself is one.
std::string summary_of(const std::string& name, const Quantized& quantized) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const std::string prefix = name.substr(0, dot);
    if (!quantized.has_prefix(prefix)) return prefix + "*";
    if (!quantized.has_name(prefix) && !quantized.has_prefix(prefix + ".")) return prefix + ".*";
  }
  return quantized.has_name(name) ? std::string() : name;
}

}  // namespace

std::vector<std::string> summarize_excluded(const std::vector<std::string>& unquantized,
                                            const std::vector<std::string>& quantized) {
  const Quantized index(quantized);
  std::set<std::string> out;
  for (const std::string& name : unquantized) {
    std::string summary = summary_of(name, index);
    if (!summary.empty()) out.insert(std::move(summary));
  }
  return {out.begin(), out.end()};
}

}  // namespace ckpt
