// Checks whether an importance matrix belongs to a model: names, sizes, and inputs of experts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"

namespace ckpt {

// A weight of the model for which the file has statistics.
struct FittedEntry {
  std::string gguf_name, name;  // in a GGUF, and in the checkpoint (a stack: its first expert's)
  const ImatrixEntry* entry;
};

struct ImatrixFit {
  std::vector<FittedEntry> entries;  // of the right size
  std::vector<std::string> wrong;    // of another size: "NAME: 6 values; ..."
  std::vector<std::string> unknown;  // names in the file that the model has no tensor of
  std::vector<std::string> missing;  // weights of its layers without statistics
  uint64_t experts = 0, unseen = 0;  // matrices that are counted one by one
};

// Needs only headers; `imatrix` must outlive the result. Fails: as value_sides (which gives a
// folder's tensors the names that a GGUF has).
Result<ImatrixFit> fit_imatrix(const Checkpoint& checkpoint, const ImatrixSums& imatrix);

// Whether a file that could also hold second moments (safetensors) is an importance matrix, judged
// by its format: GGUF, or a name that ends in .dat.
bool is_imatrix_file(const std::filesystem::path& path);
// Notes for a user who passes one as `path` to --moments.
std::string note_of_imatrix_as_moments(const std::filesystem::path& path);

}  // namespace ckpt
