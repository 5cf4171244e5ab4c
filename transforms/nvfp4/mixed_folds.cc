// Moves AWQ's pre_quant_scale p of each layer elsewhere, because servers of plain NVFP4 ignore it.
//
//   all ones                         dropped
//   {q, k, v}, {gate, up} of a norm  norm multiplied by p, its other readers divided by p
//   down_proj                        rows of up_proj
//   o_proj                           rows of v_proj: the factor c that heads with the same value
//   head
//                                    share; columns of o_proj: the rest, p / c
//   linear_attn.out_proj             linear_attn.norm: the factor of all heads; columns: the rest
//   everything else                  columns of the layer itself
//
// Scaling the rows of an NVFP4 layer rounds its block scales again (squared error 5e-4), scaling
// columns rounds all values (8e-3). So factors move to other layers if possible, unless a
// measurement says otherwise. An error in a column counts in proportion to its input; inputs times
// p are about equal, so columns are weighted by 1 / p^2.

#include <algorithm>
#include <cmath>

#include "core/base/find.h"
#include "core/chunks/evaluate.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxFoldColumns = uint64_t{1} << 24;
constexpr double kRescaleCost = 5.5e-4;  // relative squared error of rounding block scales again

bool is_ones(const Factors& factors) {
  return std::ranges::all_of(factors, [](float factor) { return factor == 1; });
}

// Factors for the rows of the preceding layer, and the rest.
struct Split {
  Factors common;    // one per row
  Factors residual;  // one per column of the following layer; empty: nothing is left
};

class Folder {
 public:
  explicit Folder(MixedJob& job)
      : job_(job), index_(job.checkpoint.tensors), scales_(job.model.layers.size()) {}

  Status run() {
    for (size_t i = 0; i < scales_.size(); ++i) {
      const MixedLayer& layer = job_.model.layers[i];
      if (!layer.pre_quant_scale) continue;
      const Tensor& stored = job_.checkpoint.tensors[*layer.pre_quant_scale];
      CKPT_ASSIGN(scales_[i], read_scales(stored, kMaxFoldColumns));
      if (is_ones(scales_[i])) {
        scales_[i].clear();
        job_.plans[i].how = "its scale of ones dropped";
      }
    }
    for (const NormReaders& norm : find_norm_readers(index_, job_.model.model_type)) {
      CKPT_TRY(fold_into_norm(norm));
    }
    for (size_t i = 0; i < scales_.size(); ++i) {
      if (scales_[i].empty()) continue;
      CKPT_ASSIGN(const bool folded, fold_into_previous(i));
      if (!folded) keep_columns(i, scales_[i], "its scale multiplied into its columns");
    }
    return {};
  }

 private:
  LayerPlan& plan(size_t layer) { return job_.plans[layer]; }
  Tensor& tensor(size_t at) { return job_.checkpoint.tensors[at]; }
  const size_t* layer_of(std::string_view module) const {
    return find_mapped(job_.model.by_module, module);
  }

  void keep_columns(size_t layer, const Factors& residual, std::string how) {
    plan(layer).columns = residual;
    plan(layer).input_factor = 1 / *std::ranges::min_element(residual);
    plan(layer).how = std::move(how);
  }

  // ---- norms -----------------------------------------------------------------------------------

  // The scale that all quantized readers share; empty if they have none or different ones.
  Factors common_scale(const NormReaders& norm) const {
    const Factors* scale = nullptr;
    for (const std::string& reader : norm.readers) {
      const size_t* layer = layer_of(reader);
      if (layer == nullptr) return {};
      if (!job_.model.layers[*layer].is_quantized()) continue;
      if (scales_[*layer].empty() || (scale != nullptr && *scale != scales_[*layer])) return {};
      scale = &scales_[*layer];
    }
    return scale == nullptr ? Factors() : *scale;
  }

  Status scale_tensor(const std::string& name, const Factors& factors, bool adds_one) {
    const auto at = index_.find(name);
    if (!at) return {};
    Tensor made = tensor(*at);
    if (made.values() != factors.size()) {
      return corrupt("tensor '{}' has {} values; its readers have {} columns", name, made.values(),
                     factors.size());
    }
    if (adds_one) CKPT_SET(made, with_op(std::move(made), AddScalar{1}));
    CKPT_ASSIGN(made, with_op(std::move(made), ScaleColumns{share(factors)}));
    if (adds_one) CKPT_SET(made, with_op(std::move(made), AddScalar{-1}));
    tensor(*at) = std::move(made);
    return {};
  }

  Status fold_into_norm(const NormReaders& norm) {
    const Factors scale = common_scale(norm);
    if (scale.empty()) return {};
    CKPT_TRY(scale_tensor(norm.norm + ".weight", scale, adds_one_to_norms(job_.model.model_type)));
    CKPT_TRY(scale_tensor(norm.norm + ".bias", scale, false));
    for (const std::string& reader : norm.readers) {
      const size_t layer = *layer_of(reader);
      plan(layer).taken = scale;
      if (scales_[layer].empty()) {
        plan(layer).columns = invert(scale);
        plan(layer).action = LayerAction::kPlain;
        plan(layer).how = fmt::format("divided by the scale of '{}'", norm.norm);
      } else {
        scales_[layer].clear();
        plan(layer).how = fmt::format("its scale folded into '{}'", norm.norm);
      }
    }
    return {};
  }

  // ---- the layer before ------------------------------------------------------------------------

  // Returns true if the scale of `layer` has moved, entirely or as far as possible.
  Result<bool> fold_into_previous(size_t layer) {
    const std::string& module = job_.model.layers[layer].module;
    if (!has_known_layers(job_.model.model_type)) return false;
    const std::string parent = module_of(module) + ".";
    if (const ProjectionGroup* inputs = group_before(last_word(module))) {
      const std::string before = parent + std::string(inputs->parts().back());
      if (inputs->role == ProjectionRole::kMlp) return fold_into_rows(layer, before, 1);
      const bool is_of_text = module.find("self_attn.") != module.npos;
      if (!is_of_text || index_.has(parent + "v_norm.weight") || job_.model.kv_heads == 0) {
        return false;
      }
      return fold_into_rows(layer, before, job_.model.heads / job_.model.kv_heads);
    }
    if (!module.ends_with("linear_attn.out_proj")) return false;
    return fold_into_head_norm(layer, parent + "norm");
  }

  // The common factor of columns at the same position in `repeat` neighboring heads of `width`, as
  // their geometric mean: columns are [groups, repeat, width], rows [groups, width].
  static Split split(const Factors& scale, uint64_t groups, uint64_t repeat, uint64_t width) {
    Split out{Factors(groups * width), Factors(scale.size())};
    for (uint64_t group = 0; group < groups; ++group) {
      for (uint64_t i = 0; i < width; ++i) {
        const auto column = [&](uint64_t head) { return (group * repeat + head) * width + i; };
        double sum = 0;
        bool equal = true;
        for (uint64_t head = 0; head < repeat; ++head) {
          sum += std::log(double{scale[column(head)]});
          equal = equal && scale[column(head)] == scale[column(0)];
        }
        const float common = equal
                                 ? scale[column(0)]
                                 : static_cast<float>(std::exp(sum / static_cast<double>(repeat)));
        out.common[group * width + i] = common;
        for (uint64_t head = 0; head < repeat; ++head) {
          out.residual[column(head)] = scale[column(head)] / common;
        }
      }
    }
    if (is_ones(out.residual)) out.residual.clear();
    return out;
  }

  Result<bool> fold_into_rows(size_t layer, const std::string& previous, uint64_t repeat) {
    const size_t* found = layer_of(previous);
    const Factors& scale = scales_[layer];
    if (found == nullptr || repeat == 0) return false;
    const size_t before = *found;
    const uint64_t rows = job_.weight(before).rows();
    if (rows * repeat != scale.size()) return false;
    const uint64_t groups = repeat == 1 ? 1 : job_.model.kv_heads;
    if (rows % groups != 0) return false;
    const Split parts = split(scale, groups, repeat, rows / groups);
    const double cost = job_.model.layers[before].kind == LayerKind::kNvfp4 ? kRescaleCost : 0;
    CKPT_ASSIGN(const bool better, is_better(layer, parts, cost));
    if (!better) return false;
    plan(before).rows = multiply(plan(before).rows, parts.common);
    CKPT_TRY(scale_tensor(previous + ".bias", parts.common, false));
    CKPT_TRY(raise_value_scale(previous, parts.common));
    set_split(layer, parts, fmt::format("the rows of '{}'", previous));
    return true;
  }

  Result<bool> fold_into_head_norm(size_t layer, const std::string& norm) {
    const auto at = index_.find(norm + ".weight");
    const Factors& scale = scales_[layer];
    const uint64_t width = at ? tensor(*at).values() : 0;
    if (width == 0 || scale.size() % width != 0) return false;
    const Split parts = split(scale, 1, scale.size() / width, width);
    CKPT_ASSIGN(const bool better, is_better(layer, parts, 0));
    if (!better) return false;
    CKPT_TRY(scale_tensor(norm + ".weight", parts.common, false));
    set_split(layer, parts, fmt::format("'{}'", norm));
    return true;
  }

  void set_split(size_t layer, const Split& parts, const std::string& where) {
    // `taken` is parts.common, expanded to one factor per column.
    plan(layer).taken =
        parts.residual.empty() ? scales_[layer] : multiply(scales_[layer], invert(parts.residual));
    if (parts.residual.empty()) {
      plan(layer).how = fmt::format("its scale folded into {}", where);
    } else {
      keep_columns(layer, parts.residual,
                   fmt::format("what its heads share of its scale folded into {}, the rest "
                               "multiplied into its columns",
                               where));
    }
  }

  // The values in an FP8 KV cache grow by at most the largest factor.
  Status raise_value_scale(const std::string& previous, const Factors& common) {
    const float largest = *std::ranges::max_element(common);
    const auto at = index_.find(previous + ".v_scale");
    if (!at || largest <= 1) return {};
    CKPT_TRY(read_scales(tensor(*at), 1));
    CKPT_ASSIGN(tensor(*at), with_op(tensor(*at), ScaleColumns{share({largest})}));
    job_.context.note("'{}.v_scale' raised by {:.4g}, the most that folding can make of the values",
                      previous, largest);
    return {};
  }

  // ---- measuring -------------------------------------------------------------------------------

  // Whether the layer gets closer to its values if `parts.common` moves elsewhere at this cost.
  Result<bool> is_better(size_t layer, const Split& parts, double cost) {
    if (parts.residual.empty()) return true;
    CKPT_ASSIGN(const double apart, error_of(layer, parts.residual));
    CKPT_ASSIGN(const double alone, error_of(layer, scales_[layer]));
    return apart + cost < alone;
  }

  // Relative squared error of the layer encoded with `columns` as the rest of its scale, weighted
  // by its inputs.
  Result<double> error_of(size_t layer, const Factors& columns) {
    const LayerPlan saved = plan(layer);
    plan(layer).columns = columns;
    plan(layer).taken = multiply(scales_[layer], invert(columns));
    auto error = encoded_error(layer, columns);
    plan(layer) = saved;
    return error;
  }
  Result<double> encoded_error(size_t layer, const Factors& columns) {
    const Codec& codec = scheme_codec(job_.context.codecs, Scheme::kNvfp4, Dialect::kModelopt);
    CKPT_ASSIGN(const Tensor target, target_of(job_, layer));
    CKPT_ASSIGN(Tensor made, recode(target, codec));
    auto& recoded = std::get<Recoded>(made.origin);
    recoded.options = job_.options.encode;
    const Factors weights = multiply(invert(columns), invert(columns));
    recoded.weights = std::make_shared<const ColumnWeights>(ColumnWeights{weights});
    CKPT_ASSIGN(const ValueError error, measure_error(made, target, weights));
    return error.relative();
  }

  MixedJob& job_;
  TensorIndex index_;
  std::vector<Factors> scales_;  // per layer: factors that have not moved yet
};

}  // namespace

Status fold_scales(MixedJob& job) { return Folder(job).run(); }

}  // namespace ckpt
