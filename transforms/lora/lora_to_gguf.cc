// lora-to-gguf: a LoRA adapter becomes the GGUF that llama.cpp loads next to a model, byte for byte
// as convert_lora_to_gguf.py writes it.
//
//   base ── to-gguf ─▶ names, and the rows of each weight in their new order
//   X.lora_A.weight ─▶ NAME.lora_a             token_embd: transposed; columns as the weight's
//   X.lora_B.weight ─▶ NAME.lora_b             rows as those of the weight
//   norms           ─▶ NAME
//
// llama.cpp scales by adapter.lora.alpha / rank, whatever the adapter was trained with, and knows
// no DoRA, biases or trained tokens; the step refuses those.
//
// Source: llama.cpp v0.5.0 src/llama-adapter.h (get_scale).
#include <algorithm>

#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/from_gguf/rows.h"
#include "transforms/lora/model_weights.h"
#include "transforms/to_gguf/general/general.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

extern const Transform kToGguf;

namespace {

constexpr const char* kMergeInstead =
    "ckpt convert BASE OUT --step lora:from=ADAPTER, which merges it";
constexpr Choice kAdapterTypes[] = {
    {"f32", Dtype::kF32}, {"f16", Dtype::kF16}, {"bf16", Dtype::kBF16}, {"q8_0", Dtype::kQ8_0}};
constexpr OptionRule kAdapterGgufOptions[] = {
    option::path("base", "DIR", "the model that the adapter was trained for").required(),
    option::choice("outtype", kAdapterTypes, "type of the factors").by_default("f32"),
};

// A weight of the base, and what to-gguf made of it.
struct ConvertedWeight {
  const Tensor* before = nullptr;
  const Tensor* after = nullptr;
};

class AdapterToGguf {
 public:
  AdapterToGguf(const Adapter& adapter, Checkpoint& base, const Checkpoint& converted,
                const Context& context)
      : adapter_(adapter), weights_(base, context), context_(context) {
    for (const Tensor& tensor : converted.tensors) {
      by_source_.emplace(tensor.original_name(), &tensor);
    }
  }

  // Converts all modules, in the order of the adapter's file.
  Result<std::vector<Tensor>> run(Dtype type) {
    std::vector<Tensor> out;
    std::map<const Tensor*, const AdapterModule*> firsts;  // of one list, so in its order
    for (const AdapterModule& module : adapter_.modules) {
      if (is_of_tower(module)) {
        left_out_.add(module.name);
        continue;
      }
      CKPT_TRY(check_parts(module));
      CKPT_TRY(check_module(adapter_, module));
      const Tensor* first = nullptr;
      for (const auto& [part, tensor] : module.parts) {
        if (part == AdapterPart::kBaseCopy) continue;
        if (first == nullptr || tensor < first) first = tensor;
      }
      if (first != nullptr) firsts.emplace(first, &module);
    }
    for (const auto& [first, module] : firsts) CKPT_TRY(add_module(*module, type, out));
    if (out.empty()) return no_effect(left_out_);
    if (left_out_.count() == 0) return out;
    context_.note("lora-to-gguf: {}, because llama.cpp reads adapters of the language model alone",
                  left_out_.text("modules of towers are left out"));
    return out;
  }

  // The modules that llama.cpp will scale otherwise than they were trained.
  std::vector<std::string> scaled_otherwise() const {
    std::vector<std::string> out;
    const double alpha = adapter_.config.alpha;
    for (const AdapterModule& module : adapter_.modules) {
      const Tensor* a = module.first_factor();
      if (a == nullptr) continue;
      const auto theirs =
          alpha == 0 ? 1.0f : static_cast<float>(alpha / static_cast<double>(a->rows()));
      const float ours = adapter_.config.scale_of(module.name, 1);
      if (ours == theirs) continue;
      out.push_back(fmt::format("{} ({:g} instead of {:g})", module.name, theirs, ours));
    }
    return out;
  }

 private:
  bool is_of_tower(const AdapterModule& module) {
    const Tensor* weight = weights_.find(module.name, kWeight);
    return weight != nullptr && ckpt::is_of_tower(weight->name);
  }

  static Status check_parts(const AdapterModule& module) {
    const bool is_norm = last_word(module.name).find("norm") != std::string_view::npos;
    for (const auto& [part, tensor] : module.parts) {
      const bool is_factor = part == AdapterPart::kA || part == AdapterPart::kB ||
                             part == AdapterPart::kEmbeddingA || part == AdapterPart::kEmbeddingB;
      if (is_factor || part == AdapterPart::kBaseCopy) continue;
      if (part == AdapterPart::kNewWeight && is_norm && tensor->shape.size() == 1) continue;
      return unsupported_hint(kMergeInstead,
                              "tensor '{}': a GGUF adapter holds lora_A, lora_B and norms alone",
                              tensor->name);
    }
    return {};
  }

  Result<ConvertedWeight> find(const AdapterModule& module) {
    ConvertedWeight out;
    out.before = weights_.find(module.name, kWeight);
    const auto found = out.before == nullptr ? by_source_.end() : by_source_.find(out.before->name);
    if (found != by_source_.end()) out.after = found->second;
    if (out.after != nullptr) return out;
    if (out.before != nullptr && is_of_expert(module.name)) {
      return no_gguf(out.before->name, "a tensor of all experts");
    }
    return corrupt("tensor '{}': the base, as GGUF, has no tensor made of '{}{}'",
                   module.first_tensor(), module.name, kWeight);
  }

  Result<Tensor> typed(Tensor tensor, std::string name, Dtype type) const {
    if (type == Dtype::kQ8_0 && tensor.row_values() % 32 != 0) type = Dtype::kF16;
    CKPT_ASSIGN(Tensor out, recode(std::move(tensor), plain_codec(context_.codecs, type)));
    out.source_name = out.name;
    out.name = std::move(name);
    out.home.clear();
    return out;
  }

  Status add_module(const AdapterModule& module, Dtype type, std::vector<Tensor>& out) {
    CKPT_ASSIGN(const ConvertedWeight weight, find(module));
    weights_.begin_module(module.first_tensor());
    CKPT_TRY(weights_.claim(*weight.before));
    const std::string& name = weight.after->name;
    if (const Tensor* norm = module.find(AdapterPart::kNewWeight)) {
      Tensor values = *norm;
      for (const ValueOp& op : weight.after->ops()) {  // 1 is added to those of Gemma, say
        CKPT_ASSIGN(values, with_op(std::move(values), op));
      }
      CKPT_ASSIGN(out.emplace_back(), typed(std::move(values), name, Dtype::kF32));
      return {};
    }
    const bool is_embedding = module.find(AdapterPart::kEmbeddingA) != nullptr;
    const Tensor* a = module.first_factor();
    const Tensor* b = module.find(is_embedding ? AdapterPart::kEmbeddingB : AdapterPart::kB);
    CKPT_TRY(check_factors(module, a, b));
    CKPT_TRY(check_rank(adapter_.config, module, *a, a->rows()));
    Tensor left = *b, right = *a;
    if (is_of_embeddings(name)) {
      CKPT_ASSIGN(right, transposed_factor(*a));
    } else {
      CKPT_ASSIGN(const std::vector<RowRun> runs, row_runs(weight));
      if (b->rows() != weight.before->rows() || a->row_values() != weight.before->row_values()) {
        return corrupt("tensors '{}' [{}] and '{}' [{}] do not fit '{}' [{}]", b->name,
                       fmt::join(b->shape, ", "), a->name, fmt::join(a->shape, ", "),
                       weight.before->name, fmt::join(weight.before->shape, ", "));
      }
      if (runs.size() > 1) CKPT_SET(left, reorder_rows(*b, runs));
      for (const ValueOp& op : weight.after->ops()) {  // columns of the weight are those of A
        if (std::holds_alternative<PermuteColumns>(op)) CKPT_SET(right, with_op(right, op));
      }
    }
    CKPT_ASSIGN(right, typed(std::move(right), name + ".lora_a", type));
    CKPT_ASSIGN(left, typed(std::move(left), name + ".lora_b", type));
    out.push_back(std::move(right));
    out.push_back(std::move(left));
    return {};
  }

  static Status check_factors(const AdapterModule& module, const Tensor* a, const Tensor* b) {
    if (a != nullptr && b != nullptr && a->shape.size() == 2 && b->shape.size() == 2 &&
        a->rows() == b->row_values()) {
      return {};
    }
    return corrupt("tensor '{}': '{}' lacks A or B, or their ranks differ", module.first_tensor(),
                   module.name);
  }

  // Where the rows of the converted weight were in the base.
  Result<std::vector<RowRun>> row_runs(const ConvertedWeight& weight) const {
    const Tensor &before = *weight.before, &after = *weight.after;
    const bool changes_values = std::ranges::any_of(after.ops(), [](const ValueOp& op) {
      return !std::holds_alternative<RoundTo>(op) && !std::holds_alternative<PermuteColumns>(op);
    });
    auto found = find_rows_of({before}, {after}, {0});
    const bool is_known =
        found && !changes_values && !before.has_scales() && after.rows() == before.rows();
    if (!is_known) return no_gguf(before.name, fmt::format("'{}'", after.name));
    std::vector<MovedRows>& moved = (*found)[0];
    std::ranges::sort(moved, {}, &MovedRows::gguf_first);
    std::vector<RowRun> out;
    for (const MovedRows& run : moved) out.push_back({run.first, run.count});
    return out;
  }

  static Failure no_gguf(const std::string& before, std::string_view after) {
    return unsupported_hint(
        kMergeInstead,
        "'{}' becomes {} by more than another order of its values; an adapter of it has no GGUF",
        before, after);
  }

  const Adapter& adapter_;
  ModelWeights weights_;
  const Context& context_;
  std::map<std::string, const Tensor*, std::less<>> by_source_;
  NameCount left_out_;
};

Result<Metadata> adapter_metadata(const Checkpoint& input, const Checkpoint& converted,
                                  double alpha, const Context& context) {
  Metadata out;
  out.append("general.architecture",
             MetaValue::text(std::string(converted.metadata.architecture())));
  out.append("general.type", MetaValue::text("adapter"));
  out.append("adapter.type", MetaValue::text("lora"));
  Checkpoint named;
  named.name = input.name;
  if (const Document* card = input.find_document("README.md")) named.set_document(*card);
  CKPT_TRY(add_general_keys(named, {}, std::nullopt, context, out));
  out.append("adapter.lora.alpha", MetaValue::f32(alpha));
  out.append("general.quantization_version", MetaValue::u32(2));
  return out;
}

Result<Checkpoint> lora_to_gguf(Checkpoint input, const OptionValues& options,
                                const Context& context) {
  const std::string base_folder = options.text("base");
  CKPT_ASSIGN(const Adapter adapter, adapter_of(input));
  if (adapter.config.method != nullptr) {
    return unsupported_hint(kMergeInstead, "an adapter of {}; llama.cpp reads adapters of LoRA",
                            adapter.config.method->name);
  }
  if (adapter.config.own_scale) {
    return unsupported_hint(kMergeInstead, "adapters of MLX have no GGUF");
  }
  CKPT_ASSIGN(Checkpoint base, context.open(base_folder));
  CKPT_ASSIGN(const Checkpoint converted,
              in(base_folder, kToGguf.apply(base, {{"outtype", "bf16"}}, context.quiet())));
  AdapterToGguf made(adapter, base, converted, context);
  CKPT_TRY(check_trained_parts(adapter, base));
  note_targets(adapter, base, context);
  note_unknown(adapter, context);
  Checkpoint out;
  out.format = "gguf";
  out.name = input.name;
  CKPT_ASSIGN(out.tensors, made.run(options.choice<Dtype>("outtype")));
  CKPT_ASSIGN(out.metadata, adapter_metadata(input, converted, adapter.config.alpha, context));
  const std::vector<std::string> lost = made.scaled_otherwise();
  if (!lost.empty()) {
    context.note(
        "lora-to-gguf: llama.cpp scales by lora_alpha / r: {} of another scale in training, the "
        "first: {}; merging with --step lora:from=ADAPTER keeps it",
        counted(lost.size(), "module"), lost[0]);
  }
  return out;
}

}  // namespace

extern constinit const Transform kLoraToGguf{"lora-to-gguf",
                                             "makes a GGUF of a LoRA adapter, as llama.cpp does",
                                             kAdapterGgufOptions, lora_to_gguf};

}  // namespace ckpt
