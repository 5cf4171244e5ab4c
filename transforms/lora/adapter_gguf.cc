// lora-to-gguf: a LoRA adapter becomes the GGUF that llama.cpp loads next to a model, byte for byte
// as convert_lora_to_gguf.py writes it.
//
//   base ── to-gguf ─▶ names, and the rows of each weight in their new order
//   X.lora_A.weight ─▶ NAME.lora_a             token_embd: transposed
//   X.lora_B.weight ─▶ NAME.lora_b             rows as those of the weight
//   norms           ─▶ NAME
//
// llama.cpp scales by adapter.lora.alpha / rank, whatever the adapter was trained with, and knows
// no DoRA, biases or trained tokens; the step refuses those.
//
// And back: such a file as an adapter to merge.
//
//   NAME.lora_a [r, in], NAME.lora_b [out, r]         of experts [E, r, in] and [E, out, r]
//   token_embd.weight.lora_a [vocabulary, r], .lora_b [dim, r]
//   X_norm.weight                                     replaces the norm
//   adapter.lora.alpha                                s = alpha / r; 1 where it is 0 or absent
//
// Source: llama.cpp v0.5.0 src/llama-adapter.cpp, src/llama-adapter.h (get_scale).
#include "transforms/lora/adapter.h"

#include <algorithm>
#include <cmath>

#include "core/chunks/evaluate.h"
#include "core/computed/decoded_source.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/from_gguf/skeleton.h"
#include "transforms/lora/model_weights.h"
#include "transforms/to_gguf/general/general.h"

namespace ckpt {

extern const Transform kToGguf;

namespace {

constexpr Choice kAdapterTypes[] = {
    {"f32", Dtype::kF32}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBF16}, {"q8_0", Dtype::kQ8_0}};
constexpr OptionRule kAdapterGgufOptions[] = {
    option::path("base", "DIR", "the model that the adapter was trained for").required(),
    option::choice("outtype", kAdapterTypes, "type of the factors").by_default("f32"),
};

// A weight of the base, and what to-gguf made of it.
struct ConvertedWeight {
  const Tensor *before = nullptr;
  const Tensor *after = nullptr;
};

class AdapterToGguf {
 public:
  AdapterToGguf(const Adapter &adapter, Checkpoint &base, const Checkpoint &converted,
                const Context &context)
      : adapter_(adapter), weights_(base, context), converted_(converted), context_(context) {
    for (const Tensor &tensor : converted.tensors) {
      by_source_.emplace(tensor.source_name.empty() ? tensor.name : tensor.source_name, &tensor);
    }
  }

  // In the order of the adapter's file.
  Result<std::vector<Tensor>> run(Dtype type) {
    std::vector<Tensor> out;
    std::map<const Tensor *, const AdapterModule *> firsts;
    for (const AdapterModule &module : adapter_.modules) {
      CKPT_TRY(check_parts(module));
      const Tensor *first = nullptr;
      for (const auto &[part, tensor] : module.parts) {
        if (part == AdapterPart::kBaseCopy) continue;
        if (first == nullptr || tensor < first) first = tensor;
      }
      if (first != nullptr) firsts.emplace(first, &module);
    }
    for (const Tensor &tensor : adapter_.tensors) {
      const auto found = firsts.find(&tensor);
      if (found == firsts.end()) continue;
      CKPT_TRY(add_module(*found->second, type, out));
    }
    return out;
  }

  // Of modules that llama.cpp will scale otherwise than they were trained.
  std::vector<std::string> scaled_otherwise() const {
    std::vector<std::string> out;
    const double alpha = adapter_.config.alpha;
    for (const AdapterModule &module : adapter_.modules) {
      const Tensor *a = module.find(AdapterPart::kA);
      if (a == nullptr) a = module.find(AdapterPart::kEmbeddingA);
      if (a == nullptr) continue;
      const auto theirs = static_cast<float>(alpha / static_cast<double>(a->rows()));
      const float ours = adapter_.config.scale_of(module.name, 1);
      if (ours == theirs) continue;
      out.push_back(fmt::format("{} ({:g} instead of {:g})", module.name, theirs, ours));
    }
    return out;
  }

 private:
  static Status check_parts(const AdapterModule &module) {
    const bool is_norm = last_word(module.name).find("norm") != std::string_view::npos;
    for (const auto &[part, tensor] : module.parts) {
      const bool is_factor = part == AdapterPart::kA || part == AdapterPart::kB ||
                             part == AdapterPart::kEmbeddingA || part == AdapterPart::kEmbeddingB;
      if (is_factor || part == AdapterPart::kBaseCopy) continue;
      if (part == AdapterPart::kNewWeight && is_norm && tensor->shape.size() == 1) continue;
      return fail_with_hint(ErrorCode::kUnsupported,
                            "ckpt convert BASE OUT --step lora:from=ADAPTER, which merges it",
                            "tensor '{}': a GGUF adapter holds lora_A, lora_B and norms alone",
                            tensor->name);
    }
    return {};
  }

  Result<ConvertedWeight> find(const AdapterModule &module) {
    ConvertedWeight out;
    out.before = weights_.find(module.name, kWeight);
    const auto found = out.before == nullptr ? by_source_.end() : by_source_.find(out.before->name);
    if (found != by_source_.end()) out.after = found->second;
    if (out.after != nullptr) return out;
    if (out.before != nullptr && is_of_expert(module.name)) {
      return no_gguf(out.before->name, "a tensor of all experts");
    }
    return fail(ErrorCode::kCorrupt, "tensor '{}': the base, as GGUF, has no tensor made of '{}{}'",
                module.parts.begin()->second->name, module.name, kWeight);
  }

  Result<Tensor> typed(Tensor tensor, std::string name, Dtype type) const {
    if (type == Dtype::kQ8_0 && tensor.row_values() % 32 != 0) type = Dtype::kF16;
    CKPT_ASSIGN(Tensor out, recode(std::move(tensor), plain_codec(context_.codecs, type)));
    out.source_name = out.name;
    out.name = std::move(name);
    out.home.clear();
    return out;
  }

  Status add_module(const AdapterModule &module, Dtype type, std::vector<Tensor> &out) {
    CKPT_ASSIGN(const ConvertedWeight weight, find(module));
    weights_.begin_module(module.parts.begin()->second->name);
    CKPT_TRY(weights_.claim(*weight.before));
    const std::string &name = weight.after->name;
    if (const Tensor *norm = module.find(AdapterPart::kNewWeight)) {
      Tensor values = *norm;
      if (!weight.after->is_stored()) {  // 1 is added to those of Gemma, say
        for (const ValueOp &op : weight.after->recoded().ops) {
          CKPT_ASSIGN(values, with_op(std::move(values), op));
        }
      }
      CKPT_ASSIGN(out.emplace_back(), typed(std::move(values), name, Dtype::kF32));
      return {};
    }
    const bool is_embedding = module.find(AdapterPart::kEmbeddingA) != nullptr;
    const Tensor *a = module.find(is_embedding ? AdapterPart::kEmbeddingA : AdapterPart::kA);
    const Tensor *b = module.find(is_embedding ? AdapterPart::kEmbeddingB : AdapterPart::kB);
    CKPT_TRY(check_factors(module, a, b));
    Tensor left = *b, right = *a;
    if (name == "token_embd.weight") {
      CKPT_ASSIGN(right, turned_factor(*a));
    } else {
      CKPT_ASSIGN(const std::vector<RowRun> runs, row_runs(weight));
      if (b->rows() != weight.before->rows() || a->row_values() != weight.before->row_values()) {
        return fail(ErrorCode::kCorrupt, "tensors '{}' [{}] and '{}' [{}] do not fit '{}' [{}]",
                    b->name, fmt::join(b->shape, ", "), a->name, fmt::join(a->shape, ", "),
                    weight.before->name, fmt::join(weight.before->shape, ", "));
      }
      if (runs.size() > 1) {
        CKPT_ASSIGN(left, reorder_rows(*b, runs));
      }
    }
    CKPT_ASSIGN(right, typed(std::move(right), name + ".lora_a", type));
    CKPT_ASSIGN(left, typed(std::move(left), name + ".lora_b", type));
    out.push_back(std::move(right));
    out.push_back(std::move(left));
    return {};
  }

  static Status check_factors(const AdapterModule &module, const Tensor *a, const Tensor *b) {
    if (a != nullptr && b != nullptr && a->shape.size() == 2 && b->shape.size() == 2 &&
        a->rows() == b->row_values()) {
      return {};
    }
    return fail(ErrorCode::kCorrupt, "tensor '{}': '{}' lacks A or B, or their ranks differ",
                module.parts.begin()->second->name, module.name);
  }

  // Where the rows of the converted weight were in the base, by where its bytes
  // come from.
  Result<std::vector<RowRun>> row_runs(const ConvertedWeight &weight) const {
    const Tensor &stored =
        weight.after->is_stored() ? *weight.after : *weight.after->recoded().from;
    const bool changes_columns =
        !weight.after->is_stored() &&
        std::ranges::any_of(weight.after->recoded().ops,
                            [](const ValueOp &op) { return !std::holds_alternative<RoundTo>(op); });
    const auto &before = weight.before->stored().parts;
    std::vector<RowRun> out;
    bool is_known = !changes_columns && before.size() == 1 && before[0].size() == 1 &&
                    stored.stored().parts.size() == 1 && stored.rows() == weight.before->rows();
    if (is_known) {
      const Slice &from = before[0][0];
      const uint64_t row_bytes = from.size_bytes / weight.before->rows();
      for (const Slice &slice : stored.stored().parts[0]) {
        is_known = is_known && slice.source == from.source &&
                   slice.offset_bytes >= from.offset_bytes &&
                   (slice.offset_bytes - from.offset_bytes) % row_bytes == 0 &&
                   slice.size_bytes % row_bytes == 0;
        if (!is_known) break;
        out.push_back(
            {(slice.offset_bytes - from.offset_bytes) / row_bytes, slice.size_bytes / row_bytes});
      }
    }
    if (is_known) return out;
    return no_gguf(weight.before->name, fmt::format("'{}'", weight.after->name));
  }

  static Failure no_gguf(const std::string &before, std::string_view after) {
    return fail_with_hint(ErrorCode::kUnsupported,
                          "ckpt convert BASE OUT --step lora:from=ADAPTER, which merges it",
                          "'{}' becomes {} by more than another order of its rows; an adapter of "
                          "it has no GGUF",
                          before, after);
  }

  const Adapter &adapter_;
  ModelWeights weights_;
  const Checkpoint &converted_;
  const Context &context_;
  std::map<std::string, const Tensor *, std::less<>> by_source_;
};

Result<Metadata> adapter_metadata(const Checkpoint &input, const Checkpoint &converted,
                                  double alpha, const Context &context) {
  Metadata out;
  const std::string *architecture = converted.metadata.find_text("general.architecture");
  CKPT_CHECK(architecture != nullptr);
  out.append("general.architecture", MetaValue::text(*architecture));
  out.append("general.type", MetaValue::text("adapter"));
  out.append("adapter.type", MetaValue::text("lora"));
  Checkpoint named;
  named.name = input.name;
  if (const Document *card = input.find_document("README.md")) named.set_document(*card);
  CKPT_TRY(add_general_keys(named, {}, std::nullopt, context, out));
  out.append("adapter.lora.alpha", MetaValue::f32(alpha));
  out.append("general.quantization_version", MetaValue::u32(2));
  return out;
}

Result<Checkpoint> lora_to_gguf(Checkpoint input, const OptionValues &options,
                                const Context &context) {
  const std::string base_folder = options.text("base");
  CKPT_ASSIGN(const Adapter adapter, adapter_of(input));
  if (adapter.config.mlx_scale) {
    return fail_with_hint(ErrorCode::kUnsupported,
                          "ckpt convert BASE OUT --step lora:from=ADAPTER, which merges it",
                          "adapters of MLX have no GGUF");
  }
  CKPT_ASSIGN(Checkpoint base, context.open(base_folder));
  Context quiet = context;
  quiet.notes = nullptr;
  CKPT_ASSIGN(const Checkpoint converted,
              in(base_folder, kToGguf.apply(base, {{"outtype", "bf16"}}, quiet)));
  AdapterToGguf made(adapter, base, converted, context);
  CKPT_TRY(check_trained_parts(adapter, base));
  Checkpoint out;
  out.format = "gguf";
  out.name = input.name;
  CKPT_ASSIGN(out.tensors, made.run(options.choice<Dtype>("outtype")));
  CKPT_ASSIGN(out.metadata, adapter_metadata(input, converted, adapter.config.alpha, context));
  const std::vector<std::string> lost = made.scaled_otherwise();
  if (!lost.empty()) {
    context.note(
        fmt::format("lora-to-gguf: llama.cpp scales by lora_alpha / "
                    "r: {} modules get another scale than they "
                    "were trained with, the first: {}; merging with "
                    "--step lora:from=ADAPTER keeps it",
                    lost.size(), lost[0]));
  }
  return out;
}

// ---- reading ---------------------------------------------------------------------------------

constexpr std::string_view kFirstFactor = ".lora_a", kSecondFactor = ".lora_b";
constexpr std::string_view kTokenEmbeddings = "token_embd.weight";
constexpr std::string_view kAlphaKey = "adapter.lora.alpha";
// Those that say nothing about values.
constexpr std::string_view kIdleKeys[] = {"adapter.type", "adapter.lora.task_name",
                                          "adapter.lora.prompt_prefix"};

Status check_adapter_keys(const Checkpoint& file) {
  const auto said = [&](std::string_view key) {
    const std::string* text = file.metadata.find_text(key);
    return text == nullptr ? std::string("missing") : fmt::format("'{}'", *text);
  };
  if (said("general.type") != "'adapter'") {
    return fail(ErrorCode::kUsage, "general.type is {}; expected 'adapter'", said("general.type"));
  }
  if (said("adapter.type") != "'lora'") {
    return fail(ErrorCode::kUnsupported, "adapter.type is {}; expected 'lora'",
                said("adapter.type"));
  }
  const std::string* architecture = file.metadata.find_text("general.architecture");
  if (architecture == nullptr || architecture->empty()) {
    return fail(ErrorCode::kCorrupt, "general.architecture is missing");
  }
  for (const MetaEntry& entry : file.metadata.entries) {
    const bool is_known = !entry.key.starts_with("adapter.") || entry.key == kAlphaKey ||
                          std::ranges::find(kIdleKeys, entry.key) != std::end(kIdleKeys);
    if (is_known) continue;
    return fail(ErrorCode::kUnsupported, "{} is set; such adapters cannot be merged", entry.key);
  }
  return {};
}

Result<double> alpha_of_file(const Checkpoint& file, const Context& context) {
  const MetaValue* found = file.metadata.find(kAlphaKey);
  if (found != nullptr && (found->type != MetaType::kF32 ||
                           !std::isfinite(std::get<double>(found->value)))) {
    return fail(ErrorCode::kCorrupt, "{} is not a finite number of type f32", kAlphaKey);
  }
  const double alpha = found == nullptr ? 0 : std::get<double>(found->value);
  if (alpha == 0) {
    context.note(fmt::format("lora: {} is {}; the scale is 1, as in llama.cpp", kAlphaKey,
                             found == nullptr ? "missing" : "0"));
  }
  return alpha;
}

struct NamedPart {
  std::string module;
  AdapterPart part;
};

Result<NamedPart> named_part(const std::string& name) {
  for (const auto& [ending, part] : {std::pair(kFirstFactor, AdapterPart::kA),
                                     std::pair(kSecondFactor, AdapterPart::kB)}) {
    if (!name.ends_with(ending)) continue;
    const std::string weight = name.substr(0, name.size() - ending.size());
    if (!weight.ends_with(kWeight)) break;
    const bool is_embedding = weight == kTokenEmbeddings;
    return NamedPart{module_of(weight), !is_embedding              ? part
                                        : part == AdapterPart::kA ? AdapterPart::kEmbeddingA
                                                                  : AdapterPart::kEmbeddingB};
  }
  if (name.ends_with("_norm.weight")) return NamedPart{module_of(name), AdapterPart::kNewWeight};
  return fail(ErrorCode::kUnsupported,
              "tensor '{}': expected NAME.weight.lora_a, NAME.weight.lora_b or NAME_norm.weight",
              name);
}

// Both factors of each module, and their rank.
Status check_ranks(Adapter& adapter) {
  for (const AdapterModule& module : adapter.modules) {
    const bool is_embedding = module.name == module_of(kTokenEmbeddings);
    const Tensor* a = module.find(is_embedding ? AdapterPart::kEmbeddingA : AdapterPart::kA);
    const Tensor* b = module.find(is_embedding ? AdapterPart::kEmbeddingB : AdapterPart::kB);
    if (a == nullptr && b == nullptr) continue;
    if (a == nullptr || b == nullptr) {
      return fail(ErrorCode::kCorrupt, "tensor '{}': '{}' has no {}", (a != nullptr ? a : b)->name,
                  module.name, a != nullptr ? "lora_b" : "lora_a");
    }
    const size_t axes = a->shape.size(), last = b->shape.size();
    const bool are_alike = axes == last && (axes == 2 || (axes == 3 && !is_embedding)) &&
                           (axes == 2 || a->shape[0] == b->shape[0]);
    if (are_alike && a->shape[axes - 2] == b->shape.back()) {
      adapter.config.own_ranks[module.name] = static_cast<double>(b->shape.back());
      continue;
    }
    return fail(ErrorCode::kCorrupt, "tensors '{}' [{}] and '{}' [{}]: their ranks differ", a->name,
                fmt::join(a->shape, ", "), b->name, fmt::join(b->shape, ", "));
  }
  return {};
}

Status take_tensors(Checkpoint file, Adapter& out, const Context& context) {
  const Codec& f32 = plain_codec(context.codecs, Dtype::kF32);
  for (Tensor& tensor : file.tensors) {
    if (tensor.codec->decode == nullptr) {
      return fail(ErrorCode::kUnsupported, "tensor '{}': stored as {}; expected floats or q8_0",
                  tensor.name, tensor.codec->name);
    }
    if (!tensor.is_plain_float()) tensor = stored_as_f32(tensor, f32);
    const bool is_turned = tensor.name == std::string(kTokenEmbeddings) + std::string(kFirstFactor);
    if (is_turned && tensor.shape.size() == 2 && tensor.values() > 0) {
      CKPT_ASSIGN(tensor, turned_factor(tensor));
    }
  }
  out.tensors = std::move(file.tensors);
  return group_by_module(out, [](const std::string& name) -> Result<AdapterKey> {
    CKPT_ASSIGN(NamedPart found, named_part(name));
    return AdapterKey{std::move(found.module), found.part};
  });
}

// ---- folders -----------------------------------------------------------------------------------

constexpr const char* kOtherPlace =
    "ckpt convert BASE BASE.gguf, into which the adapter can be merged, or the adapter's own "
    "folder";

Failure no_place(const std::string& name, std::string_view what) {
  return fail_with_hint(ErrorCode::kUnsupported, kOtherPlace, "tensor '{}': {}", name, what);
}

class FolderNames {
 public:
  FolderNames(const Adapter& adapter, const Checkpoint& folder, const Forward& forward,
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
      const std::string& first = module.parts.begin()->second->name;
      const auto found = by_name_.find(module.name + std::string(kWeight));
      if (found == by_name_.end()) {
        return fail(ErrorCode::kCorrupt, "tensor '{}': the base, as GGUF, has no '{}{}'", first,
                    module.name, kWeight);
      }
      const Tensor& made = made_[found->second];
      if (module.find(AdapterPart::kNewWeight) == nullptr && changes_values(module, made)) {
        return no_place(first, "its values are not those of a folder");
      }
      modules_[found->second] = &module;
      wanted.push_back(found->second);
    }
    auto rows = find_rows_of(folder_.tensors, made_, wanted);
    if (!rows) {
      rows.error().hint = kOtherPlace;
      return Failure(std::move(rows.error()));
    }
    rows_ = std::move(*rows);
    return {};
  }

  // Of a product: other than by the order of columns, which is that of A's.
  static bool changes_values(const AdapterModule& module, const Tensor& made) {
    const bool has_columns = module.find(AdapterPart::kA) != nullptr;
    return !made.is_stored() && !std::ranges::all_of(made.recoded().ops, [&](const ValueOp& op) {
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
    return no_place(modules_.at(runs[0].gguf)->parts.begin()->second->name,
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

  // Of an expert, its rows of B and its A.
  Result<Tensor> moved_part(AdapterPart part, const Tensor& tensor, const Tensor& made,
                            const std::vector<MovedRows>& runs) const {
    const bool is_rows = part == AdapterPart::kB;
    if (!is_rows && part != AdapterPart::kA) return tensor;
    const uint64_t experts = tensor.shape.size() == 3 ? tensor.shape[0] : 1;
    const uint64_t rows = tensor.rows() / experts, all = made.rows();
    const bool fits = tensor.shape.size() == made.shape.size() &&
                      (experts == 1 || experts == made.shape[0]) &&
                      (!is_rows || tensor.rows() == all);
    if (!fits) {
      return fail(ErrorCode::kCorrupt, "tensor '{}': shape [{}]; the model's '{}' has [{}]",
                  tensor.name, fmt::join(tensor.shape, ", "), made.name,
                  fmt::join(made.shape, ", "));
    }
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

  // Without the changes that to-gguf makes to the values of `made`, stored.
  Result<Tensor> returned(Tensor part, const Tensor& made) const {
    CKPT_ASSIGN(const Tensor back, undone(part, made));
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
  RowMap rows_;
  // By name of the module.
  std::map<std::string, std::pair<AdapterModule, std::map<AdapterPart, size_t>>> parts_;
  Adapter out_;
};

}  // namespace

Result<Adapter> read_gguf_adapter(Checkpoint file, const std::string& path,
                                  const Context& context) {
  Adapter out;
  out.path = path;
  CKPT_TRY(in(path, check_adapter_keys(file)));
  out.architecture = *file.metadata.find_text("general.architecture");
  CKPT_ASSIGN(out.config.alpha, in(path, alpha_of_file(file, context)));
  if (out.config.alpha == 0) out.config.mlx_scale = 1;
  CKPT_TRY(in(path, take_tensors(std::move(file), out, context)));
  CKPT_TRY(in(path, check_ranks(out)));
  return out;
}

Result<Adapter> adapter_for_folder(const Adapter& adapter, const Checkpoint& folder,
                                   const Context& context) {
  Context quiet = context;
  quiet.notes = nullptr;
  CKPT_ASSIGN(const Forward forward, run_forward(folder, quiet));
  const std::string_view name = forward.model.family->name;
  if (name != adapter.architecture) {
    return fail(ErrorCode::kUsage, "general.architecture is '{}'; the base is '{}'",
                adapter.architecture, name);
  }
  return FolderNames(adapter, folder, forward, context.codecs).run();
}

extern constinit const Transform kLoraToGguf{"lora-to-gguf",
                                             "makes a GGUF of a LoRA adapter, as llama.cpp does",
                                             kAdapterGgufOptions, lora_to_gguf};

}  // namespace ckpt
