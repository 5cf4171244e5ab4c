// The tensors of an export: weights in their new type, and their scales.
#pragma once

#include <string>
#include <vector>

#include "transforms/facts/quant_config.h"
#include "transforms/modelopt_export/importance.h"
#include "transforms/modelopt_export/select.h"

namespace ckpt {

struct ExportJob {
  const Selection& selection;
  const ExportModel& model;
  const Calibration& calibration;
  const Importance& importance;
  const ExportOptions& options;
  const Context& context;
};
// Turns the selected weights of `checkpoint` into the type asked for and adds input, key and value
// scales behind them. Fails: kUsage: no activation maxima, or only some; kCorrupt: maxima of zero,
// NaN or Inf; kUnsupported: a layer without maxima among others that it shares its input with.
Status make_export_tensors(Checkpoint& checkpoint, const ExportJob& job);

// Files as ModelOpt writes them: of at most 10 GB, tensors in the order of the layers.
void assign_export_files(std::vector<Tensor>& tensors);

// The layers as the documents of an export list them.
using QuantLayers = std::vector<std::pair<std::string, QuantAlgo>>;

// One algorithm with what stays, or a list of layers where there are several. Experts count under
// the name of their stack, as in the model that ran, but where `is_of_script`: ModelOpt's scripts
// for FP8 run no model, and list every layer by its name.
QuantConfig make_export_config(const ExportJob& job, QuantLayers layers, bool is_of_script);

// The type of each quantized layer, in ModelOpt's order: "….mlp.experts", {"NVFP4", 16}.
QuantLayers list_layers(const Checkpoint& checkpoint, const Selection& selection);

// Whether some layer's inputs are measured.
bool needs_activations(const Selection& selection);

// Fails: kUsage: `options` name another type than the recipe makes, or the checkpoint says itself
// which layers are quantized.
Status check_recipe_types(const Selection& selection, const Calibration& calibration,
                          const ExportOptions& options);

// The recipe's type of the cache, into `options`; scales that it does not store leave
// `calibration`. Fails: kUnsupported: another cache for each layer; kUsage: scales that nothing
// tells.
Status take_recipe_cache(const Checkpoint& checkpoint, Calibration& calibration,
                         ExportOptions& options);

}  // namespace ckpt
