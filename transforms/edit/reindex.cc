// The step `reindex` makes model.safetensors.index.json new from the tensors that the folder's
// files contain. `ckpt patch` does that itself (plan/conversion): a step's function sees no files.
#include "core/model/transform.h"

namespace ckpt {
namespace {

Result<Checkpoint> refuse_reindex(Checkpoint checkpoint, const OptionValues&, const Context&) {
  if (checkpoint.tensors.empty()) return checkpoint;
  return misuse_hint("ckpt patch FOLDER --step reindex, without other options",
                     "it has no effect here: what is written gets an index that fits");
}

}  // namespace

extern constinit const Transform kReindex{"reindex",
                                          "writes the index of a folder from its files",
                                          {},
                                          refuse_reindex,
                                          ChangeScope::kDocuments};

}  // namespace ckpt
