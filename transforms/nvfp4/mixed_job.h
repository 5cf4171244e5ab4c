// The plan for each layer on the way to plain NVFP4: mixed_folds and mixed_groups decide,
// mixed_build executes.
//
//   NVFP4                      ──▶ unchanged                      kKeep
//   NVFP4 with changing        ──▶ same codes, scales             kRescale
//     block scales                 rounded again
//   FP8, AWQ with a scale left ──▶ requantized                    kRequantize
//   excluded layers            ──▶ floats                         kPlain
//
// For rows r, columns c and taken t of a layer with the decoded weight D, this is encoded:
//   r_i D_ij c_j       or from the base's weight W       r_i W_ij / t_j
// because D_ij c_j t_j = W_ij: c is the part of the scale that stays, t has moved to another layer.
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

// A given weight_scale_2, with the magnitude from which the codec computes it.
struct SharedScale {
  float scale = 0, amax = 0;
  bool cpu_rounding = false;
};

struct LayerPlan {
  LayerAction action = LayerAction::kKeep;
  Factors rows, columns, taken;
  Factors block_columns;              // kRescale: one factor per block of 16 columns
  float scale_factor = 1;             // kRescale: for all block scales, besides the others
  float tensor_scale = 0;             // kRescale: weight_scale_2
  std::optional<SharedScale> shared;  // kRequantize: scale of the joined NVFP4 layers
  std::vector<size_t> peers;          // layers whose magnitudes also count for the scale
  float input_factor = 1;             // the largest growth of the inputs
  std::optional<float> input_scale;   // new scale, if it changes
  std::optional<Tensor> base;         // if set, its weight is encoded
  std::string how;                    // the change of its scale, for messages
  bool is_changed() const { return action != LayerAction::kKeep; }
};

struct MixedJob {
  Checkpoint& checkpoint;
  const MixedModel& model;
  const MixedOptions& options;
  const Context& context;
  const BaseWeights* base = nullptr;
  std::vector<LayerPlan> plans;  // one per layer of the model
  std::string algo = "NVFP4";    // the algorithm of all layers

  Tensor& weight(size_t layer) { return checkpoint.tensors[model.layers[layer].weight]; }
  const Tensor& weight(size_t layer) const {
    return checkpoint.tensors[model.layers[layer].weight];
  }
};

// Multiplies a by b; empty means all 1.
Factors multiply(const Factors& a, const Factors& b);
Factors invert(const Factors& factors);
std::shared_ptr<const Factors> share(Factors factors);

// Finds the layers whose weights the base contains. Fails: kIo.
Status match_base(MixedJob& job);
// The present weight of `layer`: decoded and multiplied by its scale.
Result<Tensor> effective_weight(const MixedJob& job, size_t layer);
// The values from which `layer` will be encoded, as floats; the base's if the plan has its weight.
Result<Tensor> target_of(const MixedJob& job, size_t layer);
// The tensor to be written: the weight for kRequantize, the block scales for kRescale.
Result<Tensor> encoded_weight(const MixedJob& job, size_t layer);
Result<Tensor> rescaled_blocks(const MixedJob& job, size_t layer);

// Moves pre_quant_scales from layers into norms and preceding layers; the rest becomes
// LayerPlan::columns. Fails: kCorrupt: scales that are not positive numbers; kIo.
Status fold_scales(MixedJob& job);

// Decides the actions. Joined layers get the same algorithm, weight scale and input scale. Fails:
// kCorrupt: a layer lacks its partner; kIo.
Status assign_layer_actions(MixedJob& job);

// Measures and notes the changes, layer by layer, before the tensors are built. Fails:
// kUnsupported: a layer is below fail_below_db; kIo.
Status report_layers(const MixedJob& job);

// Changes tensors and documents as planned. Fails: kCorrupt: config.json.
Status build_nvfp4(MixedJob& job);

}  // namespace ckpt
