// Checks fields that each state which layers are of which kind, and must agree.
//
// Source: vLLM 0.32 vllm/model_executor/models/{deepseek_v2,glm4_moe_lite,gemma3n,gemma4}.py;
// transformers 5.19 src/transformers/models/{glm_moe_dsa,glm4_moe_lite}/configuration_*.py.
#include <algorithm>
#include <set>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

void check_dense_layers(const CheckContext& context) {
  const Subject& on = context.on;
  const auto* rule = find_by(kDenseLayersByCount, &DenseLayersByCount::model_type, on.text_type);
  if (rule == nullptr) return;
  const JsonValue* types = on.text_field("mlp_layer_types");
  const bool is_listed = types != nullptr && types->is_array();
  uint64_t dense = 0, all_dense = 0;
  for (size_t i = 0; is_listed && i < types->size(); ++i) {
    if ((*types)[i] != "dense") continue;
    ++all_dense;
    if (dense == i) ++dense;
  }
  if (all_dense != dense) {
    return context.report(on.text_place("mlp_layer_types"),
                          "dense layers behind sparse ones; this server has them in front alone",
                          {}, {}, advised("none: this server cannot run such a model"));
  }
  const JsonValue* count = on.text_field("first_k_dense_replace");
  const std::optional<uint64_t> by_class =
      context.is(Program::kLlamaCpp) ? rule->listed_by_class : rule->counted_by_class;
  const std::optional<uint64_t> counted = count == nullptr ? by_class : whole(*count);
  if (count == nullptr && !counted) {
    context.tell(on.text_place("first_k_dense_replace"), "absent; expected {}",
                 is_listed ? dense : rule->listed_by_class);
  } else if (is_listed && counted && std::min<uint64_t>(*counted, types->size()) != dense) {
    context.tell(on.text_place("first_k_dense_replace"), "{}; mlp_layer_types has {}", *counted,
                 dense);
  }
}

void check_shared_cache(const CheckContext& context) {
  const Subject& on = context.on;
  const JsonValue* count = on.text_field("num_kv_shared_layers");
  const bool shares = has_trait(on.text_type, ModelTrait::kSharesCache);
  if (count == nullptr || !shares) return;
  const std::vector<std::string> types = on.layer_types();
  const uint64_t shared = whole(*count).value_or(0);
  if (shared == 0 || shared > types.size()) return;
  const auto first = types.end() - static_cast<ptrdiff_t>(shared);
  const std::set<std::string> sources(types.begin(), first);
  const auto alone = std::find_if(first, types.end(),
                                  [&](const std::string& type) { return !sources.contains(type); });
  if (alone == types.end()) return;
  context.tell(on.text_place("num_kv_shared_layers"),
               "{}: layer {} takes keys and values from the last {} layer before layer "
               "{}, and there is none",
               shared, alone - types.begin(), *alone, first - types.begin());
}

constexpr Check kLayerFieldChecks[] = {
    {"C40", "dense layers are counted as they are listed", "U: vllm* llama.cpp, W: sglang",
     "KeyError: 'layers.1.mlp.experts.routed_experts.w2_weight'; object has no attribute "
     "'first_k_dense_replace'",
     "", check_dense_layers, "serving-config"},
    {"C41", "layers that share keys and values have their source", "U: vllm* sglang",
     "ValueError: 'full_attention' is not in list", kTakeConfig, check_shared_cache},
};

}  // namespace

std::span<const Check> layer_field_checks() { return kLayerFieldChecks; }

}  // namespace ckpt
