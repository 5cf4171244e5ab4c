// Reads sensitivities that another program measured, in place of those of roles (sensitivity.h):
// the KL divergence of the model if only one tensor has a type.
//
//   QTYPE,blk.0.attn_k.weight,...          GGUF-Tool-Suite's kld_results.csv: a line per type
//   name,kl                                or a line per tensor
//
// A tensor's sensitivity is its divergence divided by the relative error of that type. For a type
// that ckpt does not measure, the error is assumed to be the same for all tensors. The
// sensitivities of a type are divided by their median; a tensor gets the mean over types. A tensor
// without a number above 0 in the file gets the factor of its role, times the median ratio of
// sensitivity to factor of the tensors in the file.
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
  // Divergences above 0, by tensor, then by type ("" if the file names none).
  std::map<std::string, std::map<std::string, double>> divergences;
};

// One tensor, or one layer of a folder.
struct RatedTensor {
  std::vector<std::string> names;        // possible names in the file; the first match is used
  std::string stack_name;                // name of the stack of all experts, or ""
  double share = 1;                      // share of the stack's sensitivity
  double factor = 1;                     // of its role, until rate_tensors() sets that of the file
  std::map<std::string, double> errors;  // relative errors by type
};

// Reads a file and checks that it fits the tensors. An empty path counts as a file without entries,
// which fits every model. Notes report entries of the file and members of `tensors` without a
// counterpart. Fails: kUsage: perplexities, no numbers, or a file that names none of `tensors`;
// kCorrupt: a tensor occurs twice; as read_evaluation().
Result<SensitivityFile> fitting_sensitivities(const std::filesystem::path& path,
                                              const std::vector<RatedTensor>& tensors,
                                              Observer& observer);

// Sets the factor of each tensor from the file. Requires: `errors` are set.
void rate_tensors(const SensitivityFile& file, std::vector<RatedTensor>& tensors);

}  // namespace ckpt
