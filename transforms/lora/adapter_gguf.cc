// An adapter in a GGUF, read to be merged, and under the names of the model's folder.
//
//   NAME.lora_a [r, in], NAME.lora_b [out, r]         of experts [E, r, in] and [E, out, r]
//   token_embd.weight.lora_a [vocabulary, r], .lora_b [dim, r]
//   X_norm.weight                                     replaces the norm
//   adapter.lora.alpha                                s = alpha / r; 1 where it is 0 or absent
//
// Source: llama.cpp v0.5.0 src/llama-adapter.cpp, src/llama-adapter.h (get_scale).
#include <algorithm>
#include <cmath>

#include "core/chunks/evaluate.h"
#include "core/computed/decoded_source.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/facts/qat_quantizers.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/lora/adapter.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {
namespace {

constexpr std::string_view kFirstFactor = ".lora_a", kSecondFactor = ".lora_b";
constexpr std::string_view kTokenEmbeddings = "token_embd.weight", kHead = "output";
constexpr std::string_view kAlphaKey = "adapter.lora.alpha";
// Keys that say nothing about values.
constexpr std::string_view kIdleKeys[] = {"adapter.type", "adapter.lora.task_name",
                                          "adapter.lora.prompt_prefix"};

Status check_adapter_keys(const Checkpoint& file) {
  const auto declared = [&](std::string_view key) {
    const std::string* text = file.metadata.find_text(key);
    return text == nullptr ? std::string("missing") : fmt::format("'{}'", *text);
  };
  if (declared("general.type") != "'adapter'") {
    return misuse("general.type is {}; expected 'adapter'", declared("general.type"));
  }
  if (declared("adapter.type") != "'lora'") {
    return unsupported("adapter.type is {}; expected 'lora'", declared("adapter.type"));
  }
  if (file.metadata.architecture().empty()) return corrupt("general.architecture is missing");
  for (const MetaEntry& entry : file.metadata.entries) {
    const bool is_known = !entry.key.starts_with("adapter.") || entry.key == kAlphaKey ||
                          std::ranges::find(kIdleKeys, entry.key) != std::end(kIdleKeys);
    if (is_known) continue;
    return unsupported("{} is set; such adapters cannot be merged", entry.key);
  }
  return {};
}

Result<double> alpha_of_file(const Checkpoint& file, const Context& context) {
  const MetaValue* found = file.metadata.find(kAlphaKey);
  if (found != nullptr &&
      (found->type != MetaType::kF32 || !std::isfinite(std::get<double>(found->value)))) {
    return corrupt("{} is not a finite number of type f32", kAlphaKey);
  }
  const double alpha = found == nullptr ? 0 : std::get<double>(found->value);
  if (alpha == 0) {
    context.note("lora: {} is {}; the scale is 1, as in llama.cpp", kAlphaKey,
                 found == nullptr ? "missing" : "0");
  }
  return alpha;
}

Result<AdapterKey> key_in_gguf(const std::string& name) {
  for (const auto& [ending, part] :
       {std::pair(kFirstFactor, AdapterPart::kA), std::pair(kSecondFactor, AdapterPart::kB)}) {
    if (!name.ends_with(ending)) continue;
    const std::string weight = name.substr(0, name.size() - ending.size());
    if (!weight.ends_with(kWeight)) break;
    const bool is_embedding = weight == kTokenEmbeddings;
    return AdapterKey{module_of(weight), !is_embedding             ? part
                                         : part == AdapterPart::kA ? AdapterPart::kEmbeddingA
                                                                   : AdapterPart::kEmbeddingB};
  }
  if (name.ends_with("_norm.weight")) return AdapterKey{module_of(name), AdapterPart::kNewWeight};
  return unsupported(
      "tensor '{}': expected NAME.weight.lora_a, NAME.weight.lora_b or NAME_norm.weight", name);
}

// Checks that each module has both factors, of equal rank.
Status check_ranks(Adapter& adapter) {
  for (const AdapterModule& module : adapter.modules) {
    const bool is_embedding = module.name == module_of(kTokenEmbeddings);
    const Tensor* a = module.find(is_embedding ? AdapterPart::kEmbeddingA : AdapterPart::kA);
    const Tensor* b = module.find(is_embedding ? AdapterPart::kEmbeddingB : AdapterPart::kB);
    if (a == nullptr && b == nullptr) continue;
    if (a == nullptr || b == nullptr) {
      return corrupt("tensor '{}': '{}' has no {}", (a != nullptr ? a : b)->name, module.name,
                     a != nullptr ? "lora_b" : "lora_a");
    }
    const size_t axes = a->shape.size(), last = b->shape.size();
    const bool are_alike = axes == last && (axes == 2 || (axes == 3 && !is_embedding)) &&
                           (axes == 2 || a->shape[0] == b->shape[0]);
    if (are_alike && a->shape[axes - 2] == b->shape.back()) {
      adapter.config.own_ranks[module.name] = static_cast<double>(b->shape.back());
      continue;
    }
    return corrupt("tensors '{}' [{}] and '{}' [{}]: their ranks differ", a->name,
                   fmt::join(a->shape, ", "), b->name, fmt::join(b->shape, ", "));
  }
  return {};
}

Status take_tensors(Checkpoint file, Adapter& out, const Context& context) {
  const Codec& f32 = plain_codec(context.codecs, Dtype::kF32);
  for (Tensor& tensor : file.tensors) {
    if (tensor.codec->decode == nullptr) {
      return unsupported("tensor '{}': stored as {}; expected floats or q8_0", tensor.name,
                         tensor.codec->name);
    }
    if (!tensor.is_plain_float()) tensor = stored_as_f32(tensor, f32);
    const bool is_turned = tensor.name == std::string(kTokenEmbeddings) + std::string(kFirstFactor);
    if (is_turned && tensor.shape.size() == 2 && tensor.values() > 0) {
      CKPT_ASSIGN(tensor, transposed_factor(tensor));
    }
  }
  out.tensors = std::move(file.tensors);
  return group_by_module(out, key_in_gguf);
}

constexpr const char* kOtherPlace =
    "ckpt convert BASE BASE.gguf, into which the adapter can be merged, or the adapter's own "
    "folder";

Failure no_place(const std::string& name, std::string_view what) {
  return unsupported_hint(kOtherPlace, "tensor '{}': {}", name, what);
}

class FolderNames {
 public:
  FolderNames(const Adapter& adapter, const Checkpoint& folder, const ForwardResult& forward,
              Codecs codecs)
      : adapter_(adapter), folder_(folder), made_(forward.tensors), codecs_(codecs) {
    for (size_t i = 0; i < made_.size(); ++i) by_name_[made_[i].name] = i;
  }

  Result<Adapter> run() {
    out_.path = adapter_.path;
    out_.config = adapter_.config;
    out_.config.own_ranks.clear();
    out_.tensors.reserve(2 * adapter_.tensors.size());
    CKPT_TRY(find_rows());
    for (const auto& [tensor, runs] : rows_) CKPT_TRY(add(folder_.tensors[tensor], runs));
    if (tied_head_ != nullptr) CKPT_TRY(add_tied_head());
    // Their parts point into `tensors`.
    for (auto& [name, own] : parts_) {
      for (const auto& [part, at] : own.second) own.first.parts[part] = &out_.tensors[at];
      out_.modules.push_back(std::move(own.first));
    }
    return std::move(out_);
  }

 private:
  Status find_rows() {
    std::vector<size_t> wanted;
    for (const AdapterModule& module : adapter_.modules) {
      const std::string& first = module.first_tensor();
      const auto found = by_name_.find(module.name + std::string(kWeight));
      if (found == by_name_.end() && module.name == kHead && by_name_.contains(kTokenEmbeddings)) {
        tied_head_ = &module;
        continue;
      }
      if (found == by_name_.end()) {
        return corrupt("tensor '{}': the base, as GGUF, has no '{}{}'", first, module.name,
                       kWeight);
      }
      const Tensor& made = made_[found->second];
      if (module.find(AdapterPart::kNewWeight) == nullptr && changes_values(module, made)) {
        return no_place(first, "its values are not those of a folder");
      }
      modules_[found->second] = &module;
      wanted.push_back(found->second);
    }
    CKPT_ASSIGN(rows_, rows_of(wanted));
    return {};
  }

  Result<RowMap> rows_of(const std::vector<size_t>& wanted) const {
    auto rows = find_rows_of(folder_.tensors, made_, wanted);
    if (!rows) rows.error().hint = kOtherPlace;
    return rows;
  }

  // Its rows are those of the embeddings, under the name that it gets as a tensor of its own.
  Status add_tied_head() {
    const size_t embeddings = by_name_.find(kTokenEmbeddings)->second;
    modules_[embeddings] = tied_head_;
    CKPT_ASSIGN(const RowMap rows, rows_of({embeddings}));
    for (const auto& [tensor, runs] : rows) CKPT_TRY(add_module({"lm_head"}, runs));
    return {};
  }

  // Whether to-gguf changes values of `made` otherwise than by the order of its columns, which a
  // product takes over for A.
  static bool changes_values(const AdapterModule& module, const Tensor& made) {
    const bool has_columns = module.find(AdapterPart::kA) != nullptr;
    return !std::ranges::all_of(made.ops(), [&](const ValueOp& op) {
      return std::holds_alternative<RoundTo>(op) ||
             (has_columns && std::holds_alternative<PermuteColumns>(op));
    });
  }

  Status add(const Tensor& weight, const std::vector<MovedRows>& runs) {
    if (modules_.at(runs[0].gguf)->find(AdapterPart::kNewWeight) != nullptr) {
      return add_norm(weight, runs);
    }
    if (weight.shape.size() < 2) return no_value(weight, runs);
    uint64_t rows = 0;  // of the first tensor of the GGUF
    for (const MovedRows& run : runs) rows += run.gguf == runs[0].gguf ? run.count : 0;
    const bool is_matrix = weight.shape.size() == 2 && weight.name.ends_with(kWeight);
    if (is_matrix && rows == weight.rows()) return add_module({module_of(weight.name)}, runs);
    for (const MovedRows& run : runs) {
      const Tensor& made = made_[run.gguf];
      const bool has_experts = made.shape.size() == 3;
      for (uint64_t done = 0, count = run.count; done < run.count; done += count) {
        const uint64_t at = run.gguf_first + done, first = run.first + done;
        const uint64_t left = run.count - done;
        count = has_experts ? std::min(left, made.shape[1] - at % made.shape[1]) : left;
        AdapterModule rows_of_weight{fmt::format("{}[{}]", weight.name, first)};
        rows_of_weight.rows = {weight.name, first};
        CKPT_TRY(add_module(std::move(rows_of_weight), {{first, count, run.gguf, at}}));
      }
    }
    return {};
  }

  Status add_norm(const Tensor& weight, const std::vector<MovedRows>& runs) {
    const Tensor& norm = *modules_.at(runs[0].gguf)->find(AdapterPart::kNewWeight);
    if (runs.size() > 1) return no_value(weight, runs);
    const Tensor& made = made_[runs[0].gguf];
    CKPT_ASSIGN(Tensor own, returned(norm, made));
    if (norm.shape == made.shape && norm.values() == weight.values()) own.shape = weight.shape;
    add_part({module_of(weight.name)}, AdapterPart::kNewWeight, std::move(own));
    return {};
  }

  Status no_value(const Tensor& weight, const std::vector<MovedRows>& runs) const {
    return no_place(modules_.at(runs[0].gguf)->first_tensor(),
                    fmt::format("it does not fit '{}' [{}] of the folder", weight.name,
                                fmt::join(weight.shape, ", ")));
  }

  Status add_module(AdapterModule own, const std::vector<MovedRows>& runs) {
    const AdapterModule& module = *modules_.at(runs[0].gguf);
    out_.config.own_ranks[own.name] = adapter_.config.rank_of(module.name);
    for (const auto& [part, tensor] : module.parts) {
      CKPT_ASSIGN(Tensor moved, moved_part(part, *tensor, made_[runs[0].gguf], runs));
      add_part(own, part, std::move(moved));
    }
    return {};
  }

  void add_part(const AdapterModule& module, AdapterPart part, Tensor tensor) {
    auto& [own, parts] = parts_[module.name];
    own = module;
    parts[part] = out_.tensors.size();
    out_.tensors.push_back(std::move(tensor));
  }

  // Takes the rows of B that belong to an expert, or its A.
  Result<Tensor> moved_part(AdapterPart part, const Tensor& tensor, const Tensor& made,
                            const std::vector<MovedRows>& runs) const {
    const bool is_rows = part == AdapterPart::kB;
    if (!is_rows && part != AdapterPart::kA) return tensor;
    const uint64_t experts = tensor.shape.size() == 3 ? tensor.shape[0] : 1;
    const uint64_t rows = tensor.rows() / experts, all = made.rows();
    const bool fits = tensor.shape.size() == made.shape.size() &&
                      (experts == 1 || experts == made.shape[0]) &&
                      (!is_rows || tensor.rows() == all);
    if (!fits) return other_shape(tensor, made);
    if (is_rows) {
      std::vector<RowRun> taken;
      for (const MovedRows& run : runs) taken.push_back({run.gguf_first, run.count});
      CKPT_ASSIGN(const Tensor matrix, reshape(tensor, {tensor.rows(), tensor.row_values()}));
      return reorder_rows(matrix, taken);
    }
    const uint64_t expert = runs[0].gguf_first / (all / experts);
    CKPT_ASSIGN(Tensor own, take_rows(tensor, expert * rows, rows));
    return returned(std::move(own), made);
  }

  // Undoes the changes that to-gguf makes to the values of `made`, and stores the result.
  Result<Tensor> returned(Tensor part, const Tensor& made) const {
    CKPT_ASSIGN(const Tensor back, undo_changes(part, made));
    if (back.is_stored()) return part;
    CKPT_ASSIGN(const RowSample all, sample_rows(back, UINT64_MAX));
    return make_f32_tensor(part.name, part.shape, all.values, codecs_);
  }

  const Adapter& adapter_;
  const Checkpoint& folder_;
  const std::vector<Tensor>& made_;
  Codecs codecs_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<size_t, const AdapterModule*> modules_;
  const AdapterModule* tied_head_ = nullptr;  // a product for a head that the folder has not
  RowMap rows_;
  // Maps a module's name to the module and to its parts, which are indexes into out_.tensors.
  std::map<std::string, std::pair<AdapterModule, std::map<AdapterPart, size_t>>> parts_;
  Adapter out_;
};

}  // namespace

Result<Adapter> read_gguf_adapter(Checkpoint file, const std::string& path,
                                  const Context& context) {
  Adapter out;
  out.path = path;
  CKPT_TRY(in(path, check_adapter_keys(file)));
  out.architecture = file.metadata.architecture();
  CKPT_ASSIGN(out.config.alpha, in(path, alpha_of_file(file, context)));
  if (out.config.alpha == 0) out.config.own_scale = 1;
  CKPT_TRY(in(path, take_tensors(std::move(file), out, context)));
  CKPT_TRY(in(path, check_ranks(out)));
  return out;
}

Result<Adapter> adapter_for_folder(const Adapter& adapter, const Checkpoint& folder,
                                   const Context& context) {
  // In a folder of floats, nothing tells scales and quantizers from tensors of the model.
  Checkpoint weights = folder;
  std::erase_if(weights.tensors, [](const Tensor& tensor) {
    return is_side_scale(tensor.name) || is_quantizer(tensor.name);
  });
  CKPT_ASSIGN(const ForwardResult forward, run_forward(weights, {}, context.quiet()));
  const std::string_view name = forward.model.family->name;
  if (name != adapter.architecture) {
    return misuse("general.architecture is '{}'; the base is '{}'", adapter.architecture, name);
  }
  return FolderNames(adapter, folder, forward, context.codecs).run();
}

}  // namespace ckpt
