// lora: adds a LoRA adapter to the weights it was trained for, as PEFT's merge_and_unload() does.
//
//   lora:from=ADAPTER                 W + s B A, in float, rounded once (core/model/low_rank.h)
//   lora:from=ADAPTER,scale=0.5       half of it
//
// The weights stay described: what is added is computed while they are read, so later steps and
// any output take them. Several steps merge several adapters, one after the other. Quantized
// weights are decoded and encoded again (into_quantized.h).
//
//   lora_A, lora_B                    W + D             D = s B A; of [in, out] weights D^T
//   lora_embedding_A, _B              W + round(D^T)
//   lora_magnitude_vector             (m / |V|) V       V = W + D, norms of rows; columns of
//                                                       embeddings
//   lora_B.bias                       bias + s b
//   whole weights and biases          replace the model's, in its type; other parameters too,
//                                     of modules_to_save
//   trainable_tokens_delta            replaces rows
//   X.experts.lora_A                  all experts of a layer (transforms/lora/stacked_experts.h)
//   hada_w1_a, oft_R, ...             other methods of PEFT (transforms/lora/methods.h)
//
// A model whose head is its embeddings gets a head of its own where the adapter changes one of the
// two: PEFT would change both, which the adapter was not trained for.
#include <algorithm>

#include "core/chunks/evaluate.h"
#include "core/chunks/written_source.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/lora/adapter.h"
#include "transforms/lora/into_quantized.h"
#include "transforms/lora/methods.h"
#include "transforms/lora/model_weights.h"
#include "transforms/lora/stacked_experts.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {
namespace {

constexpr double kMaxLoraScale = 1e6;
constexpr Choice kColumnOrders[] = {
    {"rank-major", ColumnOrder::kRankMajor},
    {"grouped-by-expert", ColumnOrder::kGroupedByExpert},
};
constexpr Choice kLoraSearches[] = {{"none", false}, {"best", true}};
constexpr Choice kLoraTakes[] = {{"model", false}, {"adapter", true}};
constexpr Choice kLoraEncodings[] = {{"now", false}, {"later", true}};
constexpr OptionRule kLoraOptions[] = {
    option::path("from", "DIR|FILE.gguf",
                 "the adapter's folder, or its GGUF; without it, the adapter in IN"),
    option::choice("take", kLoraTakes, "the merged model, or the adapter in IN as PEFT writes it")
        .by_default("model"),
    option::number("scale", "NUMBER", "multiply what is added by this",
                   {-kMaxLoraScale, kMaxLoraScale})
        .by_default("1"),
    option::choice("columns", kColumnOrders,
                   "order of lora_B's columns of stacked experts, where the file does not tell"),
    option::choice("search", kLoraSearches,
                   "into quantized weights: search for better blocks of NVFP4 and K-quants of 4 to "
                   "6 bits")
        .by_default("none"),
    option::choice("encode", kLoraEncodings,
                   "into a GGUF: in the types of its weights, or later in those of --to")
        .by_default("now"),
    option::path("base", "DIR", "into a GGUF: the folder that it was made from, for its names"),
};

constexpr std::string_view kTie = "tie_word_embeddings";

class LoraMerge {
 public:
  LoraMerge(Checkpoint& checkpoint, const StackedExperts& given, const Context& context,
            bool skips_zeros)
      : checkpoint_(checkpoint),
        given_(given),
        adapter_(given.adapter),
        context_(context),
        weights_(checkpoint, context, skips_zeros),
        has_towers_(std::ranges::any_of(
            checkpoint.tensors, [](const Tensor& tensor) { return is_of_tower(tensor.name); })) {}

  Status run() {
    CKPT_TRY(check_trained_parts(adapter_, checkpoint_));
    note_targets(adapter_, checkpoint_, context_);
    if (!has_gguf_names()) CKPT_TRY(grow_vocabulary(adapter_, checkpoint_, weights_, context_));
    CKPT_ASSIGN(const AdapterModule* const copied_head, find_copied_head());
    if (copied_head == nullptr) CKPT_TRY(untie_where_needed());
    const bool keeps_tie = adapter_.config.keeps_tie && is_tied() && !has_head();
    const AdapterModule* tied_head = nullptr;
    for (const AdapterModule& module : adapter_.modules) {
      CKPT_TRY(check_module(adapter_, module));
      if (&module == copied_head || is_of_absent_tower(module)) continue;
      if (keeps_tie && is_of_head(module.name)) {
        tied_head = &module;
        continue;
      }
      weights_.begin_module(module.first_tensor());
      CKPT_TRY(apply(module));
    }
    if (tied_head != nullptr) CKPT_TRY(apply_to_embeddings(*tied_head));
    if (weights_.added() + replaced_ + adapter_.pruned.count() == 0) return no_effect(absent_);
    if (adapter_.pruned.count() > 0) {
      context_.note("lora: all ranks of {} are pruned (the first: '{}')",
                    counted(adapter_.pruned.count(), "module"), adapter_.pruned.first());
    }
    note_unknown_order();
    if (absent_.count() > 0) {
      context_.note("lora: {}, because the model has no tower",
                    absent_.text("modules of towers are left out"));
    }
    if (adapter_.config.alpha == 0 && !adapter_.config.own_scale && !has_gguf_names()) {
      context_.note("lora: {} is 0, by which all products are multiplied",
                    adapter_.config.method == nullptr ? "lora_alpha" : "alpha");
    }
    return use_classifier(adapter_, checkpoint_, context_);
  }

  std::string summary() const {
    const AdapterMethod* method = adapter_.config.method;
    const bool adds = method == nullptr || method->product != nullptr;
    std::string out = adds ? counted(weights_.added(), "product") + " added"
                           : counted(weights_.added(), "tensor") + " changed";
    if (method != nullptr) out += fmt::format(" ({})", method->name);
    if (weights_.empty() > 0) out += fmt::format(", {} of zeros, without effect", weights_.empty());
    if (replaced_ > 0) out += fmt::format(", {} replaced", counted(replaced_, "tensor"));
    if (given_.factor != 1 && replaced_ > 0) out += ", the latter unscaled";
    return out;
  }

 private:
  // The tensor of the model that `part` changes.
  Result<Tensor*> target(const AdapterModule& module, const Tensor& part, std::string_view ending) {
    if (Tensor* found = weights_.find(module.name, ending)) return found;
    return corrupt("tensor '{}': the model has no '{}{}'", part.name, module.name, ending);
  }

  // Whether the module belongs to a tower, and the model is a language model alone.
  bool is_of_absent_tower(const AdapterModule& module) {
    if (has_towers_ || !is_of_tower(module.name + std::string(kWeight))) return false;
    absent_.add(module.name);
    return true;
  }

  // Unsloth wrote the columns of lora_B in another order without saying so until late 2026.
  void note_unknown_order() const {
    const bool is_by_unsloth = adapter_.config.base.find("unsloth") != std::string::npos;
    const bool is_declared =
        given_.order != ColumnOrder::kFromFile || !adapter_.config.b_layout.empty();
    if (!is_by_unsloth || is_declared ||
        std::ranges::none_of(adapter_.modules, is_stack_of_experts)) {
      return;
    }
    context_.note(
        "lora: experts trained with unsloth before September 2026 need columns=grouped-by-expert; "
        "the adapter does not say, so PEFT's order was used");
  }

  // ---- tied embeddings -------------------------------------------------------------------------

  bool has_gguf_names() const { return checkpoint_.format == "gguf"; }

  bool is_tied() const {
    if (has_gguf_names()) return true;  // what has no head
    const Document* config = checkpoint_.find_document("config.json");
    const auto json = config == nullptr ? nullptr : config->values().value_or(nullptr);
    if (json == nullptr) return false;
    const JsonValue& classes = list_in(*json, "architectures");
    const std::string name =
        !classes.empty() && classes[0].is_string() ? classes[0].get<std::string>() : "";
    const bool is_bare = name.ends_with("Model") && !name.ends_with("LMHeadModel");
    return !is_bare && !name.ends_with("Classification") && head_ties(*json).is_anywhere();
  }

  bool has_head() const { return checkpoint_.has_head(); }

  Tensor* embeddings() {
    const Tensor* found = checkpoint_.find_embeddings();
    return found == nullptr ? nullptr : weights_.find_exactly(found->name);
  }

  bool is_head(const AdapterModule& module) const {
    return is_of_head(module.name) || last_word(module.name) == "unembed_tokens";
  }

  bool is_embeddings(const AdapterModule& module) const {
    return is_of_embeddings(module.name);
  }

  const AdapterModule* find_module(bool (LoraMerge::*is_one)(const AdapterModule&) const) const {
    const auto found = std::ranges::find_if(
        adapter_.modules, [&](const AdapterModule& each) { return (this->*is_one)(each); });
    return found == adapter_.modules.end() ? nullptr : &*found;
  }

  // PEFT saves the tied head of a model with new tokens a second time. Returns the head if all that
  // the adapter has for it equals what it has for the embeddings; else nullptr.
  Result<const AdapterModule*> find_copied_head() const {
    const AdapterModule* const head = find_module(&LoraMerge::is_head);
    const AdapterModule* const other = find_module(&LoraMerge::is_embeddings);
    const bool may_be_copy = head != nullptr && other != nullptr && is_tied() && !has_head();
    if (!may_be_copy) return nullptr;
    for (const auto& [part, values] : head->parts) {
      const Tensor* const same = other->find(part);
      if (same == nullptr || same->shape != values->shape) return nullptr;
      CKPT_ASSIGN(const ValueError sums, measure_error(*values, *same, {}, UINT64_MAX));
      if (sums.noise != 0) return nullptr;
    }
    return head;
  }

  // Whether the module is the head or the embeddings, and gets values of its own.
  bool changes_tied(const AdapterModule& module) const {
    if (!is_head(module) && !is_embeddings(module)) return false;
    return std::ranges::any_of(module.parts, [](const auto& part) {
      return part.first != AdapterPart::kTokens && part.first != AdapterPart::kBaseCopy &&
             part.first != AdapterPart::kBaseBias;
    });
  }

  // Applies the adapter of a tied head to the embeddings. As in PEFT, the product of the head's
  // matrices is added after that of the embeddings. If the adapter replaces both the head and the
  // embeddings, the new values must be equal.
  Status apply_to_embeddings(const AdapterModule& head) {
    const AdapterModule* const own = find_module(&LoraMerge::is_embeddings);
    weights_.begin_module((own != nullptr ? *own : head).first_tensor());
    if (const Tensor* weight = embeddings()) {
      weights_.name_again(module_of(weight->name), head.name);
    }
    const Tensor* values = head.find(AdapterPart::kNewWeight);
    if (values == nullptr) return apply(head);
    const Tensor* other = own != nullptr ? own->find(AdapterPart::kNewWeight) : nullptr;
    if (other == nullptr) return apply(head);
    CKPT_TRY(check_shape_of(*values, *other));
    CKPT_ASSIGN(const ValueError sums, measure_error(*values, *other, {}, UINT64_MAX));
    if (sums.noise == 0) return {};
    return corrupt("tensor '{}': ensure_weight_tying is true, and the embeddings have other values",
                   values->name);
  }

  Status untie_where_needed() {
    if (adapter_.config.keeps_tie || !is_tied() || has_head()) return {};
    const bool changes_one = std::ranges::any_of(
        adapter_.modules, [&](const AdapterModule& each) { return changes_tied(each); });
    const Tensor* const shared = embeddings();
    if (!changes_one || shared == nullptr) return {};
    Tensor head = *shared;
    const bool is_inner = head.name.starts_with("language_model.model.");
    head.name = has_gguf_names() ? "output.weight"
                : is_inner       ? "language_model.lm_head.weight"
                                 : "lm_head.weight";
    head.source_name = shared->original_name();
    weights_.add(std::move(head));
    context_.note(
        "lora: the model's head was its embeddings; the adapter changes one of them, "
        "so the head becomes a tensor of its own{}",
        has_gguf_names() ? "" : " (tie_word_embeddings: false)");
    if (has_gguf_names()) return {};
    CKPT_ASSIGN(auto config, read_json(checkpoint_, "config.json"));
    config->root.set(kTie, JsonText::boolean(false));
    JsonText* text = config->root.find("text_config");
    if (text != nullptr && text->find(kTie) != nullptr) text->set(kTie, JsonText::boolean(false));
    write_json(checkpoint_, "config.json", *config);
    return {};
  }

  // ---- modules ---------------------------------------------------------------------------------

  Status apply(const AdapterModule& module) {
    if (const Tensor* copy = module.find(AdapterPart::kBaseCopy)) {
      CKPT_ASSIGN(Tensor* const weight, target(module, *copy, kWeight));
      CKPT_TRY(check_shape_of(*copy, *weight));
    }
    if (module.find(AdapterPart::kFactor) != nullptr) {
      CKPT_TRY(merge_method(module, {adapter_, given_.factor, context_}, weights_));
    } else if (is_stack_of_experts(module)) {
      CKPT_TRY(merge_stack(module, given_, weights_));
    } else if (module.find(AdapterPart::kA) != nullptr ||
               module.find(AdapterPart::kTurnedA) != nullptr) {
      CKPT_TRY(add_linear(module));
    }
    if (module.find(AdapterPart::kEmbeddingA) != nullptr) CKPT_TRY(add_embedding(module));
    if (const Tensor* weight = module.find(AdapterPart::kNewWeight)) {
      CKPT_TRY(replace(module, *weight, kWeight));
    }
    if (const Tensor* bias = module.find(AdapterPart::kNewBias)) {
      CKPT_TRY(replace(module, *bias, ".bias"));
    }
    if (const Tensor* parameter = module.find(AdapterPart::kNewTensor)) {
      CKPT_TRY(replace(module, *parameter, ""));
    }
    if (const Tensor* bias = module.find(AdapterPart::kBBias)) CKPT_TRY(add_bias(module, *bias));
    if (const Tensor* rows = module.find(AdapterPart::kTokens)) {
      CKPT_ASSIGN(Tensor* const weight, target(module, *rows, kWeight));
      CKPT_TRY(weights_.claim(*weight));
      CKPT_TRY(replace_token_rows(adapter_, module, *rows, *weight));
      ++replaced_;
    }
    return {};
  }

  Status check_matrix(const Tensor& tensor) const {
    if (tensor.shape.size() == 2) return {};
    return unsupported("tensor '{}': shape [{}]; expected a matrix", tensor.name,
                       fmt::join(tensor.shape, ", "));
  }

  LowRankUpdate update_of(const AdapterModule& module, Tensor left, Tensor right) const {
    LowRankUpdate out{std::move(left), std::move(right)};
    out.scale = adapter_.config.scale_of(module.name, given_.factor);
    out.rounds_delta = adapter_.config.has_parameter(module.name);
    if (const Tensor* magnitude = module.find(AdapterPart::kMagnitude)) out.magnitudes = *magnitude;
    return out;
  }

  Status merge(Tensor& weight, LowRankUpdate update) {
    CKPT_TRY(check_matrix(weight));
    return weights_.merge(weight, std::move(update));
  }

  // The projections of linear attention, trained apart and stored as one: queries and keys have
  // as many rows, values the rest. False: the module is not one of them.
  Result<bool> add_to_joined(const AdapterModule& module, LowRankUpdate& update) {
    const std::string_view word = last_word(module.name);
    const ProjectionGroup* group = group_with(word);
    if (group == nullptr || group->role != ProjectionRole::kDeltaHeads) return false;
    const std::string front = module.name.substr(0, module.name.size() - word.size());
    Tensor* joined = weights_.find(front + std::string(group->joined), kWeight);
    if (joined == nullptr) return false;
    const uint64_t rows = update.left.rows(), all = joined->rows();
    const bool is_last = word == group->parts().back();
    const uint64_t first = is_last ? all - rows : word == group->parts()[0] ? 0 : rows;
    if (rows > all || first + rows > all) return other_shape(update.left, *joined);
    CKPT_TRY(weights_.merge_rows(*joined, first, std::move(update)));
    return true;
  }

  Status add_linear(const AdapterModule& module) {
    const bool is_turned = module.find(AdapterPart::kTurnedA) != nullptr;
    const Tensor& a = *module.find(is_turned ? AdapterPart::kTurnedA : AdapterPart::kA);
    const Tensor& b = *module.find(is_turned ? AdapterPart::kTurnedB : AdapterPart::kB);
    if (has_gguf_names() && a.shape.size() == 3) return add_to_experts(module, a, b);
    if (a.shape.size() > 2) return add_convolution(module, a, b);
    CKPT_TRY(check_matrix(a));
    CKPT_TRY(check_matrix(b));
    Tensor left = b, right = a;
    if (is_turned && is_embeddings(module)) {
      std::swap(left, right);  // MLX adds A B to embeddings, and the transpose to linear layers
    } else if (is_turned) {
      CKPT_ASSIGN(left, transposed_factor(b));
      CKPT_ASSIGN(right, transposed_factor(a));
    }
    CKPT_TRY(check_rank(adapter_.config, module, a, right.rows()));
    const bool is_conv1d =
        weights_.is_conv1d(module.name) && !adapter_.config.has_parameter(module.name);
    if (is_conv1d) {
      CKPT_ASSIGN(Tensor turned, transposed_factor(left));
      CKPT_ASSIGN(left, transposed_factor(right));
      right = std::move(turned);
    }
    LowRankUpdate update = update_of(module, std::move(left), std::move(right));
    update.column_norms = is_conv1d && update.magnitudes.has_value();
    if (module.rows) {
      Tensor* const stack = weights_.find_exactly(module.rows->first);
      return weights_.merge_rows(*stack, module.rows->second, std::move(update));
    }
    if (Tensor* weight = weights_.find(module.name, kWeight)) {
      return merge(*weight, std::move(update));
    }
    if (!update.magnitudes) {
      CKPT_ASSIGN(const bool is_joined, add_to_joined(module, update));
      if (is_joined) return {};
      CKPT_ASSIGN(const bool is_expert, merge_expert_into_stack(module.name, update, weights_));
      if (is_expert) return {};
    }
    CKPT_TRY(target(module, a, kWeight));
    return {};
  }

  // Treats a convolution [out, in, k, k] with A [r, in, k, k] and B [out, r, 1, 1] as a product of
  // matrices. The norms that PEFT computes for DoRA are then those of rows, as for linear layers.
  Status add_convolution(const AdapterModule& module, const Tensor& a, const Tensor& b) {
    CKPT_ASSIGN(Tensor* const weight, target(module, a, kWeight));
    const auto flat = [](const Tensor& tensor) {
      const uint64_t rows = tensor.shape[0];
      return reshape(tensor, {rows, tensor.values() / rows});
    };
    CKPT_ASSIGN(Tensor right, flat(a));
    CKPT_ASSIGN(Tensor left, flat(b));
    CKPT_TRY(check_rank(adapter_.config, module, a, right.rows()));
    const bool fits = weight->shape.size() == a.shape.size() && left.row_values() == right.rows() &&
                      left.rows() == weight->shape[0] &&
                      right.row_values() == weight->values() / weight->shape[0];
    if (!fits) return other_shape(a, *weight);
    LowRankUpdate update = update_of(module, std::move(left), std::move(right));
    if (update.magnitudes) {
      CKPT_SET(update.magnitudes, reshape(*update.magnitudes, {update.magnitudes->values()}));
    }
    return weights_.merge(*weight, std::move(update));
  }

  // A product an expert, as GGUF has them: [experts, r, in] and [experts, out, r].
  Status add_to_experts(const AdapterModule& module, const Tensor& a, const Tensor& b) {
    CKPT_ASSIGN(Tensor* const weight, target(module, a, kWeight));
    const std::vector<uint64_t> made = {a.shape[0], b.shape[1], a.shape[2]};
    if (weight->shape != made) {
      return corrupt("tensors '{}' and '{}' are for [{}]; '{}' has [{}]", a.name, b.name,
                     fmt::join(made, ", "), weight->name, fmt::join(weight->shape, ", "));
    }
    for (uint64_t expert = 0; expert < made[0]; ++expert) {
      CKPT_ASSIGN(Tensor left, take_rows(b, expert * made[1], made[1]));
      CKPT_ASSIGN(Tensor right, take_rows(a, expert * a.shape[1], a.shape[1]));
      LowRankUpdate update = update_of(module, std::move(left), std::move(right));
      CKPT_TRY(weights_.merge_rows(*weight, expert * made[1], std::move(update)));
    }
    return {};
  }

  Status add_embedding(const AdapterModule& module) {
    const Tensor& a = *module.find(AdapterPart::kEmbeddingA);
    const Tensor& b = *module.find(AdapterPart::kEmbeddingB);
    CKPT_TRY(check_matrix(a));
    CKPT_TRY(check_matrix(b));
    CKPT_TRY(check_rank(adapter_.config, module, a, a.rows()));
    CKPT_ASSIGN(Tensor* const weight, target(module, a, kWeight));
    CKPT_ASSIGN(Tensor left, transposed_factor(a));
    CKPT_ASSIGN(Tensor right, transposed_factor(b));
    LowRankUpdate update = update_of(module, std::move(left), std::move(right));
    update.column_norms = update.magnitudes.has_value();
    update.rounds_delta = !update.column_norms;
    return merge(*weight, std::move(update));
  }

  // Adds the bias as a product of rank 1: one times the adapter's bias.
  Status add_bias(const AdapterModule& module, const Tensor& bias) {
    CKPT_ASSIGN(Tensor* const target, this->target(module, bias, ".bias"));
    CKPT_TRY(check_shape_of(bias, *target));
    CKPT_ASSIGN(Tensor right, reshape(bias, {1, bias.values()}));
    LowRankUpdate update{make_f32_tensor("one", {1, 1}, {1.0f}, context_.codecs), std::move(right)};
    update.scale = adapter_.config.scale_of(module.name, given_.factor);
    return weights_.merge(*target, std::move(update));
  }

  Status check_shape_of(const Tensor& ours, const Tensor& theirs) const {
    return ours.shape == theirs.shape ? Status() : other_shape(ours, theirs);
  }

  Status replace(const AdapterModule& module, const Tensor& values, std::string_view ending) {
    if (ending.empty() && weights_.find(module.name, ending) == nullptr) {
      CKPT_ASSIGN(const auto experts, rows_of_experts(module.name, values, weights_));
      for (const ExpertRows& each : experts) CKPT_TRY(replace(*each.weight, each.values));
      if (!experts.empty()) return {};
    }
    if (weights_.find(module.name, ending) == nullptr && is_of_classifier(adapter_, module)) {
      return add_to_classifier(module, values, ending);
    }
    CKPT_ASSIGN(Tensor* const target, this->target(module, values, ending));
    return replace(*target, values);
  }

  // Adds a tensor of the new head in the type of the embeddings, or in its own if they are encoded.
  Status add_to_classifier(const AdapterModule& module, const Tensor& values,
                           std::string_view ending) {
    const Tensor* like = embeddings();
    const bool has_type = like != nullptr && like->is_plain_float();
    CKPT_ASSIGN(Tensor made, recode(values, has_type ? *like->codec : *values.codec));
    made.name = module.name + std::string(ending);
    made.home.clear();  // goes into a file of the model, not into one called as the adapter's
    weights_.add(std::move(made));
    ++replaced_;
    return {};
  }

  Status replace(Tensor& target, const Tensor& values) {
    CKPT_TRY(check_shape_of(values, target));
    CKPT_TRY(weights_.claim(target));
    CKPT_TRY(weights_.replace(target, values));
    ++replaced_;
    return {};
  }

  Checkpoint& checkpoint_;
  const StackedExperts& given_;
  const Adapter& adapter_;
  const Context& context_;
  ModelWeights weights_;
  bool has_towers_;
  uint64_t replaced_ = 0;
  NameCount absent_;  // modules of towers that the model does not have
};

// Weights that earlier steps compute: an adapter is added to what those steps would have written,
// so that one command equals two. Weights that no adapter changes stay as the steps left them.
class WrittenWeights {
 public:
  // Makes all tensors Stored.
  explicit WrittenWeights(Checkpoint& checkpoint) {
    for (Tensor& tensor : checkpoint.tensors) {
      if (tensor.is_stored()) continue;
      Tensor written = stored_as_written(tensor);
      computed_.emplace(first_source(written), tensor);
      tensor = std::move(written);
    }
  }
  // Gives tensors that still have these values the form that they had before.
  void give_back(Checkpoint& checkpoint) const {
    for (Tensor& tensor : checkpoint.tensors) {
      if (!tensor.is_stored()) continue;
      const Tensor* found = find_mapped(computed_, first_source(tensor));
      if (found != nullptr && found->shape == tensor.shape) tensor.origin = found->origin;
    }
  }

 private:
  // nullptr: the first part is not in one place.
  static const ByteSource* first_source(const Tensor& tensor) {
    const std::vector<std::vector<Slice>>& parts = tensor.stored().parts;
    return parts.empty() || parts[0].size() != 1 ? nullptr : parts[0][0].source.get();
  }

  std::map<const ByteSource*, Tensor> computed_;  // by the source of the first part
};

Result<Checkpoint> merge_lora(Checkpoint checkpoint, const OptionValues& options,
                              const Context& context) {
  const bool is_inner = !options.has("from");
  const std::string folder = is_inner ? "the adapter in IN" : options.text("from");
  CKPT_TRY(check_base_of_lora(checkpoint, options));
  Adapter adapter;
  if (is_inner) {
    CKPT_ASSIGN(Checkpoint taken, take_inner_adapter(checkpoint));
    if (options.choice<bool>("take")) return taken;
    CKPT_SET(adapter, adapter_of(taken));
  } else if (options.has("take")) {
    return misuse("take has no effect with from: it is about the adapter in IN");
  } else {
    CKPT_SET(adapter, read_adapter(folder, context));
  }
  const bool has_gguf_names = !adapter.architecture.empty();
  CKPT_TRY(in(folder, check_adapter_for_base(adapter, checkpoint, options)));
  const bool stays_coded = checkpoint.format == "gguf" || holds_codes(checkpoint);
  const auto merge = [&](Checkpoint& floats) -> Status {
    Adapter renamed;
    const bool renames = has_gguf_names && floats.format != "gguf";
    if (renames) CKPT_SET(renamed, in(folder, adapter_for_folder(adapter, floats, context)));
    const StackedExperts given{
        renames ? renamed : adapter, options.number("scale").value_or(1),
        options.find_choice<ColumnOrder>("columns").value_or(ColumnOrder::kFromFile)};
    LoraMerge one(floats, given, context, stays_coded);
    CKPT_TRY(in(adapter.path, one.run()));
    context.note("lora: {}: {}", folder, one.summary());
    return {};
  };
  const QuantizedMerge how{context, options.text("base"),
                           {options.choice<bool>("search"), options.choice<bool>("encode")},
                           has_gguf_names};
  const WrittenWeights written(checkpoint);
  if (checkpoint.format == "gguf") {
    CKPT_ASSIGN(checkpoint, merge_into_gguf(std::move(checkpoint), merge, how));
  } else if (holds_codes(checkpoint)) {
    CKPT_ASSIGN(checkpoint, merge_into_codes(std::move(checkpoint), merge, how));
  } else {
    CKPT_TRY(merge(checkpoint));
  }
  written.give_back(checkpoint);
  note_unknown(adapter, context);
  return checkpoint;
}

}  // namespace

extern constinit const Transform kLora{"lora", "merges a LoRA or other adapter into the weights",
                                       kLoraOptions, merge_lora};

}  // namespace ckpt
