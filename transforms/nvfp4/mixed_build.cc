// Makes the tensors and documents of a plain NVFP4 checkpoint from the decision for each layer.

#include <set>

#include "core/base/glob.h"
#include "core/model/tensor_names.h"
#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {
namespace {

Tensor scalar(const Tensor& sibling, std::string name, float value, const MixedJob& job) {
  Tensor out = make_f32_tensor(std::move(name), {}, {value}, job.context.codecs);
  out.home = sibling.home;
  return out;
}

// The type of layers that are not quantized.
const Codec& plain_type(const MixedJob& job) {
  for (size_t i = 0; i < job.plans.size(); ++i) {
    if (!job.model.layers[i].is_quantized()) return *job.weight(i).codec;
  }
  return plain_codec(job.context.codecs, Dtype::kBF16);
}

class Builder {
 public:
  explicit Builder(MixedJob& job) : job_(job) {
    for (size_t i = 0; i < job.model.layers.size(); ++i) {
      const MixedLayer& layer = job.model.layers[i];
      by_tensor_[layer.weight] = i;
      if (layer.input_scale) scales_[*layer.input_scale] = i;
      if (layer.pre_quant_scale) dropped_.insert(*layer.pre_quant_scale);
    }
  }

  Status run() {
    CKPT_TRY(encode_weights());
    std::vector<Tensor> out;
    for (size_t i = 0; i < job_.checkpoint.tensors.size(); ++i) {
      if (dropped_.count(i) != 0) continue;
      if (const auto scale = scales_.find(i); scale != scales_.end()) {
        append_input_scale(i, scale->second, out);
        continue;
      }
      const auto layer = by_tensor_.find(i);
      if (layer == by_tensor_.end()) {
        out.push_back(std::move(job_.checkpoint.tensors[i]));
      } else {
        for (Tensor& part : built_[layer->second]) out.push_back(std::move(part));
        append_new_scale(layer->second, out);
      }
    }
    job_.checkpoint.tensors = std::move(out);
    return {};
  }

 private:
  // Adds a layer's tensors; if an NVFP4 layer's scales change, its parts become separate tensors.
  Status encode_weights() {
    built_.resize(job_.plans.size());
    for (size_t i = 0; i < job_.plans.size(); ++i) {
      CKPT_TRY(in(job_.model.layers[i].module, encode_layer(i)));
    }
    for (size_t i = 0; i < job_.plans.size(); ++i) set_peers(i);
    return {};
  }

  Status encode_layer(size_t layer) {
    const LayerPlan& plan = job_.plans[layer];
    const Tensor& weight = job_.weight(layer);
    std::vector<Tensor>& out = built_[layer];
    switch (plan.action) {
      case LayerAction::kKeep: out.push_back(weight); return {};
      case LayerAction::kRescale: {
        out.push_back(part_as_tensor(weight, 0, job_.context.codecs));
        CKPT_ASSIGN(out.emplace_back(), rescaled_blocks(job_, layer));
        out.push_back(scalar(weight, weight.name + "_scale_2", plan.tensor_scale, job_));
        return {};
      }
      case LayerAction::kRequantize: {
        CKPT_ASSIGN(out.emplace_back(), encoded_weight(job_, layer));
        return {};
      }
      case LayerAction::kPlain: break;
    }
    const bool is_quantized = job_.model.layers[layer].is_quantized();
    if (!is_quantized && plan.rows.empty() && plan.columns.empty()) {
      out.push_back(weight);
      return {};
    }
    CKPT_ASSIGN(Tensor made, target_of(job_, layer));
    CKPT_ASSIGN(made, recode(std::move(made), is_quantized ? plain_type(job_) : *weight.codec));
    out.push_back(std::move(made));
    return {};
  }

  void set_peers(size_t layer) {
    const LayerPlan& plan = job_.plans[layer];
    if (plan.action != LayerAction::kRequantize || plan.peers.size() < 2) return;
    auto& recoded = std::get<Recoded>(built_[layer][0].origin);
    for (const size_t peer : plan.peers) {
      if (peer == layer) continue;
      Tensor copy = built_[peer][0];
      std::get<Recoded>(copy.origin).peers.clear();
      recoded.peers.push_back(std::make_shared<const Tensor>(std::move(copy)));
    }
  }

  void append_input_scale(size_t at, size_t layer, std::vector<Tensor>& out) {
    const LayerPlan& plan = job_.plans[layer];
    Tensor& stored = job_.checkpoint.tensors[at];
    if (plan.action == LayerAction::kPlain || job_.algo != "NVFP4") return;
    out.push_back(plan.input_scale ? scalar(stored, stored.name, *plan.input_scale, job_)
                                   : std::move(stored));
  }

  void append_new_scale(size_t layer, std::vector<Tensor>& out) {
    const MixedLayer& found = job_.model.layers[layer];
    if (found.input_scale || !job_.plans[layer].input_scale) return;
    const Tensor sibling = out.back();
    out.push_back(
        scalar(sibling, found.module + ".input_scale", *job_.plans[layer].input_scale, job_));
  }

  MixedJob& job_;
  std::map<size_t, size_t> by_tensor_, scales_;
  std::set<size_t> dropped_;
  std::vector<std::vector<Tensor>> built_;  // per layer
};

// Unquantized modules, as ModelOpt lists them; other entries of the source stay unless they name a
// layer that is quantized now.
std::vector<std::string> excluded_modules(const MixedJob& job,
                                          const std::vector<std::string>& plain,
                                          const std::vector<std::string>& quantized) {
  const std::vector<std::string> found = summarize_excluded(plain, quantized);
  std::set<std::string> out(found.begin(), found.end());
  const auto& listed = job.model.config.exclude_modules;
  if (!listed) return found;
  const GlobList entries(*listed);
  std::vector<bool> names_a_layer(listed->size());
  for (const std::vector<std::string>* names : {&plain, &quantized}) {
    for (const std::string& name : *names) {
      for (const uint32_t number : entries.matching(name)) names_a_layer[number] = true;
    }
  }
  for (size_t i = 0; i < listed->size(); ++i) {
    if (!names_a_layer[i]) out.insert((*listed)[i]);
  }
  return {out.begin(), out.end()};
}

Status write_documents(MixedJob& job) {
  std::vector<std::string> plain, quantized;
  for (size_t i = 0; i < job.plans.size(); ++i) {
    const MixedLayer& layer = job.model.layers[i];
    const bool stays = job.plans[i].action == LayerAction::kPlain;
    (stays ? plain : quantized).push_back(layer.module);
  }
  // Weights with other numbers of axes are not linear layers: convolutions, stacks of experts.
  for (const Tensor& tensor : job.checkpoint.tensors) {
    if (tensor.shape.size() < 3) continue;
    if (tensor.name.ends_with(kWeight)) {
      plain.push_back(module_of(tensor.name));
    } else if (const std::string_view stack = experts_module(tensor.name); !stack.empty()) {
      plain.emplace_back(stack);
    }
  }
  if (job.model.has_tied_head) plain.push_back("lm_head");
  if (quantized.empty()) {
    job.context.note("no layer is left that is quantized: the configuration says so");
    CKPT_TRY(remove_quant_config(job.checkpoint));
    return {};
  }
  QuantConfig config = job.model.config;
  config.algo = {job.algo, 16, false};
  config.layers.clear();
  config.exclude_modules = excluded_modules(job, plain, quantized);
  return write_quant_config(job.checkpoint, config);
}

}  // namespace

Result<Tensor> rescaled_blocks(const MixedJob& job, size_t layer) {
  const LayerPlan& plan = job.plans[layer];
  Tensor out = part_as_tensor(job.weight(layer), 1, job.context.codecs);
  Factors rows = plan.rows;
  if (plan.scale_factor != 1) rows = multiply(rows, Factors(out.rows(), plan.scale_factor));
  if (!rows.empty()) CKPT_SET(out, with_op(std::move(out), ScaleRows{share(std::move(rows))}));
  if (!plan.block_columns.empty()) {
    CKPT_ASSIGN(out, with_op(std::move(out), ScaleColumns{share(plan.block_columns)}));
  }
  return out;
}

Result<Tensor> encoded_weight(const MixedJob& job, size_t layer) {
  const LayerPlan& plan = job.plans[layer];
  const Codec& codec = scheme_codec(job.context.codecs, Scheme::kNvfp4, Dialect::kModelopt);
  CKPT_ASSIGN(Tensor out, target_of(job, layer));
  CKPT_ASSIGN(out, recode(std::move(out), codec));
  auto& recoded = std::get<Recoded>(out.origin);
  recoded.options = job.options.encode;
  if (!plan.columns.empty()) {
    const Factors inverse = invert(plan.columns);
    recoded.weights =
        std::make_shared<const ColumnWeights>(ColumnWeights{multiply(inverse, inverse)});
  }
  if (plan.shared) {
    recoded.options.cpu_rounding = plan.shared->cpu_rounding;
    recoded.stats = Stats{plan.shared->amax};
  }
  return out;
}

Status build_nvfp4(MixedJob& job) {
  CKPT_TRY(write_documents(job));
  return Builder(job).run();
}

}  // namespace ckpt
