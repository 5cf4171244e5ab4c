// Statistics of the inputs of layers, for searches that weight errors.
//
//   --imatrix FILE   mean square of each column, by GGUF tensor name (docs/formats/imatrix.md)
//   moments=FILE     safetensors: "P.input_moments" [runs, n, n], mean of x x^T for each run of n
//                    columns of the input of layer P
//
// GGUF has other names, experts in stacks and, for some layers, other columns first; the importance
// matrix is taken back through the rules of to-gguf.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "transforms/modelopt_export/options.h"

namespace ckpt {

struct Importance {
  // By input_key of the module; experts under the stack's name or with "*" for their number, one
  // matrix after the other.
  std::map<std::string, std::shared_ptr<const ColumnWeights>, std::less<>> weights;
  std::map<std::string, std::shared_ptr<const Tensor>, std::less<>> moments;
};

// `checkpoint` as it was read, experts in their stacks. Fails: kUnsupported: an architecture whose
// GGUF names are not known; kCorrupt: numbers of columns that do not fit, NaN; kIo; kUsage.
Result<Importance> read_importance(const Checkpoint& checkpoint, const ExportOptions& options,
                                   const Context& context);

// Second moments alone, of a file as docs/SEARCH.md has it. Fails: kUsage, kCorrupt, kIo.
Result<Importance> read_moments_file(const std::string& path, const Context& context);

// For the weight `tensor` of `module`; null when nothing is known.
Result<std::shared_ptr<const ColumnWeights>> find_column_weights(const Importance& importance,
                                                                 const std::string& module,
                                                                 const Tensor& tensor);
// One member of a group that shares its input is enough.
Result<std::shared_ptr<const Tensor>> find_moments(const Importance& importance,
                                                   const std::string& module,
                                                   std::string_view model_type,
                                                   const Tensor& tensor);
// The same of a tensor that to-gguf made, by what it was made of; a stack of experts has one. Null,
// too, where columns were exchanged other than in whole runs.
Result<std::shared_ptr<const Tensor>> find_gguf_moments(const Importance& importance,
                                                        std::string_view model_type,
                                                        const Tensor& tensor);

}  // namespace ckpt
