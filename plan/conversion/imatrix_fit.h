// Checks whether an importance matrix belongs to a model: names, sizes, and inputs of experts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"

namespace ckpt {

// A weight of the model that the file has statistics for.
struct FittedEntry {
  std::string gguf_name, name;  // names in a GGUF and in the checkpoint (first expert of a stack)
  const ImatrixEntry* entry;
};

struct ImatrixFit {
  std::vector<FittedEntry> entries;  // entries of the right size
  std::vector<std::string> wrong;    // entries of a wrong size: "NAME: 6 values; ..."
  std::vector<std::string> unknown;  // names in the file without a tensor in the model
  std::vector<std::string> missing;  // weights in layers without statistics
  uint64_t experts = 0, unseen = 0;  // matrices that have separate counts
};

// Needs only headers; `imatrix` must outlive the result. Fails: as value_sides, which renames a
// folder's tensors as in a GGUF.
Result<ImatrixFit> fit_imatrix(const Checkpoint& checkpoint, const ImatrixSums& imatrix);

// Whether a file is an importance matrix and not second moments (safetensors). Its format decides:
// GGUF, or a name that ends in .dat.
bool is_imatrix_file(const std::filesystem::path& path);
// The note for a user who gave the importance matrix `path` to --moments.
std::string note_of_imatrix_as_moments(const std::filesystem::path& path);

}  // namespace ckpt
