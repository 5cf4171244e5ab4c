#include "transforms/modelopt_export/tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/model/tensor_names.h"
#include "transforms/facts/base_weights.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/quantized_sources.h"

namespace ckpt {
namespace {

using Indices = std::vector<size_t>;  // into Checkpoint::tensors

bool is_usable(float amax) { return std::isfinite(amax) && amax > 0; }

// One that can be divided by, too: smaller numbers have no finite reciprocal.
bool is_usable_scale(float scale) { return std::isnormal(scale) && scale > 0; }

Failure too_small(std::string_view whose, const std::string& module, float amax, float divisor) {
  return corrupt(
      "the {} of '{}' has a maximum of {}, too small for a scale; expected at least {:.2g}", whose,
      module, amax, divisor * std::numeric_limits<float>::min());
}

// The codec of a weight of this type; a stack of experts has a layout of its own.
const Codec& export_codec(Codecs codecs, ExportType type, bool is_stack) {
  if (type == ExportType::kFp8) return scheme_codec(codecs, Scheme::kFp8Tensor, Dialect::kModelopt);
  if (!is_nvfp4(type)) return scheme_codec(codecs, Scheme::kFp8Block, Dialect::kSpread);
  return scheme_codec(codecs, Scheme::kNvfp4,
                      is_stack ? Dialect::kModeloptStack : Dialect::kModelopt);
}

class ExportBuilder {
 public:
  ExportBuilder(Checkpoint& checkpoint, const ExportJob& job)
      : checkpoint_(checkpoint), job_(job) {}

  Status run() {
    CKPT_TRY(recode_weights());
    CKPT_TRY(decode_others());
    for (const auto& [key, members] : weight_groups_) CKPT_TRY(check_members(members));
    CKPT_TRY(find_input_scales());
    for (const auto& [key, members] : weight_groups_) CKPT_TRY(share_weight_amax(members));
    CKPT_TRY(append_scales());
    CKPT_TRY(mxfp4_.say(checkpoint_, job_.context));
    note_counts();
    return {};
  }

 private:
  const std::string& module(size_t index) const { return job_.selection.modules[index]; }
  ExportType type(size_t index) const { return job_.selection.types[index].type; }
  Tensor& tensor(size_t index) { return checkpoint_.tensors[index]; }
  Recoded& recoded(size_t index) { return std::get<Recoded>(tensor(index).origin); }

  // Servers run them as one, whatever their content.
  Status check_one_type(size_t index, const SharedGroup& group) {
    if (job_.options.fp8.empty() && job_.options.recipe == nullptr) return {};
    const std::string key = joined_key(module(index), group);
    const size_t first = joined_.emplace(key, index).first->second;
    if (type(first) == type(index)) return {};
    const char* option = job_.options.fp8.empty() ? "keep" : "fp8";
    return misuse_hint(
        fmt::format("--{} '{}*'", option, is_of_expert(module(index)) ? key : group.parent),
        "'{}' and '{}' are of two types, and servers join them", module(first), module(index));
  }

  Status recode_weights() {
    for (const size_t i : job_.selection.chosen) {
      if (mxfp4_of(tensor(i)) != nullptr) {
        CKPT_TRY(check_cast(i));
        mxfp4_.take(tensor(i));
      }
      CKPT_ASSIGN(tensor(i), recode(std::move(tensor(i)),
                                    export_codec(job_.context.codecs, type(i), is_stack(i))));
      recoded(i).options = job_.options.encode;
      if (!is_nvfp4(type(i))) recoded(i).options.search = ScaleSearch::kNone;
      const SharedGroup group = find_group(module(i), job_.model.model_type);
      recoded(i).options.searches_alone = group.is_joined_late;
      CKPT_TRY(check_one_type(i, group));
      CKPT_TRY(set_importance(i));
      weight_groups_[scale_key(i, group.key)].push_back(i);
      input_groups_[scale_key(i, without_expert(group.key))].push_back(i);
    }
    return {};
  }

  // Its name is the tensor's own.
  bool is_stack(size_t index) const {
    return is_stacked_module(module(index), checkpoint_.tensors[index]);
  }

  Status check_cast(size_t index) const {
    if (job_.options.encode.search == ScaleSearch::kNone || !is_nvfp4(type(index))) return {};
    return misuse_hint("the same without search, or --step dequantize before it",
                       "search: '{}' is MXFP4, whose codes are kept; there is nothing to search",
                       module(index));
  }

  // MXFP4 that is not to be quantized: a power of two times E2M1 is a BF16 number.
  Status decode_others() {
    NameCount decoded;
    for (size_t i = 0; i < checkpoint_.tensors.size(); ++i) {
      if (!module(i).empty() || mxfp4_of(tensor(i)) == nullptr) continue;
      decoded.add(tensor(i).name);
      const Codec& bf16 = plain_codec(job_.context.codecs, Dtype::kBF16);
      CKPT_ASSIGN(tensor(i), recode(std::move(tensor(i)), bf16));
    }
    job_.context.note(decoded, "weights of MXFP4 stay unquantized, as BF16 with the same values");
    return {};
  }

  Status set_importance(size_t index) {
    if (recoded(index).options.search == ScaleSearch::kNone) return {};
    if (is_stack(index)) {
      unweighted_.add(module(index));
      return {};
    }
    CKPT_ASSIGN(recoded(index).weights,
                find_column_weights(job_.importance, module(index), tensor(index)));
    CKPT_ASSIGN(recoded(index).moments,
                find_moments(job_.importance, module(index), job_.model.model_type, tensor(index)));
    const bool is_known = recoded(index).weights != nullptr || recoded(index).moments != nullptr;
    if (!is_known) unweighted_.add(module(index));
    return {};
  }

  // The key of the scale that this layer shares with layers of its type, all of which have `key`.
  std::string scale_key(size_t index, const std::string& key) const {
    // One scale for a whole tensor needs no partners: servers rescale FP8. But experts are stacked
    // when they are calibrated, gate upon up.
    const bool is_alone = type(index) == ExportType::kFp8Blocks ||
                          (type(index) == ExportType::kFp8 && !is_of_expert(module(index)));
    return is_alone ? module(index) : fmt::format("{} {}", key, static_cast<int>(type(index)));
  }

  // Layers that servers join must all be there.
  Status check_members(const Indices& members) {
    const SharedGroup group = find_group(module(members[0]), job_.model.model_type);
    if (!group.is_fused) return {};
    for (const std::string_view name : group.members) {
      const std::string other = group.parent + std::string(name);
      if (!std::ranges::binary_search(job_.selection.unquantized, other)) continue;
      const bool was_asked =
          !job_.calibration.is_qat || find_weight_amax(job_.calibration, other).amax != nullptr;
      if (!was_asked) {
        return unsupported_hint(
            keep_hint(group.parent + "*"),
            "'{}' has a stored maximum and '{}', which servers join with it, has none",
            module(members[0]), other);
      }
      split_groups_.add(other);
    }
    return {};
  }

  // ---- weights ---------------------------------------------------------------------------------
  Status share_weight_amax(const Indices& members) {
    std::vector<Tensor*> sharing;
    for (const size_t i : members) sharing.push_back(&tensor(i));
    CKPT_ASSIGN(const bool is_cast, mxfp4_.cast(sharing, type(members[0]), job_.context.codecs));
    if (is_cast) return {};
    if (!job_.calibration.is_qat || job_.options.fresh_weight_amax) {
      share_statistics(sharing);
      return {};
    }
    float largest = 0;
    for (const size_t i : members) {
      const WeightAmax* stored = find_weight_amax(job_.calibration, module(i)).amax;
      const float amax = stored->amax.value_or(0);
      if (!is_usable(amax)) {
        // An expert that calibration never reached.
        if (amax == 0 && is_of_expert(module(i))) {
          uncalibrated_.add(module(members[0]));
          share_statistics(sharing);
          return {};
        }
        return corrupt("'{}' has a stored maximum of {}; expected a finite number above zero",
                       module(i), amax);
      }
      largest = std::max(largest, amax);
    }
    const float divisor = activation_divisor(type(members[0]));
    if (!is_usable_scale(largest / divisor)) {
      return too_small("weight", module(members[0]), largest, divisor);
    }
    for (const size_t i : members) {
      recoded(i).stats = Stats{largest};
      CKPT_TRY(in(module(i), set_block_amax(i)));
    }
    return {};
  }

  Status set_block_amax(size_t index) {
    const FoundWeightAmax found = find_weight_amax(job_.calibration, module(index));
    if (found.amax->blocks == nullptr) return {};
    const Tensor& weight = tensor(index);
    const uint64_t row_blocks = weight.row_values() / 16;
    const uint64_t rows = weight.rows() * (found.half == 0 ? 1 : 2);
    const uint64_t blocks = found.amax->blocks->values();
    if (type(index) == ExportType::kFp8 || blocks != rows * row_blocks) {
      return unsupported("{} stored maxima; {} needs one{}", blocks, job_.options.type_name(),
                         job_.options.type == ExportType::kFp8
                             ? std::string()
                             : fmt::format(", or {} for blocks of 16", rows * row_blocks));
    }
    CKPT_ASSIGN(Tensor grid, reshape(*found.amax->blocks, {rows, row_blocks}));
    if (found.half != 0) {
      const uint64_t first = found.half == 1 ? 0 : weight.rows();
      CKPT_ASSIGN(grid, take_rows(grid, first, weight.rows()));
    }
    recoded(index).block_amax = std::make_shared<const Tensor>(std::move(grid));
    if (job_.calibration.is_four_over_six) {
      recoded(index).options.search = ScaleSearch::kFourOverSix;
    }
    return {};
  }

  // ---- inputs ----------------------------------------------------------------------------------
  Status find_input_scales() {
    input_scales_.resize(checkpoint_.tensors.size());
    uint64_t missing = 0;
    std::string first;
    for (const auto& [key, members] : input_groups_) {
      if (!has_inputs(type(members[0]))) continue;
      // The scale of ModelOpt's constant_amax.
      if (const auto amax = job_.selection.types[members[0]].input_amax) {
        CKPT_TRY(set_input_scales(members, {*amax, 1}));
        continue;
      }
      CKPT_ASSIGN(const InputAmax* largest, largest_input(members));
      if (largest == nullptr) {
        if (missing == 0) first = module(members[0]);
        missing += members.size();
        continue;
      }
      CKPT_TRY(set_input_scales(members, *largest));
    }
    return missing == 0 ? Status() : no_maxima(missing, first);
  }

  Status set_input_scales(const Indices& members, const InputAmax& input) {
    for (const size_t i : members) {
      const float scale = scale_of(input, type(i));
      if (!is_usable_scale(scale)) {
        return too_small("input", module(i), input.amax(), activation_divisor(type(i)));
      }
      input_scales_[i] = scale;
    }
    return {};
  }

  // nullptr when nothing is known of any member.
  Result<const InputAmax*> largest_input(const Indices& members) const {
    const InputAmax* largest = nullptr;
    for (const size_t i : members) {
      const InputAmax* found = find_input_amax(job_.calibration, module(i));
      if (found == nullptr) continue;
      // Zero is what an expert has that no token reached; the others of its layer replace it.
      if (found->amax() == 0 && is_of_expert(module(i))) continue;
      if (!is_usable(found->amax())) {
        return corrupt(
            "the input of '{}' has a stored maximum of {}; expected a finite number above zero",
            module(i), found->amax());
      }
      if (largest == nullptr || found->amax() > largest->amax()) largest = found;
    }
    return largest;
  }

  float scale_of(const InputAmax& input, ExportType as) const {
    const float divisor = activation_divisor(as);
    if (input.divisor == divisor) return input.value;
    return scale_from_amax(input.amax(), divisor, job_.options.encode.cpu_rounding);
  }

  Status no_maxima(uint64_t missing, const std::string& first) const {
    const std::string& from = job_.options.amax_from;
    const auto& known = job_.calibration.inputs;
    const std::string hint = how_to_get_amax(job_.options);
    const size_t all = job_.selection.chosen.size();
    if (!from.empty() && missing == all) {
      return misuse_hint(hint,
                         "amax-from: {}: names no layer that is quantized (the first of {}: '{}'); "
                         "expected names like '{}'",
                         from, known.size(), known.begin()->first, first);
    }
    return misuse_hint(hint,
                       "{} of {} layers have no activation maximum{} (the first: '{}'); {} stores "
                       "the largest magnitude of every layer's input",
                       missing, all, from.empty() ? "" : fmt::format(" in {}", from), first,
                       job_.options.type_name());
  }

  // ---- together --------------------------------------------------------------------------------
  Status append_scales() {
    std::vector<Tensor> out;
    const bool has_kv = !job_.options.kv_cache || !job_.options.kv_cache->empty();
    for (size_t i = 0; i < checkpoint_.tensors.size(); ++i) {
      const std::string name = tensor(i).name;
      out.push_back(std::move(tensor(i)));
      if (!input_scales_.empty() && input_scales_[i]) {
        const bool is_stack = is_stacked_module(module(i), out.back());
        out.push_back(make_f32_tensor(module(i) + (is_stack ? "_input_scale" : ".input_scale"), {},
                                      {*input_scales_[i]}, job_.context.codecs));
      }
      if (has_kv) CKPT_TRY(append_kv_scale(name, out));
    }
    checkpoint_.tensors = std::move(out);
    return {};
  }
  Status append_kv_scale(const std::string& weight, std::vector<Tensor>& out) const {
    for (const std::string_view which : {"k", "v"}) {
      if (!weight.ends_with(fmt::format(".{}_proj.weight", which))) continue;
      const std::string name = fmt::format("{}.{}_scale", module_of(weight), which);
      const float* scale = find_mapped(job_.calibration.kv_scales, input_key(name));
      if (scale == nullptr) continue;
      if (!is_usable_scale(*scale)) {
        return corrupt("the scale '{}' would be {}; expected a finite number above zero", name,
                       *scale);
      }
      out.push_back(make_f32_tensor(name, {}, {*scale}, job_.context.codecs));
    }
    return {};
  }

  void note_counts() const {
    const bool has_importance =
        !job_.importance.weights.empty() || !job_.importance.moments.empty();
    if (has_importance) {
      job_.context.note(unweighted_, "layers", "nothing is known of the inputs of ");
    }
    job_.context.note(uncalibrated_,
                      "groups of experts have no stored maximum; their weights' own is used");
    job_.context.note(split_groups_,
                      "layers stay although those that servers join them with are quantized");
  }

  Checkpoint& checkpoint_;
  const ExportJob& job_;
  std::map<std::string, Indices> weight_groups_, input_groups_;
  std::map<std::string, size_t> joined_;  // the first of those that servers join
  Mxfp4Weights mxfp4_;
  std::vector<std::optional<float>> input_scales_;
  NameCount uncalibrated_, split_groups_, unweighted_;
};

}  // namespace

Status make_export_tensors(Checkpoint& checkpoint, const ExportJob& job) {
  return ExportBuilder(checkpoint, job).run();
}

}  // namespace ckpt
