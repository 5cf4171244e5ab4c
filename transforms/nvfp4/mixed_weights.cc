// Weights before they are encoded as plain NVFP4, and the search for them in the base.

#include "core/base/counted.h"
#include "core/chunks/evaluate.h"
#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxMixedColumns = uint64_t{1} << 24;
// Below this, weights are of another model; FP8 and NVFP4 reach 20 to 35 dB.
constexpr double kSameWeightsDb = 10;

Result<Tensor> with_factors(Tensor tensor, const Factors& rows, const Factors& columns) {
  if (!rows.empty()) CKPT_SET(tensor, with_op(std::move(tensor), ScaleRows{share(rows)}));
  if (columns.empty()) return tensor;
  return with_op(std::move(tensor), ScaleColumns{share(columns)});
}

// Makes it 32-bit floats, so that only the codec rounds.
Result<Tensor> as_floats(const MixedJob& job, Tensor tensor) {
  return recode(std::move(tensor), plain_codec(job.context.codecs, Dtype::kF32));
}

}  // namespace

std::shared_ptr<const Factors> share(Factors factors) {
  return std::make_shared<const Factors>(std::move(factors));
}

Factors multiply(const Factors& a, const Factors& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  CKPT_CHECK(a.size() == b.size());
  Factors out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] * b[i];
  return out;
}

Factors invert(const Factors& factors) {
  Factors out;
  for (const float factor : factors) out.push_back(1 / factor);
  return out;
}

Result<Tensor> target_of(const MixedJob& job, size_t layer) {
  const LayerPlan& plan = job.plans[layer];
  CKPT_ASSIGN(Tensor out, as_floats(job, plan.base ? *plan.base : job.weight(layer)));
  CKPT_ASSIGN(
      out, with_factors(std::move(out), plan.rows, plan.base ? invert(plan.taken) : plan.columns));
  const Tensor& weight = job.weight(layer);
  out.name = weight.name;
  out.source_name = weight.source_name;
  out.home = weight.home;
  return out;
}

Result<Tensor> effective_weight(const MixedJob& job, size_t layer) {
  const MixedLayer& found = job.model.layers[layer];
  Factors scale;
  if (found.pre_quant_scale) {
    const Tensor& stored = job.checkpoint.tensors[*found.pre_quant_scale];
    CKPT_ASSIGN(scale, read_scales(stored, kMaxMixedColumns));
  }
  CKPT_ASSIGN(Tensor out, as_floats(job, job.weight(layer)));
  return with_factors(std::move(out), {}, scale);
}

Status match_base(MixedJob& job) {
  if (job.base == nullptr) return {};
  NameCount missing, other;
  for (size_t i = 0; i < job.plans.size(); ++i) {
    const MixedLayer& layer = job.model.layers[i];
    const bool needed = layer.kind == LayerKind::kFp8 || layer.pre_quant_scale;
    if (!needed) continue;
    auto found = job.base->find(layer.module, job.weight(i).shape);
    if (!found) {
      missing.add(layer.module);
      continue;
    }
    CKPT_ASSIGN(const Tensor now, effective_weight(job, i));
    CKPT_ASSIGN(const ValueError error, measure_error(now, *found));
    if (error.sqnr_db() >= kSameWeightsDb) {
      job.plans[i].base = std::move(found);
    } else {
      other.add(layer.module);
    }
  }
  job.context.note(missing, "layers are not there in this shape and come from IN", "base: ");
  job.context.note(other, "layers have other weights there and come from IN", "base: ");
  return {};
}

}  // namespace ckpt
