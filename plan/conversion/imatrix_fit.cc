#include "plan/conversion/imatrix_fit.h"

#include <algorithm>
#include <set>

#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "formats/formats.h"
#include "plan/conversion/value_sides.h"

namespace ckpt {
namespace {

uint64_t matrices_of(const Tensor& tensor) {
  return tensor.rows() / std::max<uint64_t>(1, tensor.shape[tensor.shape.size() - 2]);
}

// Whether llama-imatrix collects statistics for the weight, as for weights of matrix products.
bool takes_statistics(const Tensor& tensor) {
  const std::string& name = tensor.name;
  if (!name.starts_with("blk.") || !name.ends_with(".weight")) return false;
  if (tensor.shape.size() < 2) return false;
  return name.find("norm") == name.npos && name.find("conv1d") == name.npos;
}

void fit_tensor(const Tensor& tensor, const ImatrixEntry& entry, ImatrixFit& out) {
  const uint64_t matrices = matrices_of(tensor);
  if (entry.sums.size() != matrices * tensor.row_values()) {
    // llama-quantize ignores statistics of the embeddings.
    if (is_of_embeddings(tensor.name)) return;
    out.wrong.push_back(fmt::format("{}: {} values; expected {} ({} matrices of {} columns)",
                                    tensor.name, entry.sums.size(), matrices * tensor.row_values(),
                                    matrices, tensor.row_values()));
    return;
  }
  out.entries.push_back({tensor.name, tensor.original_name(), &entry});
  if (entry.counts.size() == 1) return;
  out.experts += entry.counts.size();
  out.unseen += entry.unseen();
}

}  // namespace

bool is_imatrix_file(const std::filesystem::path& path) {
  if (has_ending(path.native(), ".dat")) return true;
  const auto format = recognize(path);
  return format && (*format)->name == "gguf";
}

std::string note_of_imatrix_as_moments(const std::filesystem::path& path) {
  return fmt::format(
      "--moments {}: an importance matrix; used as with --imatrix, because it holds "
      "only mean squares",
      path.string());
}

Result<ImatrixFit> fit_imatrix(const Checkpoint& checkpoint, const ImatrixSums& imatrix) {
  Checkpoint gguf;
  gguf.format = "gguf";
  CKPT_ASSIGN(const ValueSides sides, value_sides(checkpoint, gguf));
  ImatrixFit out;
  std::set<std::string_view> known;
  for (const Tensor& tensor : sides.a.tensors) {
    known.insert(tensor.name);
    const auto found = imatrix.entries.find(tensor.name);
    if (found != imatrix.entries.end() && tensor.shape.size() >= 2) {
      fit_tensor(tensor, found->second, out);
    } else if (takes_statistics(tensor)) {
      out.missing.push_back(tensor.name);
    }
  }
  for (const auto& [name, entry] : imatrix.entries) {
    if (!known.contains(name)) out.unknown.push_back(name);
  }
  return out;
}

}  // namespace ckpt
