// Shows what a plan would write. Tensors of one shape that are made the same way share a line.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/counted.h"
#include "core/chunks/repack.h"
#include "core/computed/transposed_source.h"
#include "core/outputs/space.h"
#include "tools/say/preview.h"
#include "tools/say/tensor_groups.h"

namespace ckpt {
namespace {

// The number of tensors, their weights and bytes.
struct PlannedSum {
  uint64_t tensors = 0, weights = 0, size_bytes = 0;

  void add(uint64_t more_weights, uint64_t more_bytes) {
    ++tensors;
    weights += more_weights;
    size_bytes += more_bytes;
  }
  double bits() const { return bits_per_weight(size_bytes, weights); }
  // Rounded to hundredths, so that the same plan gives the same text on every machine.
  double rounded_bits() const { return std::round(bits() * 100) / 100; }
};

std::string shape_text(const Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

// The stored tensor that the values come from, also through a transposition.
const Tensor& source_of(const Tensor& tensor) {
  const Tensor& from = tensor.stored_tensor();
  const auto* turned = made_by<TransposedSource>(from.stored());
  return turned == nullptr ? from : turned->tensor();
}

// Tensors that share a line.
struct AlikeTensors {
  const Tensor* first = nullptr;
  std::vector<std::string> names;
  uint64_t size_bytes = 0, source_bytes = 0;
};

std::string kind_of(const Tensor& tensor) {
  return fmt::format("{} {} {}", shape_text(tensor), source_of(tensor).codec->name,
                     tensor.codec->name);
}

void show_alike(const Console& console, const Groups<AlikeTensors>& groups) {
  Table table({"tensors", "count", "shape", "from", "size", "to", "size"});
  for (const auto& [kind, group] : groups) {
    table.add({grouped_names(group.names), fmt::format("{}", group.names.size()),
               shape_text(*group.first), std::string(source_of(*group.first).codec->name),
               human_bytes(group.source_bytes), std::string(group.first->codec->name),
               human_bytes(group.size_bytes)});
  }
  console.answer_table(table, {false, true, false, false, true, false, true});
}

void show_tensor(const Console& console, const Output& output, const Tensor& tensor,
                 AlikeTensors& group) {
  const Tensor& source = source_of(tensor);
  const uint64_t bytes = size_bytes(tensor), source_bytes = size_bytes(source);
  PlannedSum sum;
  sum.add(tensor.values(), bytes);
  if (group.first == nullptr) group.first = &tensor;
  group.names.push_back(tensor.name);
  group.size_bytes += bytes;
  group.source_bytes += source_bytes;
  Json row = {{"out", output.path.string()},          {"tensor", tensor.name},
              {"source", tensor.original_name()},     {"shape", tensor.shape},
              {"from", source.codec->name},           {"to", tensor.codec->name},
              {"source_bytes", source_bytes},         {"size_bytes", bytes},
              {"bits_per_weight", sum.rounded_bits()}};
  const uint64_t kept = tensor.is_stored() ? 0 : tensor.recoded().exact_blocks;
  if (kept != 0) row["moved_blocks"] = kept;
  const auto error = tensor.is_stored() ? std::nullopt : tensor.recoded().second_error;
  if (error) row["second_error"] = *error;
  console.object("plan", row);
}

void show_output(const Console& console, const Output& output) {
  Groups<AlikeTensors> groups;
  std::map<std::string_view, PlannedSum> by_type;
  PlannedSum before, after;
  for (const Tensor& tensor : output.checkpoint.tensors) {
    const uint64_t weights = tensor.values();
    by_type[tensor.codec->name].add(weights, size_bytes(tensor));
    after.add(weights, size_bytes(tensor));
    before.add(source_of(tensor).values(), size_bytes(source_of(tensor)));
    show_tensor(console, output, tensor, groups.of(kind_of(tensor)));
  }
  show_alike(console, groups);
  const uint64_t total = output.layout.size_bytes();
  console.answer("");
  Table types({"type", "tensors", "size"});
  for (const auto& [type, sums] : by_type) {
    types.add({std::string(type), fmt::format("{}", sums.tensors), human_bytes(sums.size_bytes)});
  }
  console.answer_table(types, {false, true, true});
  console.answer("{} of tensors, {:.2f} bits a weight, become {}, {:.2f} bits a weight",
                 human_bytes(before.size_bytes), before.bits(), human_bytes(after.size_bytes),
                 after.bits());
  console.answer("{}: {}, {}; nothing was written (--dry-run)", output.path.string(),
                 counted(output.layout.files.size(), "file"), human_bytes(total));
  const MovedBlocks moved = count_moved(output.checkpoint.tensors);
  console.object("summary", {{"out", output.path.string()},
                             {"dry_run", true},
                             {"tensors", output.checkpoint.tensors.size()},
                             {"moved_tensors", moved.tensors},
                             {"moved_blocks", moved.blocks},
                             {"files", output.layout.files.size()},
                             {"size_bytes", total},
                             {"source_tensor_bytes", before.size_bytes},
                             {"tensor_bytes", after.size_bytes},
                             {"source_bits_per_weight", before.rounded_bits()},
                             {"bits_per_weight", after.rounded_bits()}});
}

}  // namespace

void show_plan(const Console& console, const Plan& plan) {
  for (const SpaceNeed& need : space_needs(plan, Leftovers::kKeep)) {
    console.object("space", {{"folder", need.folder.string()},
                             {"needed_bytes", need.needed_bytes},
                             {"free_bytes", need.free_bytes}});
    const std::string both =
        fmt::format("{}: needs {}, {} are free", need.folder.string(),
                    human_bytes(need.needed_bytes), human_bytes(need.free_bytes));
    if (!need.fits()) console.warn(both + "; the outputs do not fit");
    if (need.fits()) console.answer(both);
  }
  for (const Output& output : plan.outputs) show_output(console, output);
}

}  // namespace ckpt
