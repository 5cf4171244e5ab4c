// The action for each layer on the way to plain NVFP4: decided by mixed_folds, mixed_groups, made
// by mixed_build.
//
//   NVFP4                      ──▶ as it is                       kKeep
//   NVFP4, its block scales    ──▶ codes as they are, scales      kRescale
//     must change                  rounded again
//   FP8, AWQ with a scale left ──▶ requantized                    kRequantize
//   what must be excluded      ──▶ floats                         kPlain
//
// With rows r, columns c and taken t of a layer and D its decoded weight, what is encoded is
//   r_i D_ij c_j       or from the base's weight W       r_i W_ij / t_j
// because D_ij c_j t_j = W_ij: c is what stays of the layer's own scale, t went to another layer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transforms/facts/base_weights.h"
#include "transforms/nvfp4/mixed_model.h"

namespace ckpt {

struct MixedOptions {
  bool fp8_stays_plain = false;
  EncodeOptions encode;
  std::optional<double> fail_below_db;
  bool report_all = false;
};

enum class LayerAction : uint8_t { kKeep, kRescale, kRequantize, kPlain };
using Factors = std::vector<float>;  // empty: all 1

// A weight_scale_2 that is given, as the codec computes it from a largest magnitude.
struct SharedScale {
  float scale = 0, amax = 0;
  bool cpu_rounding = false;
};

struct LayerPlan {
  LayerAction action = LayerAction::kKeep;
  Factors rows, columns, taken;
  Factors block_columns;              // kRescale: a factor for each block of 16 columns
  float scale_factor = 1;             // kRescale: of all block scales, with rows and block_columns
  float tensor_scale = 0;             // kRescale: weight_scale_2
  std::optional<SharedScale> shared;  // kRequantize: of the NVFP4 layers it is joined with
  std::vector<size_t> peers;          // layers whose largest magnitude counts too
  float input_factor = 1;             // the inputs grow by it at most
  std::optional<float> input_scale;   // new
  std::optional<Tensor> base;         // whose weight is encoded
  std::string how;                    // what was done with its scale
  bool is_changed() const { return action != LayerAction::kKeep; }
};

struct MixedJob {
  Checkpoint& checkpoint;
  const MixedModel& model;
  const MixedOptions& options;
  const Context& context;
  const BaseWeights* base = nullptr;
  std::vector<LayerPlan> plans;  // one a layer of the model
  std::string algo = "NVFP4";    // what all become

  Tensor& weight(size_t layer) { return checkpoint.tensors[model.layers[layer].weight]; }
  const Tensor& weight(size_t layer) const {
    return checkpoint.tensors[model.layers[layer].weight];
  }
};

// a times b, where empty is all 1.
Factors multiply(const Factors& a, const Factors& b);
Factors invert(const Factors& factors);
std::shared_ptr<const Factors> share(Factors factors);

// Finds the layers that can be taken from the base. Fails: kIo.
Status match_base(MixedJob& job);
// The weight that `layer` computes with now: decoded, its scale multiplied in.
Result<Tensor> effective_weight(const MixedJob& job, size_t layer);
// The values that `layer` is encoded from; floats, not yet encoded: of the base where the plan has
// its weight.
Result<Tensor> target_of(const MixedJob& job, size_t layer);
// Tensors of a layer as they will be written: the weight of a kRequantize one, the block scales of
// a kRescale one.
Result<Tensor> encoded_weight(const MixedJob& job, size_t layer);
Result<Tensor> rescaled_blocks(const MixedJob& job, size_t layer);

// Moves pre_quant_scales out of layers: into norms, into the layer before; what is left becomes
// LayerPlan::columns. Fails: kCorrupt: scales that are not positive numbers; kIo.
Status fold_scales(MixedJob& job);

// Decides actions; layers that servers join get one algorithm, weight scale and input scale. Fails:
// kCorrupt: partners that are missing; kIo.
Status assign_layer_actions(MixedJob& job);

// Measures and notes what was done, layer by layer; before the tensors are built. Fails:
// kUnsupported: a layer falls below fail_below_db; kIo.
Status report_layers(const MixedJob& job);

// Changes tensors and documents. Fails: kCorrupt: config.json.
Status build_nvfp4(MixedJob& job);

}  // namespace ckpt
