// Layers that servers join get the same algorithm, weight_scale_2 and input_scale.
//
//   FP8 input_scale = amax / 448    NVFP4 input_scale = amax / 2688; the largest of the group
//   weight_scale_2 = t of the group's NVFP4 layers if all others fit below 2688 t; else 2^n t, with
//   the block scales of the NVFP4 layers divided by 2^n, which is exact
//
// Gate and up of one expert share weight_scale_2, and of all experts in a layer input_scale. A
// server runs all experts of a layer in one way, so if one must stay plain, all do.

#include <algorithm>
#include <cmath>

#include "core/base/counted.h"
#include "core/chunks/evaluate.h"
#include "core/model/float_convert.h"
#include "core/model/tensor_names.h"
#include "transforms/modelopt_export/calibration.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {
namespace {

constexpr float kNvfp4Divisor = 2688, kFp8Divisor = 448;
constexpr uint32_t kBlock = 16;
constexpr uint64_t kMaxScales = uint64_t{1} << 26;

using Members = std::vector<size_t>;  // indices of layers

float largest(const Factors& factors) {
  return factors.empty() ? 1 : *std::ranges::max_element(factors);
}

class LayerGrouper {
 public:
  explicit LayerGrouper(MixedJob& job) : job_(job) {}

  Status run() {
    for (size_t i = 0; i < job_.plans.size(); ++i) {
      CKPT_TRY(check_partners(i));
      set_first_action(i);
      const SharedGroup group = find_group(module(i), job_.model.model_type);
      const std::string key = group.is_fused ? group.key : module(i);
      weight_groups_[key].push_back(i);
      input_groups_[without_expert(key)].push_back(i);
      units_[joined_key(module(i), group)].push_back(i);
    }
    find_algo();
    for (const auto& [key, members] : units_) decide(members);
    note_moved();
    for (const auto& [key, members] : weight_groups_) CKPT_TRY(share_weight_scale(members));
    if (job_.algo == "NVFP4") {
      for (const auto& [key, members] : input_groups_) CKPT_TRY(share_input_scale(members));
    }
    return {};
  }

 private:
  const std::string& module(size_t layer) const { return job_.model.layers[layer].module; }
  const MixedLayer& layer(size_t at) const { return job_.model.layers[at]; }
  LayerPlan& plan(size_t layer) { return job_.plans[layer]; }
  bool becomes_nvfp4(size_t at) const {
    return layer(at).is_quantized() ? job_.plans[at].action != LayerAction::kPlain
                                    : job_.plans[at].action == LayerAction::kRequantize;
  }

  // ---- actions ---------------------------------------------------------------------------------

  // A member of a group is nothing without the others, unless models have it alone.
  Status check_partners(size_t at) const {
    const std::string_view word = last_word(module(at));
    const ProjectionGroup* group = group_with(word);
    const bool is_joined = group != nullptr && !group->joined.empty();
    if (!layer(at).is_quantized() || !is_joined || word == group->lone) return {};
    for (const std::string_view partner : group->parts()) {
      const std::string other =
          module(at).substr(0, module(at).size() - word.size()) + std::string(partner);
      if (job_.model.find(other) != nullptr) continue;
      return corrupt("'{}' is {} and '{}', which servers join with it, is missing", module(at),
                     layer(at).was(), other);
    }
    return {};
  }

  // Whether each block of 16 columns has one factor, so that the block scales can hold it.
  bool fits_blocks(const Factors& columns) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != columns[i / kBlock * kBlock]) return false;
    }
    return columns.size() % kBlock == 0;
  }

  void set_first_action(size_t at) {
    LayerPlan& found = plan(at);
    if (layer(at).kind == LayerKind::kPlain) {
      found.action = LayerAction::kPlain;
    } else if (layer(at).kind == LayerKind::kFp8) {
      found.action = job_.options.fp8_stays_plain ? LayerAction::kPlain : LayerAction::kRequantize;
    } else if (found.columns.empty()) {
      found.action = found.rows.empty() ? LayerAction::kKeep : LayerAction::kRescale;
    } else if (fits_blocks(found.columns)) {
      found.action = LayerAction::kRescale;
      for (size_t i = 0; i < found.columns.size(); i += kBlock) {
        found.block_columns.push_back(found.columns[i]);
      }
      found.how = "its scale, one a block, multiplied into its block scales";
    } else {
      found.action = LayerAction::kRequantize;
    }
  }

  // Sets the algorithm for weights only if no layer has an input scale.
  void find_algo() {
    bool any = false;
    for (size_t i = 0; i < job_.plans.size(); ++i) {
      any = any || (becomes_nvfp4(i) && layer(i).input_scale);
    }
    if (!any) job_.algo = "W4A16_NVFP4";
  }

  void decide(const Members& members) {
    uint64_t quantized = 0, without_scale = 0, plain = 0, demoted = 0;
    bool can_promote = true, has_scale = false;
    for (const size_t i : members) {
      has_scale = has_scale || layer(i).input_scale;
      if (layer(i).is_quantized()) {
        becomes_nvfp4(i) ? ++quantized : ++demoted;
        if (!layer(i).input_scale) ++without_scale;
      } else {
        ++plain;
        can_promote = can_promote && job_.weight(i).row_values() % kBlock == 0;
      }
    }
    if (quantized == 0) return;
    const bool lacks_scale =
        job_.algo == "NVFP4" && (is_of_expert(module(members[0])) ? without_scale > 0 : !has_scale);
    if (lacks_scale || demoted > 0 || (plain > 0 && !can_promote)) {
      for (const size_t i : members) demote(i, lacks_scale);
      return;
    }
    for (const size_t i : members) {
      if (layer(i).is_quantized()) continue;
      plan(i).action = LayerAction::kRequantize;
      plan(i).how = "servers join it with layers that are quantized";
      promoted_.add(module(i));
    }
  }

  void demote(size_t at, bool lacks_scale) {
    if (!becomes_nvfp4(at)) return;
    plan(at).action = LayerAction::kPlain;
    plan(at).how = lacks_scale ? "nothing tells the scale of its inputs"
                               : "servers join it with a layer that stays plain";
    (lacks_scale ? scaleless_ : joined_).add(module(at));
  }

  void note_moved() const {
    job_.context.note(promoted_,
                      "layers were plain and are joined by servers with quantized ones: now NVFP4");
    job_.context.note(joined_,
                      "layers become plain, because servers join them with layers that stay plain");
    job_.context.note(scaleless_,
                      "layers become plain, because nothing tells the scale of their inputs");
  }

  // ---- weights ---------------------------------------------------------------------------------

  Result<float> tensor_scale_of(size_t at) const {
    const Tensor scale = part_as_tensor(job_.weight(at), 2, job_.context.codecs);
    CKPT_ASSIGN(const std::vector<float> values, read_scales(scale, 1));
    return values[0];
  }

  // Largest magnitude of the values to encode. FP8 scales give it: they store it as 448.
  Result<float> amax_of(size_t at) const {
    const LayerPlan& found = job_.plans[at];
    if (layer(at).kind == LayerKind::kFp8) {
      const Tensor scale = part_as_tensor(job_.weight(at), 1, job_.context.codecs);
      CKPT_ASSIGN(const std::vector<float> values, read_scales(scale, kMaxScales));
      return largest(values) * kFp8Divisor * largest(found.rows);
    }
    CKPT_ASSIGN(const Tensor target, target_of(job_, at));
    return find_amax(target);
  }

  Status share_weight_scale(const Members& members) {
    Members stored, made;
    for (const size_t i : members) {
      if (!becomes_nvfp4(i)) continue;
      (plan(i).action == LayerAction::kRequantize ? made : stored).push_back(i);
    }
    if (stored.empty()) {
      for (const size_t i : made) plan(i).peers = made;
      return {};
    }
    std::vector<float> scales;
    for (const size_t i : stored) {
      CKPT_ASSIGN(scales.emplace_back(), in(module(i), tensor_scale_of(i)));
    }
    const float adopted = largest(scales);
    float needed = adopted;
    for (size_t i = 0; i < stored.size(); ++i) {
      const LayerPlan& found = plan(stored[i]);
      needed = std::max(needed, scales[i] * largest(found.rows) * largest(found.block_columns));
    }
    for (const size_t i : made) {
      CKPT_ASSIGN(const float amax, in(module(i), amax_of(i)));
      needed = std::max(needed, amax / kNvfp4Divisor);
    }
    // A difference smaller than the resolution of block scales does not count.
    float shared = adopted;
    while (shared * 1.0001f < needed) shared *= 2;
    if (!(shared > 0x1p-100f && shared < 0x1p100f)) {
      return corrupt("'{}' and what is joined with it need a weight_scale_2 of {}",
                     module(members[0]), shared);
    }
    if (!made.empty()) {
      const SharedScale found = reach(shared);
      shared = found.scale;
      for (const size_t i : made) plan(i).shared = found;
    }
    for (size_t i = 0; i < stored.size(); ++i) set_stored(stored[i], scales[i], shared);
    return {};
  }

  // Finds a magnitude for which the codec computes `scale`. Every scale from an exporter has one,
  // by the same division; any other scale is increased by its last bits until it has one.
  SharedScale reach(float scale) const {
    const ScaleSearch search = job_.options.encode.search;
    const bool leaves_room = search == ScaleSearch::kFourOverSix || search == ScaleSearch::kBest;
    const float divisor = leaves_room ? 6 * 256.0f : kNvfp4Divisor;
    const bool preferred = job_.options.encode.cpu_rounding;
    for (;; scale = std::nextafter(scale, INFINITY)) {
      for (const bool cpu : {preferred, !preferred}) {
        const float near = scale * divisor;
        for (const float amax :
             {near, std::nextafter(near, 0.0f), std::nextafter(near, INFINITY)}) {
          if (scale_from_amax(amax, divisor, cpu) == scale) return {scale, amax, cpu};
        }
      }
    }
  }

  void set_stored(size_t at, float own, float shared) {
    LayerPlan& found = plan(at);
    found.scale_factor = own / shared;
    if (found.action == LayerAction::kKeep && own == shared) return;
    if (found.action == LayerAction::kKeep) {
      int exponent = 0;
      const bool exact = std::frexp(found.scale_factor, &exponent) == 0.5f;
      found.how =
          fmt::format("block scales times {:.6g} for a weight_scale_2 that {}", found.scale_factor,
                      exact ? "all layers joined with it can use" : "it must share");
    }
    found.action = LayerAction::kRescale;
    found.tensor_scale = shared;
  }

  // ---- inputs ----------------------------------------------------------------------------------

  // Maxima of activations are usually bfloat16: returns such a number if it gives the same scale.
  static float exact_amax(const InputAmax& scale) {
    const float near = float_from_bf16(bf16_from_float(scale.amax()));
    const bool fits = scale_from_amax(near, scale.divisor, false) == scale.value ||
                      scale_from_amax(near, scale.divisor, true) == scale.value;
    return fits ? near : scale.amax();
  }

  Status share_input_scale(const Members& members) {
    std::optional<InputAmax> most;
    bool differ = false;
    for (const size_t i : members) {
      if (!layer(i).input_scale) continue;
      const Tensor& stored = job_.checkpoint.tensors[*layer(i).input_scale];
      CKPT_ASSIGN(const std::vector<float> values, read_scales(stored, 1));
      const InputAmax found{values[0] * plan(i).input_factor,
                            layer(i).kind == LayerKind::kFp8 ? kFp8Divisor : kNvfp4Divisor};
      differ = differ || (most && most->value != found.value);
      if (!most || found.amax() > most->amax()) most = found;
    }
    if (!most) return {};
    const float scale =
        most->divisor == kNvfp4Divisor
            ? most->value
            : scale_from_amax(exact_amax(*most), kNvfp4Divisor, job_.options.encode.cpu_rounding);
    for (const size_t i : members) {
      const bool needs = layer(i).kind != LayerKind::kNvfp4 || plan(i).input_factor != 1 || differ;
      if (becomes_nvfp4(i) && needs) plan(i).input_scale = scale;
    }
    return {};
  }

  MixedJob& job_;
  std::map<std::string, Members> weight_groups_, input_groups_, units_;
  NameCount promoted_, joined_, scaleless_;
};

}  // namespace

Status assign_layer_actions(MixedJob& job) { return LayerGrouper(job).run(); }

}  // namespace ckpt
