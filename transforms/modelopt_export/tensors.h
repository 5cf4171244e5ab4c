// The tensors of an export: weights in their new type, the scales beside them.
#pragma once

#include <string>
#include <vector>

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
// NaN or Inf; kUnsupported: a layer without maxima beside others that it shares its input with.
Status make_export_tensors(Checkpoint& checkpoint, const ExportJob& job);

// Files as ModelOpt writes them: of at most 10 GB, tensors in the order of the layers.
void assign_export_files(std::vector<Tensor>& tensors);

}  // namespace ckpt
