// Sensitivities that another program measured, in place of those of roles (sensitivity.h): the KL
// divergence of the model when one tensor alone has a type.
//
//   QTYPE,blk.0.attn_k.weight,...          GGUF-Tool-Suite's kld_results.csv: a line a type
//   name,kl                                or a line a tensor
//
// A tensor's sensitivity is its divergence over the relative error of that type, which is known
// where the type is one that is measured here, and else taken as the same for all tensors. Each
// type's are divided by their median; a tensor has the mean over types. One that the file says
// nothing of, or no number above 0, has the factor of its role times what the median tensor of the
// file has more than the factor of its own.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "plan/conversion/observer.h"

namespace ckpt {

struct SensitivityFile {
  std::string name;
  // By tensor, by type ("" where none is named): divergences above 0.
  std::map<std::string, std::map<std::string, double>> divergences;
};

// One tensor, or layer of a folder.
struct RatedTensor {
  std::vector<std::string> names;        // it may have in the file; the first that is there counts
  std::string stack_name;                // of the stack of all experts, or ""
  double share = 1;                      // of that stack's sensitivity
  double factor = 1;                     // of its role; rate_tensors() makes it the file's
  std::map<std::string, double> errors;  // relative, by type
};

// An empty path: a file that says nothing, which fits every model. What of the file and what of
// `tensors` has no counterpart is noted. Fails: kUsage: perplexities, no number, a file that names
// none of `tensors`; kCorrupt: a tensor twice; as read_evaluation().
Result<SensitivityFile> fitting_sensitivities(const std::filesystem::path& path,
                                              const std::vector<RatedTensor>& tensors,
                                              Observer& observer);

// Needs the errors.
void rate_tensors(const SensitivityFile& file, std::vector<RatedTensor>& tensors);

}  // namespace ckpt
