// Writes the NVFP4 weights of a GGUF as ModelOpt stores them. Running to-gguf on the headers of the
// folder gives their names and the order of their rows.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/base/find.h"
#include "core/chunks/repack.h"
#include "core/model/tensor_names.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/from_gguf/rows.h"
#include "transforms/modelopt_export/export.h"
#include "transforms/modelopt_export/select.h"
#include "transforms/nvfp4/layout_config.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxNormValues = 1 << 20;

class BaseWriter {
 public:
  // `has_values`: the base's tensors have bytes, which are compared with the file's.
  BaseWriter(const Checkpoint& file, Checkpoint base, bool has_values, const Context& context)
      : file_(file), base_(std::move(base)), has_values_(has_values), context_(context) {
    for (const Tensor& tensor : file_.tensors) by_name_[tensor.name] = &tensor;
  }

  Result<Checkpoint> run() {
    const bool has_experts = std::ranges::any_of(file_.tensors, [&](const Tensor& tensor) {
      return is_nvfp4(tensor) && tensor.shape.size() == 3;
    });
    if (has_experts) CKPT_TRY(split_all_experts(base_, context_.codecs));
    CKPT_ASSIGN(forward_, run_forward(base_, file_, context_));
    CKPT_TRY(check_architecture(file_, *forward_.model.family));
    if (has_values_) CKPT_TRY(check_norm());
    CKPT_ASSIGN(const std::vector<size_t> wanted, find_wanted());
    CKPT_ASSIGN(const RowMap map, find_moved_rows(base_.tensors, forward_.tensors, wanted));
    const bool with_inputs = has_input_scales();
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < base_.tensors.size(); ++i) {
      const Tensor& like = base_.tensors[i];
      const std::vector<MovedRows>* rows = find_mapped(map, i);
      if (rows == nullptr) {
        tensors.push_back(like);
        continue;
      }
      CKPT_ASSIGN(tensors.emplace_back(), weight(like, *rows));
      if (!with_inputs) continue;
      const MovedRows& first = rows->front();
      const Tensor& gguf = *find(forward_.tensors[first.gguf].name);
      CKPT_ASSIGN(const float scale, number(gguf, ".input_scale", matrix_of(gguf, first)));
      tensors.push_back(
          make_f32_tensor(module_of(like.name) + ".input_scale", {}, {scale}, context_.codecs));
      tensors.back().home = like.home;
    }
    base_.tensors = std::move(tensors);
    CKPT_ASSIGN(const Nvfp4Modules modules, find_modelopt_modules(base_));
    CKPT_TRY(complete_documents(base_, context_));
    CKPT_TRY(write_modelopt_layout(base_, modules));
    weights_ = map.size();
    return std::move(base_);
  }

  uint64_t weights() const { return weights_; }

 private:
  const Tensor* find(const std::string& name) const {
    const auto* found = find_mapped(by_name_, name);
    return found == nullptr ? nullptr : *found;
  }
  bool is_nvfp4(const Tensor& tensor) const {
    return tensor.codec == &plain_codec(context_.codecs, Dtype::kNvfp4);
  }

  // Compares a trained norm, because its values identify a model.
  Status check_norm() const {
    const std::string name = "output_norm.weight";
    const Tensor* theirs = find(name);
    const Tensor* ours = find_by(forward_.tensors, &Tensor::name, name);
    if (theirs == nullptr || ours == nullptr || plain_dtype(*theirs->codec) != Dtype::kF32) {
      return {};
    }
    CKPT_ASSIGN(std::vector<float> expected, read_values(ours->stored_tensor(), kMaxNormValues));
    for (const ValueOp& op : ours->ops()) {
      const auto* add = std::get_if<AddScalar>(&op);
      if (add == nullptr) return {};
      for (float& value : expected) value = value + add->value;
    }
    CKPT_ASSIGN(const std::vector<float> found, read_values(*theirs, kMaxNormValues));
    if (found == expected) return {};
    return misuse(
        "'{}' is not what '{}' of BASE becomes; BASE is not the model that this file was made from",
        name, ours->original_name());
  }

  // Indices of tensors that are NVFP4 in the file; fails if the file has others in NVFP4.
  Result<std::vector<size_t>> find_wanted() const {
    std::vector<size_t> out;
    for (size_t i = 0; i < forward_.tensors.size(); ++i) {
      const Tensor* tensor = find(forward_.tensors[i].name);
      if (tensor == nullptr || !is_nvfp4(*tensor)) continue;
      if (tensor->shape != forward_.tensors[i].shape) {
        return misuse("tensor '{}' has shape [{}]; of BASE it would have [{}]", tensor->name,
                      fmt::join(tensor->shape, ", "), fmt::join(forward_.tensors[i].shape, ", "));
      }
      out.push_back(i);
    }
    std::set<std::string_view> found;
    for (const size_t i : out) found.insert(forward_.tensors[i].name);
    for (const Tensor& tensor : file_.tensors) {
      if (!is_nvfp4(tensor) || found.contains(tensor.name)) continue;
      return misuse("tensor '{}' is NVFP4; BASE has nothing that becomes it", tensor.name);
    }
    return out;
  }

  // Index of the matrix in the stack that contains the first row.
  static uint64_t matrix_of(const Tensor& gguf, const MovedRows& rows) {
    return rows.gguf_first / gguf.shape[gguf.shape.size() - 2];
  }

  // Collects the file's rows for `like`, in its order, with their tensor scale.
  Result<Tensor> blocks(const Tensor& like, const std::vector<MovedRows>& rows) const {
    const Tensor& gguf = *find(forward_.tensors[rows[0].gguf].name);
    const uint64_t matrix = matrix_of(gguf, rows[0]);
    std::vector<Tensor> runs;
    for (const MovedRows& run : rows) {
      if (run.gguf != rows[0].gguf || matrix_of(gguf, run) != matrix) {
        return unsupported("tensor '{}': its rows have several scales in '{}'", like.name,
                           gguf.name);
      }
      CKPT_ASSIGN(runs.emplace_back(), take_rows(gguf, run.gguf_first, run.count));
    }
    CKPT_ASSIGN(Tensor out, concatenate_rows(runs));
    CKPT_ASSIGN(const float scale, number(gguf, ".scale", matrix));
    out.name = like.name;
    out.shape = like.shape;
    out.codec = &scheme_codec(context_.codecs, Scheme::kNvfp4, Dialect::kGguf);
    out.home = like.home;
    out.source_name = gguf.name;
    const Tensor scale_part = make_f32_tensor("scale", {}, {scale}, context_.codecs);
    std::get<Stored>(out.origin).parts.push_back(scale_part.stored().parts[0]);
    return out;
  }

  Result<Tensor> weight(const Tensor& like, const std::vector<MovedRows>& rows) const {
    CKPT_ASSIGN(Tensor out, blocks(like, rows));
    CKPT_ASSIGN(auto columns, returned_columns(forward_.tensors[rows[0].gguf]));
    if (columns) {
      PermuteColumns permute{std::make_shared<const std::vector<uint32_t>>(std::move(*columns))};
      CKPT_ASSIGN(out, with_op(std::move(out), std::move(permute)));
    }
    return repack(std::move(out),
                  scheme_codec(context_.codecs, Scheme::kNvfp4, Dialect::kModelopt));
  }

  // Reads "X.scale" or "X.input_scale" for one matrix of "X.weight"; 1 if there is none.
  Result<float> number(const Tensor& gguf, std::string_view ending, uint64_t matrix) const {
    const std::string stem = module_of(gguf.name);
    const Tensor* tensor = find(stem + std::string(ending));
    if (tensor == nullptr) return 1.0f;
    CKPT_ASSIGN(const std::vector<float> values, read_values(*tensor, kMaxTensors));
    const bool fits = values.size() == (gguf.shape.size() == 3 ? gguf.shape[0] : 1);
    const float value = fits ? values[matrix] : NAN;
    if (std::isfinite(value) && value > 0) return value;
    return corrupt("tensor '{}': number {} of {} is {}; expected one above zero for each matrix",
                   tensor->name, matrix, values.size(), value);
  }

  bool has_input_scales() const {
    return std::ranges::any_of(
        file_.tensors, [](const Tensor& tensor) { return tensor.name.ends_with(".input_scale"); });
  }

  const Checkpoint& file_;
  Checkpoint base_;
  bool has_values_;
  const Context& context_;
  std::unordered_map<std::string, const Tensor*> by_name_;
  ForwardResult forward_;
  uint64_t weights_ = 0;  // number of NVFP4 weights
};

}  // namespace

Result<Checkpoint> nvfp4_into_base(const Checkpoint& file, Checkpoint base,
                                   const Context& context) {
  BaseWriter writer(file, std::move(base), true, context);
  CKPT_ASSIGN(Checkpoint out, writer.run());
  context.note("{} weights are the file's; all else is BASE's", writer.weights());
  return out;
}

Result<Checkpoint> nvfp4_into_skeleton(const Checkpoint& file, Checkpoint skeleton,
                                       const std::vector<Tensor>& others, const Context& context) {
  BaseWriter writer(file, std::move(skeleton), false, context);
  CKPT_ASSIGN(Checkpoint out, writer.run());
  std::unordered_map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : others) by_name[tensor.name] = &tensor;
  for (Tensor& tensor : out.tensors) {
    const auto* found = find_mapped(by_name, std::string_view(tensor.name));
    if (found != nullptr && !tensor.has_scales()) tensor = **found;
  }
  context.note("{} weights stay NVFP4", writer.weights());
  return out;
}

}  // namespace ckpt
