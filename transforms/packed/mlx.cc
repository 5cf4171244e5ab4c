// Undoes the changes that MLX makes to a released model (data/mlx.txt).
//
//   embed_q.weight [H, R, K]       ──▶  kv_b_proj.weight [H (K + V), R]: for each head its keys,
//   unembed_out.weight [H, V, R]        transposed, and then its values
//
// Values move; norms get 1 subtracted.
#include "transforms/packed/mlx.h"

#include <algorithm>
#include <set>

#include "core/computed/interleaved_source.h"
#include "core/computed/strided_source.h"
#include "models/models.h"

namespace ckpt {
namespace {

using MlxShape = std::vector<uint64_t>;

// Exchanges the last two axes.
Result<Tensor> transposed(const Tensor& tensor) {
  MlxShape shape = tensor.shape;
  if (shape.size() < 2) return corrupt("{} axes; expected a matrix", shape.size());
  std::swap(shape.back(), shape[shape.size() - 2]);
  const uint64_t columns = tensor.row_values(), rows = shape.back(), matrix = rows * columns;
  const StridedGrid grid{0, {tensor.values() / matrix, columns, rows}, {matrix, 1, columns}};
  CKPT_ASSIGN(Tensor out, take_grid(tensor, grid));
  return reshape(std::move(out), std::move(shape));
}

// Turns [O, X, C] into [O, C, X] for any number of axes X.
Result<Tensor> with_channels_second(const Tensor& tensor) {
  MlxShape shape = tensor.shape;
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  CKPT_ASSIGN(Tensor out, reshape(tensor, {shape[0], tensor.rows() / shape[0], shape[1]}));
  if (shape[1] != 1) CKPT_SET(out, transposed(out));
  return reshape(std::move(out), std::move(shape));
}

// Joins `first` and `second`: by matrices, rows or values.
Result<Tensor> joined(std::string_view change, Tensor first, Tensor second) {
  const bool is_turned = change.starts_with("turned"), is_heads = change == "heads";
  if (is_turned || is_heads) CKPT_SET(first, transposed(first));
  if (is_turned) CKPT_SET(second, transposed(second));
  const bool by_matrix = change == "rows" || is_heads;
  const size_t axes = first.shape.size();
  if (second.shape.size() != axes || axes < (is_heads ? 3u : by_matrix ? 2u : 1u)) {
    return corrupt("[{}] and '{}' [{}] cannot be joined", fmt::join(first.shape, ", "), second.name,
                   fmt::join(second.shape, ", "));
  }
  const size_t axis = axes - (by_matrix ? 2 : 1);
  const auto run = [&](const Tensor& tensor) {
    if (change.ends_with("pairs")) return uint64_t{1};
    return by_matrix ? tensor.shape[axis] * tensor.row_values() : tensor.row_values();
  };
  MlxShape shape = first.shape;
  shape[axis] += second.shape[axis];
  if (is_heads) shape = {shape[0] * shape[1], shape[2]};
  return interleave({{first, run(first)}, {second, run(second)}}, std::move(shape));
}

// The released form of one tensor, before a stack is split.
Result<Tensor> released(const Tensor& tensor, std::string_view change, const Tensor* second) {
  if (change == "plus-one") return with_op(tensor, AddScalar{-1.0f});
  if (change == "channels-last") return with_channels_second(tensor);
  if (change == "turned") return transposed(tensor);
  return second == nullptr ? Result<Tensor>(tensor) : joined(change, tensor, *second);
}

std::string released_name(std::string name, const MlxTensors& found) {
  for (const MlxRule* prefix : found.prefixes) {
    if (name.starts_with(prefix->from)) {
      return std::string(prefix->to) + name.substr(prefix->from.size());
    }
  }
  return name;
}

Result<std::vector<Tensor>> released_tensors(const Checkpoint& checkpoint,
                                             const MlxTensors& found) {
  std::vector<Tensor> out;
  std::set<std::string> taken;  // names of second tensors
  const auto add = [&](Tensor tensor, const Tensor& from, const std::string& name) {
    tensor.name = released_name(name, found);
    if (tensor.name != from.name) tensor.source_name = from.original_name();
    out.push_back(std::move(tensor));
  };
  auto next = found.changed.begin();
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const Tensor& tensor = checkpoint.tensors[i];
    if (next == found.changed.end() || next->first != i) {
      add(tensor, tensor, tensor.name);
      continue;
    }
    const MlxRule& rule = *next++->second;
    const std::string front = tensor.name.substr(0, tensor.name.size() - rule.from.size());
    const std::string second_name = rule.second.empty() ? "" : front + std::string(rule.second);
    const Tensor* second = checkpoint.find_tensor(second_name);
    if (second == nullptr && !rule.second.empty()) {
      return corrupt("tensor '{}': MLX saves it with '{}', which is missing", tensor.name,
                     second_name);
    }
    taken.insert(second_name);
    CKPT_ASSIGN(Tensor made, in(fmt::format("tensor '{}', saved by MLX", tensor.name),
                                released(tensor, rule.change, second)));
    std::string name = front + std::string(rule.to);
    const size_t number = rule.change == "stack" ? name.find("{}") : name.npos;
    if (number == name.npos) add(std::move(made), tensor, name);
    for (uint64_t e = 0; number != name.npos && e < tensor.shape[0]; ++e) {
      CKPT_ASSIGN(Tensor one, take_rows(tensor, e * tensor.shape[1], tensor.shape[1]));
      add(std::move(one), tensor, std::string(name).replace(number, 2, std::to_string(e)));
    }
  }
  std::erase_if(out, [&](const Tensor& each) { return taken.contains(each.original_name()); });
  return out;
}

}  // namespace

Result<Checkpoint> from_mlx(Checkpoint checkpoint, const Context& context) {
  const MlxTensors found = find_mlx_tensors(checkpoint);
  if (!found.unknown_type.empty()) {
    return unsupported_hint("the checkpoint that MLX converted",
                            "MLX saved this folder with its own names, axes or values, and those "
                            "of model_type {} are not known",
                            found.unknown_type);
  }
  // Copies codes; a later step that must decode them names MLX as their origin.
  const bool is_as_released = found.changed.empty() && found.prefixes.empty();
  if (found.is_quantized || is_as_released) return checkpoint;
  CKPT_ASSIGN(checkpoint.tensors, released_tensors(checkpoint, found));
  const auto is_renamed = [](const Tensor& each) { return each.name != each.original_name(); };
  if (found.changed.empty() && std::ranges::none_of(checkpoint.tensors, is_renamed)) {
    return checkpoint;
  }
  for (auto& [file, metadata] : checkpoint.file_metadata) {
    if (metadata.find_text("format") != nullptr) metadata.set("format", MetaValue::text("pt"));
  }
  const auto shifted = std::ranges::count_if(
      found.changed, [](const auto& each) { return each.second->change == "plus-one"; });
  context.note("MLX saved this model; its tensors get their released names, axes and values back{}",
               shifted == 0 ? ""
                            : fmt::format("; {} norms held 1 + w, whose rounding cost small w bits",
                                          shifted));
  return checkpoint;
}

}  // namespace ckpt
