// Merges adapters that were trained with more or fewer tokens than the model has. People add tokens
// to the tokenizer and resize the embeddings and the head to its size before PEFT wraps the model;
// a model with spare rows shrinks by that. The adapter holds all rows, or those that the model
// lacks:
//
//   X.weight, X.modules_to_save.weight       all rows, trained
//   X.base_layer.weight                      all rows, before the product or trained rows are added
//   X.token_adapter.trainable_tokens_delta   the rows in trainable_token_indices, which have to
//                                            include all new rows
//
// config.json gets the new vocab_size, and the adapter's tokenizer takes the place of the model's.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "core/chunks/evaluate.h"
#include "core/model/document_names.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "transforms/lora/model_weights.h"

namespace ckpt {
namespace {

constexpr std::string_view kVocabularySize = "vocab_size";
constexpr uint64_t kMaxTokenValues = uint64_t{1} << 28;

std::optional<uint64_t> vocabulary_size(const Checkpoint& model) {
  const auto config = read_object(model, "config.json").value_or(nullptr);
  if (config == nullptr) return std::nullopt;
  for (const char* part : {"text_config", ""}) {
    const JsonValue* fields = *part == '\0' ? config.get() : known(*config, part);
    const JsonValue* size = known(fields, kVocabularySize);
    if (size != nullptr && size->is_number_unsigned()) return size->get<uint64_t>();
  }
  return std::nullopt;
}

// Converts `values` to the type of `weight`. Fails: kUnsupported: `weight` is not stored floats.
Result<Tensor> in_type_of(const Tensor& weight, const Tensor& values) {
  if (!weight.is_stored() || !weight.is_plain_float()) {
    return unsupported("tensor '{}': '{}' is {}; expected stored floats", values.name, weight.name,
                       weight.codec->name);
  }
  if (values.codec == weight.codec) return values;
  CKPT_ASSIGN(const std::vector<float> floats, read_values(values, kMaxTokenValues));
  std::vector<std::byte> bytes(values.values() * size_bytes(weight.codec->parts[0].dtype));
  const std::array<std::span<std::byte>, 1> parts = {bytes};
  weight.codec->encode({floats, floats.size()}, {}, parts);
  return make_tensor(values.name, values.shape, *weight.codec, std::move(bytes));
}

class GrownVocabulary {
 public:
  GrownVocabulary(const Adapter& adapter, Checkpoint& model, ModelWeights& weights,
                  const Context& context)
      : adapter_(adapter), model_(model), weights_(weights), context_(context) {}

  Status run() {
    const auto size = vocabulary_size(model_);
    if (!size) return {};
    old_rows_ = *size;
    for (const AdapterModule& module : adapter_.modules) {
      Tensor* weight = weights_.find(module.name, kWeight);
      if (weight == nullptr || weight->shape.size() != 2 || weight->rows() != old_rows_) continue;
      CKPT_ASSIGN(const auto grown, grown_rows(module, *weight));
      if (!grown) continue;
      rows_ = std::max(rows_, grown->rows());
      CKPT_TRY(weights_.replace(*weight, *grown));
      CKPT_TRY(grow_bias(module, grown->rows()));
    }
    if (rows_ == 0) return {};
    CKPT_TRY(check_rows());
    CKPT_TRY(write_size());
    take_tokenizer();
    return {};
  }

 private:
  // The resized weight if the adapter has another number of rows for it than the model; else
  // nullopt.
  Result<std::optional<Tensor>> grown_rows(const AdapterModule& module,
                                           const Tensor& weight) const {
    for (const AdapterPart part : {AdapterPart::kBaseCopy, AdapterPart::kNewWeight}) {
      const Tensor* rows = module.find(part);
      if (rows == nullptr || rows->shape.size() != 2) continue;
      const bool is_grown = rows->rows() != old_rows_ && rows->row_values() == weight.row_values();
      return is_grown ? std::optional(*rows) : std::nullopt;
    }
    const Tensor* tokens = module.find(AdapterPart::kTokens);
    if (tokens == nullptr) return std::nullopt;
    return with_tokens(module, weight, *tokens);
  }

  Result<std::optional<Tensor>> with_tokens(const AdapterModule& module, const Tensor& weight,
                                            const Tensor& tokens) const {
    const auto list = std::ranges::find_if(
        adapter_.config.token_rows, [&](const auto& each) { return module.owns_rows(each.first); });
    if (list == adapter_.config.token_rows.end()) return std::nullopt;
    const std::vector<uint64_t>& listed = list->second;
    if (listed.size() != tokens.rows() || std::ranges::max(listed) < old_rows_) return std::nullopt;
    CKPT_ASSIGN(const Tensor typed, in_type_of(weight, tokens));
    std::vector<Tensor> pieces = {weight};
    for (uint64_t row = old_rows_; row <= std::ranges::max(listed); ++row) {
      const auto at = std::ranges::find(listed, row);
      if (at == listed.end()) {
        return corrupt_hint("saving the adapter again with save_embedding_layers=True",
                            "tensor '{}': trainable_token_indices lists row {}, but neither the "
                            "adapter nor the model, which has {} rows, has row {}",
                            tokens.name, std::ranges::max(listed), old_rows_, row);
      }
      CKPT_ASSIGN(pieces.emplace_back(), take_rows(typed, uint64_t(at - listed.begin()), 1));
    }
    CKPT_ASSIGN(Tensor out, concatenate_rows(pieces));
    return out;
  }

  // The head of Phi-2 has a bias, with a value for each row.
  Status grow_bias(const AdapterModule& module, uint64_t rows) {
    Tensor* const bias = weights_.find(module.name, ".bias");
    if (bias == nullptr) return {};
    const Tensor* grown = module.find(AdapterPart::kNewBias);
    if (grown != nullptr && grown->shape == std::vector{rows}) {
      return weights_.replace(*bias, *grown);
    }
    return corrupt("{} rows are for the vocabulary; '{}' keeps {}, because no tensor replaces it",
                   rows, bias->name, bias->values());
  }

  // Fails unless the embeddings and a separate head both have the new number of rows.
  Status check_rows() const {
    const Tensor* const head = weights_.find("lm_head", kWeight);
    for (const Tensor* weight : {model_.find_embeddings(), head}) {
      if (weight == nullptr || weight->rows() == rows_) continue;
      return corrupt("{} rows are for the vocabulary; '{}' keeps {}, because no tensor replaces it",
                     rows_, weight->name, weight->rows());
    }
    return {};
  }

  Status write_size() const {
    CKPT_ASSIGN(auto config, read_json(model_, "config.json"));
    for (JsonText* part : {&config->root, config->root.find("text_config")}) {
      if (part == nullptr || part->find(kVocabularySize) == nullptr) continue;
      part->set(kVocabularySize, JsonText::number(rows_));
    }
    write_json(model_, "config.json", *config);
    return {};
  }

  void take_tokenizer() const {
    const std::string folder = std::filesystem::path(adapter_.path).parent_path().string();
    const std::string growth =
        fmt::format("lora: the vocabulary {} from {} to {} rows",
                    rows_ > old_rows_ ? "grows" : "shrinks", old_rows_, rows_);
    auto source = context_.open(folder);
    std::vector<std::string> taken;
    for (const Document& each : source ? source->documents : std::vector<Document>()) {
      using enum DocumentKind;
      const auto is_of = [&](DocumentKind kind) { return is_document_of(kind, each.path); };
      if (!is_of(kVocabulary) && !is_of(kTokenizer) && !is_of(kTemplate)) continue;
      model_.set_document(each);
      taken.push_back(each.path);
    }
    if (taken.empty()) {
      context_.note(
          "{}; {} has no tokenizer, and the model's tokenizer {} "
          "(--step tokenizer:from=DIR takes another one)",
          growth, folder, rows_ > old_rows_ ? "lacks the new tokens" : "stays");
    } else {
      context_.note("{}, with the adapter's tokenizer ({})", growth, fmt::join(taken, ", "));
    }
  }

  const Adapter& adapter_;
  Checkpoint& model_;
  ModelWeights& weights_;
  const Context& context_;
  uint64_t old_rows_ = 0, rows_ = 0;
};

Result<std::vector<uint64_t>> trained_rows(const AdapterConfig& config, const AdapterModule& module,
                                           const Tensor& values) {
  for (const auto& [name, rows] : config.token_rows) {
    if (!module.owns_rows(name)) continue;
    if (rows.size() == values.rows()) return rows;
    return corrupt("tensor '{}': {} rows; trainable_token_indices lists {}", values.name,
                   values.rows(), rows.size());
  }
  return corrupt("tensor '{}': trainable_token_indices does not list '{}'", values.name,
                 module.name);
}

}  // namespace

Status replace_token_rows(const Adapter& adapter, const AdapterModule& module, const Tensor& values,
                          Tensor& weight) {
  CKPT_ASSIGN(const std::vector<uint64_t> rows, trained_rows(adapter.config, module, values));
  CKPT_ASSIGN(const Tensor typed, in_type_of(weight, values));
  std::map<uint64_t, uint64_t> by_row;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < weight.rows() && by_row.emplace(rows[i], i).second) continue;
    return corrupt("trainable_token_indices lists {}; expected each row once, below {}", rows[i],
                   weight.rows());
  }
  std::vector<Tensor> pieces;
  uint64_t next = 0;
  const auto keep_until = [&](uint64_t end) -> Status {
    if (end == next) return {};
    CKPT_ASSIGN(pieces.emplace_back(), take_rows(weight, next, end - next));
    return {};
  };
  for (const auto& [row, from] : by_row) {
    CKPT_TRY(keep_until(row));
    CKPT_ASSIGN(pieces.emplace_back(), take_rows(typed, from, 1));
    next = row + 1;
  }
  CKPT_TRY(keep_until(weight.rows()));
  CKPT_ASSIGN(Tensor made, concatenate_rows(pieces));
  CKPT_ASSIGN(made, reshape(std::move(made), weight.shape));
  weight.origin = made.origin;
  return {};
}

Status grow_vocabulary(const Adapter& adapter, Checkpoint& model, ModelWeights& weights,
                       const Context& context) {
  return GrownVocabulary(adapter, model, weights, context).run();
}

}  // namespace ckpt
