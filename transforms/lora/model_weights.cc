#include "transforms/lora/model_weights.h"

#include <numeric>

#include "core/base/find.h"
#include "core/base/words.h"
#include "core/chunks/evaluate.h"
#include "core/computed/decoded_source.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxFactorValues = uint64_t{1} << 26;
constexpr size_t kMaxFirstWords = 16;
// Models of transformers 5.24 with Conv1D, and its modules in them.
constexpr std::string_view kConv1dModels = " clvp decision_transformer gpt2 imagegpt openai-gpt ";
constexpr std::string_view kConv1dModules = " c_attn c_fc c_proj q_attn ";

bool has_conv1d(const Checkpoint& checkpoint) {
  const auto config = read_object(checkpoint, "config.json").value_or(nullptr);
  if (config == nullptr) return false;
  const std::string* type = text_of(*config, "model_type");
  const std::string* decoder = text_of(known(*config, "decoder"), "model_type");
  return (type != nullptr && has_word(kConv1dModels, *type)) ||
         (decoder != nullptr && has_word(kConv1dModels, *decoder));
}

Result<bool> adds_anything(const LowRankUpdate& update) {
  for (const Tensor* factor : {&update.left, &update.right}) {
    CKPT_ASSIGN(const ValueError sums, measure_error(*factor, *factor, {}, UINT64_MAX));
    if (sums.signal == 0) return false;
  }
  return update.scale != 0;
}

// A weight whose columns are still to be put in order, without that; and the product that gives the
// same sum once they are.
Result<std::vector<ValueOp>> take_column_orders(Tensor& weight, LowRankUpdate& update,
                                                Codecs codecs) {
  std::vector<ValueOp> orders;
  if (update.column_norms) return orders;
  std::vector<ValueOp>& ops = std::get<Recoded>(weight.origin).ops;
  std::vector<uint32_t> from(weight.row_values());
  std::iota(from.begin(), from.end(), 0u);
  for (const ValueOp& op : ops) {
    const auto* permute = std::get_if<PermuteColumns>(&op);
    if (permute == nullptr || permute->index->size() != from.size()) continue;
    std::vector<uint32_t> next(from.size());
    for (size_t i = 0; i < next.size(); ++i) next[i] = from[(*permute->index)[i]];
    from = std::move(next);
    orders.push_back(op);
  }
  if (orders.empty() || update.right.row_values() != from.size()) return orders;
  std::erase_if(ops, [](const ValueOp& op) { return std::holds_alternative<PermuteColumns>(op); });
  CKPT_ASSIGN(const std::vector<float> right, read_values(update.right, kMaxFactorValues));
  std::vector<float> moved(right.size());
  for (size_t i = 0; i < right.size(); ++i) {
    const size_t row = i / from.size(), column = i % from.size();
    moved[row * from.size() + from[column]] = right[i];
  }
  update.right = make_f32_tensor(update.right.name, update.right.shape, moved, codecs);
  return orders;
}

}  // namespace

ModelWeights::ModelWeights(Checkpoint& checkpoint, const Context& context, bool skips_zeros)
    : checkpoint_(checkpoint),
      context_(context),
      skips_zeros_(skips_zeros),
      has_conv1d_(has_conv1d(checkpoint)),
      class_names_(class_names_of(checkpoint)) {
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const std::string& name = checkpoint.tensors[i].name;
    index_.emplace(name, i);
    if (first_words_.size() == kMaxFirstWords) continue;
    first_words_.insert(name.substr(0, name.find('.') + 1));
  }
}

Tensor* ModelWeights::find_exactly(const std::string& name) {
  const size_t* found = find_mapped(index_, name);
  return found == nullptr ? nullptr : &checkpoint_.tensors[*found];
}

Tensor* ModelWeights::find(const std::string& module, std::string_view ending) {
  for (const std::string& name : model_names(module)) {
    const std::string tensor = name + std::string(ending);
    if (Tensor* found = find_exactly(tensor)) return found;
    for (const std::string& other : file_names(tensor, class_names_)) {
      if (Tensor* found = find_exactly(other)) return found;
    }
  }
  const std::string name = module + std::string(ending);
  for (const std::string& word : first_words_) {
    if (Tensor* found = find_exactly(word + name)) return found;
  }
  return find_exactly(name.substr(name.find('.') + 1));
}

Status ModelWeights::replace(Tensor& target, const Tensor& values) {
  CKPT_ASSIGN(Tensor made, recode(values, *target.codec));
  made.name = target.name;
  made.source_name = target.source_name;
  made.home = target.home;
  target = std::move(made);
  return {};
}

bool ModelWeights::is_conv1d(std::string_view module) const {
  return has_conv1d_ && has_word(kConv1dModules, last_word(module));
}

void ModelWeights::name_again(const std::string& module, const std::string& other) {
  const Tensor* weight = find(module, kWeight);
  if (weight == nullptr) return;
  index_.emplace(other + std::string(kWeight), size_t(weight - checkpoint_.tensors.data()));
}

void ModelWeights::add(Tensor tensor) {
  index_.emplace(tensor.name, checkpoint_.tensors.size());
  checkpoint_.tensors.push_back(std::move(tensor));
}

Status ModelWeights::claim(const Tensor& weight, uint64_t first, uint64_t end) {
  std::vector<Claim>& claims = claims_[weight.name];
  for (const Claim& each : claims) {
    if (each.changer == changer_ || each.end <= first || end <= each.first) continue;
    return corrupt("tensors '{}' and '{}' both change the model's '{}'", each.changer, changer_,
                   weight.name);
  }
  claims.push_back({first, end, changer_});
  return {};
}

Status ModelWeights::merge(Tensor& weight, LowRankUpdate update) {
  CKPT_TRY(claim(weight));
  if (weight.shape.size() <= 2) return merge_claimed(weight, std::move(update));
  const uint64_t rows = weight.shape[0];
  CKPT_ASSIGN(Tensor matrix, reshape(weight, {rows, weight.values() / rows}));
  CKPT_TRY(merge_claimed(matrix, std::move(update)));
  weight.origin = std::move(matrix.origin);
  return {};
}

Status ModelWeights::merge_claimed(Tensor& weight, LowRankUpdate update) {
  ++added_;
  if (skips_zeros_ && !update.magnitudes) {
    CKPT_ASSIGN(const bool adds, adds_anything(update));
    empty_ += !adds;
    if (!adds) return {};
  }
  if (!weight.is_stored()) return merge_decoded(weight, std::move(update));
  CKPT_TRY(check_floats(weight));
  CKPT_ASSIGN(weight, with_low_rank(weight, std::move(update), context_.low_rank));
  return {};
}

Status ModelWeights::check_floats(const Tensor& weight) const {
  if (weight.is_plain_float()) return {};
  return unsupported_hint("--step dequantize before it, and --to for the type of the output",
                          "tensor '{}' is {}; adapters are added to floats", weight.name,
                          weight.codec->name);
}

Status ModelWeights::change(Tensor& weight, RowChange change) {
  CKPT_TRY(claim(weight));
  ++added_;
  const std::vector<uint64_t> shape = weight.shape;
  const uint64_t rows = shape.size() < 2 ? 1 : shape[0];
  CKPT_ASSIGN(StoredValues values,
              stored_values(weight, plain_codec(context_.codecs, Dtype::kF32)));
  CKPT_TRY(check_floats(values.values));
  CKPT_ASSIGN(Tensor matrix, reshape(std::move(values.values), {rows, weight.values() / rows}));
  CKPT_SET(matrix, with_row_change(matrix, std::move(change), context_.low_rank));
  CKPT_SET(matrix, reshape(std::move(matrix), shape));
  CKPT_ASSIGN(weight, values.back(std::move(matrix)));
  return {};
}

Status ModelWeights::merge_decoded(Tensor& weight, LowRankUpdate update) {
  const Codec& f32 = plain_codec(context_.codecs, Dtype::kF32);
  CKPT_ASSIGN(const auto orders, take_column_orders(weight, update, context_.codecs));
  CKPT_ASSIGN(StoredValues values, stored_values(weight, f32));
  CKPT_ASSIGN(Tensor merged, with_low_rank(values.values, std::move(update), context_.low_rank));
  CKPT_ASSIGN(weight, values.back(std::move(merged)));
  for (const ValueOp& order : orders) CKPT_SET(weight, with_op(std::move(weight), order));
  return {};
}

Status ModelWeights::merge_rows(Tensor& weight, uint64_t first, LowRankUpdate update) {
  const uint64_t count = update.left.rows(), end = first + count;
  CKPT_TRY(claim(weight, first, end));
  if (count == weight.rows()) {
    CKPT_ASSIGN(Tensor matrix, reshape(weight, {weight.rows(), weight.row_values()}));
    CKPT_TRY(merge_claimed(matrix, std::move(update)));
    weight.origin = std::move(matrix.origin);
    return {};
  }
  if (!weight.is_stored() || !weight.is_plain_float() || end > weight.rows()) {
    return unsupported("tensor '{}', {} [{}]: rows {} to {} cannot be changed alone", weight.name,
                       weight.codec->name, fmt::join(weight.shape, ", "), first, end);
  }
  std::vector<Tensor> pieces;
  if (first > 0) CKPT_SET(pieces.emplace_back(), take_rows(weight, 0, first));
  CKPT_ASSIGN(Tensor changed, take_rows(weight, first, count));
  CKPT_TRY(merge_claimed(changed, std::move(update)));
  pieces.push_back(std::move(changed));
  if (end < weight.rows()) {
    CKPT_ASSIGN(pieces.emplace_back(), take_rows(weight, end, weight.rows() - end));
  }
  CKPT_ASSIGN(Tensor whole, concatenate_rows(pieces));
  weight.origin = std::move(whole.origin);
  return {};
}

Failure no_effect(const NameCount& left_out) {
  if (left_out.count() == 0) return corrupt("nothing in it changes a tensor of the model");
  return unsupported_hint(
      "ckpt convert FOLDER mmproj.gguf --mmproj-only --step lora:from=ADAPTER, of the whole model",
      "{}, which the language model does not have; expected one of its modules",
      left_out.text("modules of towers are all that it changes"));
}

}  // namespace ckpt
