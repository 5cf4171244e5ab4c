#include "transforms/modelopt_export/importance.h"

#include <algorithm>
#include <cmath>

#include "core/model/tensor_names.h"
#include "transforms/facts/base_weights.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

constexpr std::string_view kMoments = ".input_moments";

std::string without(std::string_view name, std::string_view ending) {
  return std::string(name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name);
}

// Weights in the order of the checkpoint's columns.
void undo_permutation(const Tensor& tensor, std::vector<float>& weights) {
  const uint64_t columns = tensor.row_values();
  for (const ValueOp& op : tensor.ops()) {
    const auto* permuted = std::get_if<PermuteColumns>(&op);
    if (permuted == nullptr) continue;
    const std::vector<float> made = weights;
    for (uint64_t i = 0; i < weights.size(); ++i) {
      weights[i / columns * columns + (*permuted->index)[i % columns]] = made[i];
    }
  }
}

Status add_entry(const Tensor& tensor, const Imatrix& imatrix, Importance& out) {
  const auto entry = imatrix.weights.find(tensor.name);
  if (entry == imatrix.weights.end() || tensor.shape.size() < 2) return {};
  const uint64_t matrices = tensor.rows() / tensor.shape[tensor.shape.size() - 2];
  if (entry->second.size() != matrices * tensor.row_values()) {
    return corrupt(
        "importance matrix '{}' has {} values for '{}'; expected {} ({} matrices of {} columns)",
        imatrix.file, entry->second.size(), tensor.name, matrices * tensor.row_values(), matrices,
        tensor.row_values());
  }
  ColumnWeights weights{entry->second};
  for (const float weight : weights.weights) {
    if (std::isfinite(weight) && weight >= 0) continue;
    return corrupt("importance matrix '{}' has {} for '{}'; expected finite numbers from zero on",
                   imatrix.file, weight, tensor.name);
  }
  undo_permutation(tensor, weights.weights);
  const std::string module = input_key(without(tensor.source_name, kWeight));
  out.weights[without_expert(module)] = std::make_shared<const ColumnWeights>(std::move(weights));
  return {};
}

Status read_weights(const Checkpoint& checkpoint, const Context& context, Importance& out) {
  CKPT_ASSIGN(Model model, read_model(checkpoint));
  CKPT_ASSIGN(std::vector<NamedTensor> selected,
              select_tensors(checkpoint, true, model, context.codecs));
  model.out_type = guess_out_type(selected);
  CKPT_ASSIGN(const std::vector<Tensor> tensors,
              make_gguf_tensors(std::move(selected), model, context.codecs));
  for (const Tensor& tensor : tensors) CKPT_TRY(add_entry(tensor, *context.imatrix, out));
  return {};
}

Status take_moments(Checkpoint from, Importance& out) {
  for (Tensor& tensor : from.tensors) {
    if (!tensor.name.ends_with(kMoments)) continue;
    const std::vector<uint64_t>& shape = tensor.shape;
    const bool is_square = shape.size() == 3 && shape[1] == shape[2] && shape[2] % 16 == 0;
    if (!is_square || shape[2] == 0 || shape[2] > 4096) {
      return misuse(
          "tensor '{}' has shape [{}]; expected [runs, n, n], n a multiple of 16 up to 4096",
          tensor.name, fmt::join(shape, ", "));
    }
    const std::string key = input_key(without(tensor.name, kMoments));
    const std::string name = tensor.name;
    const auto [told, is_new] =
        out.moments.emplace(key, std::make_shared<const Tensor>(std::move(tensor)));
    if (is_new) continue;
    return corrupt("tensors '{}' and '{}' are of one module", told->second->name, name);
  }
  if (!out.moments.empty()) return {};
  return misuse_hint(
      "a file of collect_amax.py (ckpt script collect_amax); an importance matrix goes to "
      "--imatrix",
      "no tensor in it is named *{}", kMoments);
}

// The stack in a checkpoint that has the matrix of an expert; others as without_expert().
std::string stack_name(const std::string& module) {
  const auto place = stack_part(module);
  return place ? place->stack() : without_expert(module);
}

// Moments of columns in another order, of which column i was index[i]. Null where a run would get
// columns of several runs, about which nothing is known together.
Result<std::shared_ptr<const Tensor>> permuted_moments(const Tensor& moments,
                                                       const std::vector<uint32_t>& index) {
  const uint64_t n = moments.row_values();
  std::vector<RowRun> runs;
  for (uint64_t i = 0; i < index.size(); ++i) {
    if (i % n == 0) runs.push_back({index[i], n});
    const bool is_whole = runs.back().first % n == 0 && index[i] == runs.back().first + i % n;
    if (!is_whole) return nullptr;
  }
  // A run of n columns has n rows.
  CKPT_ASSIGN(Tensor out, reorder_rows(moments, runs));
  return std::make_shared<const Tensor>(std::move(out));
}

}  // namespace

Result<Importance> read_moments_file(const std::string& path, const Context& context) {
  CKPT_CHECK(context.open != nullptr);
  CKPT_ASSIGN(Checkpoint from, in("moments", context.open(path)));
  Importance out;
  CKPT_TRY(in(fmt::format("moments: {}", path), take_moments(std::move(from), out)));
  return out;
}

Result<Importance> read_importance(const Checkpoint& checkpoint, const ExportOptions& options,
                                   const Context& context) {
  Importance out;
  if (!options.moments.empty()) CKPT_SET(out, read_moments_file(options.moments, context));
  if (context.imatrix == nullptr) return out;
  if (options.encode.search == ScaleSearch::kNone) {
    context.note("--imatrix has no effect: only --search uses the importance matrix here");
    return out;
  }
  CKPT_TRY(read_weights(checkpoint, context, out));
  return out;
}

Result<std::shared_ptr<const ColumnWeights>> find_column_weights(const Importance& importance,
                                                                 const std::string& module,
                                                                 const Tensor& tensor) {
  const std::string key = input_key(module);
  auto found = importance.weights.find(without_expert(key));
  if (found == importance.weights.end()) found = importance.weights.find(stack_name(key));
  if (found == importance.weights.end()) return nullptr;
  const uint64_t columns = tensor.row_values();
  const std::vector<float>& all = found->second->weights;
  if (all.size() == columns) return found->second;
  const auto expert = expert_name(module);
  const uint64_t number = expert ? expert->number : 0;
  if (columns == 0 || number >= all.size() / columns) return nullptr;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(number * columns);
  return std::make_shared<const ColumnWeights>(
      ColumnWeights{{first, first + static_cast<std::ptrdiff_t>(columns)}});
}

Result<std::shared_ptr<const Tensor>> find_moments(const Importance& importance,
                                                   const std::string& module,
                                                   std::string_view model_type,
                                                   const Tensor& tensor) {
  auto found = importance.moments.find(input_key(module));
  const SharedGroup group = find_group(module, model_type);
  for (const std::string_view name : group.members) {
    if (found != importance.moments.end()) break;
    found = importance.moments.find(input_key(group.parent + std::string(name)));
  }
  // One for all experts of a stack.
  if (found == importance.moments.end()) {
    found = importance.moments.find(stack_name(input_key(module)));
  }
  if (found == importance.moments.end()) return nullptr;
  const std::vector<uint64_t>& shape = found->second->shape;
  if (shape[0] <= tensor.row_values() && shape[0] * shape[2] == tensor.row_values()) {
    return found->second;
  }
  return misuse("'{}' is for {} x {} columns; '{}' has {}", found->second->name, shape[0], shape[2],
                module, tensor.row_values());
}

Result<std::shared_ptr<const Tensor>> find_gguf_moments(const Importance& importance,
                                                        std::string_view model_type,
                                                        const Tensor& tensor) {
  const std::span<const ValueOp> ops = tensor.ops();
  const bool is_scaled = std::ranges::any_of(
      ops, [](const ValueOp& op) { return std::holds_alternative<ScaleColumns>(op); });
  const std::string& source = tensor.original_name();
  if (is_scaled || tensor.shape.size() < 2) return nullptr;
  const std::string module = without(source, kWeight);
  const bool is_stack = tensor.shape.size() == 3;
  const std::string key = is_stack ? stack_name(input_key(module)) : module;
  CKPT_ASSIGN(auto found, find_moments(importance, key, model_type, tensor));
  for (const ValueOp& op : ops) {
    const auto* permuted = std::get_if<PermuteColumns>(&op);
    if (permuted == nullptr || found == nullptr) continue;
    CKPT_ASSIGN(found, permuted_moments(*found, *permuted->index));
  }
  return found;
}

}  // namespace ckpt
