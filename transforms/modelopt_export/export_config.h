// What the documents of an export say of its layers.
#pragma once

#include "transforms/facts/quant_config.h"
#include "transforms/modelopt_export/tensors.h"

namespace ckpt {

using QuantLayers = std::vector<std::pair<std::string, QuantAlgo>>;

// One algorithm with what stays, or a list of layers where there are several. Experts count under
// the name of their stack, as in the model that ran, but where `is_of_script`: ModelOpt's scripts
// for FP8 run no model, and list every layer by its name.
QuantConfig make_export_config(const ExportJob& job, QuantLayers layers, bool is_of_script);

// What each quantized layer is, in ModelOpt's order: "….mlp.experts", {"NVFP4", 16}.
QuantLayers list_layers(const Checkpoint& checkpoint, const Selection& selection);

// Whether some layer's inputs are measured.
bool needs_activations(const Selection& selection);

// Fails: kUsage: `options` name another type than the recipe makes, or the checkpoint says itself
// which layers are quantized.
Status check_recipe_types(const Selection& selection, const Calibration& calibration,
                          const ExportOptions& options);

// What the recipe makes of the cache, into `options`; scales that it does not store leave
// `calibration`. Fails: kUnsupported: another cache for each layer; kUsage: scales that nothing
// tells.
Status take_recipe_cache(const Checkpoint& checkpoint, Calibration& calibration,
                         ExportOptions& options);

}  // namespace ckpt
