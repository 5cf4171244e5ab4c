// Changes of values by to-gguf: other orders of rows and columns, + 1, -exp(x) (llama.cpp
// conversion/qwen.py Qwen3NextModel, _LinearAttentionVReorderBase; llama.py permute).
//
//   value heads, 2 key heads with r = 3 each:   HF    0a 0b 0c 1a 1b 1c   grouped by key head
//                                               GGUF  0a 1a 0b 1b 0c 1c   tiled
//
// Rows move as slices of the file, columns only as values; sums are computed in the type of the
// source (F16 rounds, BF16 is F32 by then).
#include "transforms/to_gguf/values.h"

#include <algorithm>

#include "core/base/arithmetic.h"
#include "core/chunks/written_source.h"
#include "core/computed/decoded_source.h"
#include "transforms/to_gguf/model.h"

namespace ckpt {
namespace {

constexpr const char *kQueryHeads = "num_attention_heads", *kKeyHeads = "num_key_value_heads";
constexpr const char* kFolderFirst = "the steps into a folder first, and that folder as IN";

// Heads of linear attention, from config.json.
struct Heads {
  uint64_t key = 0, value = 0;                // number of heads
  uint64_t key_values = 0, value_values = 0;  // values per head

  bool reorders() const { return key > 0 && value > 0 && key != value; }
  // The old index of the head that moves to index `head`.
  uint64_t source_of(uint64_t head) const { return (head % key) * (value / key) + head / key; }
};

Failure wrong_heads(const Heads& heads) {
  return corrupt(
      "config.json: linear_num_value_heads {} is not a multiple of linear_num_key_heads {}",
      heads.value, heads.key);
}

Result<Heads> linear_heads(const Model& model) {
  Heads heads;
  CKPT_ASSIGN(heads.key, model.count("linear_num_key_heads"));
  CKPT_ASSIGN(heads.value, model.count("linear_num_value_heads"));
  CKPT_ASSIGN(heads.key_values, model.count("linear_key_head_dim"));
  CKPT_ASSIGN(heads.value_values, model.count("linear_value_head_dim"));
  if (heads.reorders() && heads.value % heads.key != 0) return wrong_heads(heads);
  return heads;
}

// Rows or columns of heads: `count` heads of `size`, after the first `kept`.
struct HeadRows {
  uint64_t kept = 0, count = 0, size = 0;
};

// Must be called before every loop over heads, because it limits their number to the tensor's size.
Status check_rows(const Tensor& tensor, uint64_t found, HeadRows heads, const char* what) {
  const auto behind = multiply(heads.count, heads.size);
  const auto expected = behind ? add(*behind, heads.kept) : behind;
  if (expected == found && heads.count <= found) return {};
  return corrupt(
      "tensor '{}' has {} {}; config.json makes it {}", tensor.name, found, what,
      expected ? fmt::to_string(*expected) : fmt::format("{} x {}", heads.count, heads.size));
}

// Applies a row edit to the stored bytes: of the tensor itself, or of the tensor that is decoded.
// If each row has its own factor or shares a scale, it edits the computed floats.
Result<Tensor> with_rows(Tensor tensor, const std::vector<RowRun>& runs) {
  if (tensor.is_stored()) return reorder_rows(tensor, runs);
  Recoded recoded = tensor.recoded();
  const bool by_row = std::ranges::any_of(
      recoded.ops, [](const ValueOp& op) { return std::holds_alternative<ScaleRows>(op); });
  auto from = reorder_rows(*recoded.from, runs);
  if (by_row || !from) {
    CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
    return reorder_rows(written, runs);
  }
  recoded.from = std::make_shared<const Tensor>(std::move(*from));
  if (recoded.block_amax != nullptr) {
    CKPT_ASSIGN(Tensor amax, reorder_rows(*recoded.block_amax, runs));
    recoded.block_amax = std::make_shared<const Tensor>(std::move(amax));
  }
  tensor.origin = std::move(recoded);
  return tensor;
}

// The rows of a 1-D tensor are its values.
Result<Tensor> reordered(Tensor tensor, const std::vector<RowRun>& runs) {
  const std::vector<uint64_t> shape = tensor.shape;
  if (shape.size() >= 2) return with_rows(std::move(tensor), runs);
  CKPT_ASSIGN(Tensor column, reshape(std::move(tensor), {shape.empty() ? 1 : shape[0], 1}));
  CKPT_ASSIGN(column, with_rows(std::move(column), runs));
  return reshape(std::move(column), shape);
}

uint64_t row_count(const Tensor& tensor) {
  const uint64_t values = tensor.values();
  return tensor.shape.size() >= 2 && values > 0 ? tensor.rows() : values;
}

// Moves value heads of `size` rows from grouped to tiled order, after the first `kept` rows.
Result<Tensor> tile_rows(Tensor tensor, const Heads& heads, uint64_t kept, uint64_t size) {
  if (!heads.reorders()) return tensor;
  CKPT_TRY(check_rows(tensor, row_count(tensor), {kept, heads.value, size}, "rows"));
  std::vector<RowRun> runs;
  if (kept > 0) runs.push_back({0, kept});
  for (uint64_t head = 0; head < heads.value; ++head) {
    runs.push_back({kept + heads.source_of(head) * size, size});
  }
  return reordered(std::move(tensor), runs);
}

Result<Tensor> tile_columns(Tensor tensor, const Heads& heads) {
  if (!heads.reorders()) return tensor;
  const uint64_t size = heads.value_values;
  if (!tensor.is_stored() && tensor.recoded().block_amax != nullptr) {
    return unsupported_hint(
        kFolderFirst, "tensor '{}': its blocks have stored maxima, which cannot change columns",
        tensor.name);
  }
  CKPT_TRY(check_rows(tensor, tensor.row_values(), {0, heads.value, size}, "columns"));
  auto index = std::make_shared<std::vector<uint32_t>>();
  for (uint64_t head = 0; head < heads.value; ++head) {
    const uint64_t first = heads.source_of(head) * size;
    for (uint64_t i = 0; i < size; ++i) index->push_back(static_cast<uint32_t>(first + i));
  }
  return with_op(std::move(tensor), PermuteColumns{std::move(index)});
}

// Moves the rotated rows of each head from pairs to halves: first the even rows, then the odd ones.
// Without M-RoPE sections the rows stay in place.
Result<Tensor> unpaired_rows(Tensor tensor, uint64_t heads, const Model& model) {
  if (member(model.rope, "mrope_section") == nullptr) return tensor;
  CKPT_ASSIGN(const uint64_t size, model.head_values());
  CKPT_TRY(check_rows(tensor, row_count(tensor), {0, heads, size}, "rows"));
  const double part = number(known(model.rope, "partial_rotary_factor")).value_or(0.5);
  if (!(part > 0) || part > 1) {
    return corrupt("config.json: partial_rotary_factor is {}; expected above 0 to 1", part);
  }
  const auto turned = static_cast<uint64_t>(static_cast<double>(size) * part);
  if (turned % 2 != 0) {
    return corrupt("config.json: {} values of a head are turned; expected an even number", turned);
  }
  std::vector<RowRun> runs;
  for (uint64_t head = 0; head < heads; ++head) {
    for (uint64_t i = 0; i < turned; ++i) {
      const uint64_t pair = i % (turned / 2);
      runs.push_back({head * size + pair * 2 + (i < turned / 2 ? 0 : 1), 1});
    }
    if (turned < size) runs.push_back({head * size + turned, size - turned});
  }
  return reordered(std::move(tensor), runs);
}

Result<Tensor> qkv_of_heads(Tensor tensor, const Model& model) {
  CKPT_ASSIGN(const uint64_t heads, model.count(kQueryHeads));
  const uint64_t rows = row_count(tensor);
  if (heads == 0 || heads > rows / 3 || rows % (3 * heads) != 0) {
    return corrupt("tensor '{}' has {} rows; expected q, k and v of {} heads", tensor.name, rows,
                   heads);
  }
  const uint64_t size = rows / heads / 3;
  std::vector<RowRun> runs;
  for (uint64_t part = 0; part < 3; ++part) {
    for (uint64_t head = 0; head < heads; ++head) runs.push_back({(head * 3 + part) * size, size});
  }
  return reordered(std::move(tensor), runs);
}

// In each group, the queries of its heads, its keys and its values follow each other.
Result<std::vector<Tensor>> split_groups(const Tensor& tensor, const Model& model) {
  CKPT_ASSIGN(const uint64_t heads, model.count(kQueryHeads));
  CKPT_ASSIGN(const uint64_t groups, model.count(kKeyHeads));
  CKPT_ASSIGN(const uint64_t size, model.head_values());
  if (groups == 0 || heads % groups != 0) {
    return corrupt("config.json: {} heads of {} groups", heads, groups);
  }
  const uint64_t queries = heads / groups * size, group = queries + 2 * size;
  CKPT_TRY(check_rows(tensor, row_count(tensor), {0, groups, group}, "rows"));
  CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
  std::vector<Tensor> out;
  const std::pair<uint64_t, uint64_t> parts[] = {
      {0, queries}, {queries, size}, {queries + size, size}};
  for (const auto& [first, rows] : parts) {
    std::vector<RowRun> runs;
    for (uint64_t at = 0; at < groups; ++at) runs.push_back({at * group + first, rows});
    CKPT_ASSIGN(out.emplace_back(), reorder_rows(written, runs));
  }
  CKPT_SET(out[0], pair_rows(std::move(out[0]), heads));
  CKPT_SET(out[1], pair_rows(std::move(out[1]), groups));
  return out;
}

Result<std::vector<Tensor>> split_parts(const Tensor& tensor, const Model& model) {
  CKPT_ASSIGN(const std::vector<uint64_t> sizes,
              numbers_of_fields(*model.family, model.config, model.family->sizes.row_parts));
  uint64_t rows = 0;
  for (const uint64_t size : sizes) rows += std::min(size, uint64_t{UINT32_MAX});
  CKPT_TRY(check_rows(tensor, row_count(tensor), {0, 1, rows}, "rows"));
  CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
  std::vector<Tensor> out;
  rows = 0;
  for (const uint64_t size : sizes) {
    CKPT_ASSIGN(out.emplace_back(), reorder_rows(written, {{rows, size}}));
    rows += size;
  }
  return out;
}

// Drops the rows up to the id of the padding token, because positions are counted from it.
Result<Tensor> counted_positions(Tensor tensor, const Model& model) {
  CKPT_ASSIGN(const uint64_t dropped, model.dropped_positions());
  const uint64_t rows = row_count(tensor);
  if (dropped < rows) return reordered(std::move(tensor), {{dropped, rows - dropped}});
  return corrupt("tensor '{}' has {} rows; config.json's pad_token_id {} leaves none of them",
                 tensor.name, rows, dropped - 1);
}

Result<Tensor> as_column(Tensor tensor) {
  const uint64_t values = tensor.values();
  return reshape(std::move(tensor), {values, 1});
}

Result<std::vector<Tensor>> split_gate_up(const Tensor& tensor) {
  const size_t rank = tensor.shape.size();
  if (rank < 2 || rank > 3 || tensor.shape[rank - 2] % 2 != 0) {
    return wrong_shape(tensor, "experts x gate and up x hidden");
  }
  const uint64_t experts = rank == 3 ? tensor.shape[0] : 1;
  const uint64_t half = tensor.shape[rank - 2] / 2;
  CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
  std::vector<Tensor> out;
  for (uint64_t part = 0; part < 2; ++part) {
    std::vector<RowRun> runs;
    for (uint64_t expert = 0; expert < experts; ++expert) {
      runs.push_back({expert * half * 2 + part * half, half});
    }
    CKPT_ASSIGN(Tensor taken, reorder_rows(written, runs));
    std::vector<uint64_t> shape = tensor.shape;
    shape[rank - 2] = half;
    CKPT_ASSIGN(taken, reshape(std::move(taken), shape));
    out.push_back(std::move(taken));
  }
  return out;
}

Result<Tensor> answer_rows(const Tensor& tensor, const Model& model) {
  CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
  std::vector<RowRun> runs;
  for (const uint64_t token : model.answers) {
    if (token >= row_count(tensor)) {
      return corrupt("tensor '{}' has {} rows; expected one for token {}", tensor.name,
                     row_count(tensor), token);
    }
    runs.push_back({token, 1});
  }
  return reorder_rows(written, runs);
}

// The rows of each key head are q, k, v, z. Returns all q, all k and all v; and all z.
Result<std::vector<Tensor>> split_qkvz(const Tensor& tensor, const Model& model) {
  CKPT_ASSIGN(const Heads heads, linear_heads(model));
  if (heads.key == 0 || heads.value % heads.key != 0) return wrong_heads(heads);
  const uint64_t values = heads.value / heads.key * heads.value_values;  // values of one key head
  const uint64_t sizes[] = {heads.key_values, heads.key_values, values, values};
  const uint64_t head_rows = 2 * heads.key_values + 2 * values;
  CKPT_TRY(check_rows(tensor, row_count(tensor), {0, heads.key, head_rows}, "rows"));
  CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
  std::vector<RowRun> kept, gate;
  uint64_t first = 0;
  for (size_t part = 0; part < std::size(sizes); first += sizes[part++]) {
    for (uint64_t head = 0; head < heads.key; ++head) {
      (part == 3 ? gate : kept).push_back({head * head_rows + first, sizes[part]});
    }
  }
  CKPT_ASSIGN(Tensor qkv, reorder_rows(written, kept));
  CKPT_ASSIGN(Tensor z, reorder_rows(written, gate));
  return std::vector<Tensor>{std::move(qkv), std::move(z)};
}

// Applies changes that depend on the heads of linear attention.
Result<Tensor> change_of_linear(Tensor tensor, Change change, const Model& model) {
  CKPT_ASSIGN(const Heads heads, linear_heads(model));
  switch (change) {
    case Change::kValueRows: return tile_rows(std::move(tensor), heads, 0, heads.value_values);
    case Change::kConvolution: CKPT_SET(tensor, squeezed(std::move(tensor))); [[fallthrough]];
    case Change::kValueRowsAfterQk:
      return tile_rows(std::move(tensor), heads, heads.key * heads.key_values * 2,
                       heads.value_values);
    case Change::kValueSingles: return tile_rows(std::move(tensor), heads, 0, 1);
    case Change::kValueColumns: return tile_columns(std::move(tensor), heads);
    case Change::kDecay:
      CKPT_SET(tensor, tile_rows(std::move(tensor), heads, 0, 1));
      return with_sum(std::move(tensor), SignedExp{});
    default: break;
  }
  CKPT_CHECK(false);
}

// Makes a norm of all groups one row per group.
Result<Tensor> rows_of_groups(Tensor tensor, const Model& model) {
  CKPT_ASSIGN(const uint64_t groups,
              number_of_fields(*model.family, model.config, model.family->sizes.norm_groups));
  const uint64_t values = tensor.values();
  if (groups != 0 && values % groups == 0) {
    return reshape(std::move(tensor), {groups, values / groups});
  }
  return corrupt("tensor '{}' has {} values; expected {} groups", tensor.name, values, groups);
}

// One factor per row: the same for all, or one for each part of the rows.
Result<std::vector<float>> factors_of_rows(const Tensor& tensor, const JsonValue& value,
                                           const Model& model) {
  std::vector<uint64_t> sizes = {tensor.rows()};
  if (value.is_array()) {
    CKPT_SET(sizes, numbers_of_fields(*model.family, model.config, model.family->sizes.row_parts));
  }
  std::vector<float> out;
  for (size_t part = 0; part < sizes.size(); ++part) {
    const JsonValue& entry = value.is_array() && part < value.size() ? value[part] : value;
    const auto factor = number(entry);
    if (!factor || sizes[part] > tensor.rows() - out.size()) break;
    out.resize(out.size() + sizes[part], static_cast<float>(*factor));
  }
  if (out.size() == tensor.rows() && value.size() <= sizes.size()) return out;
  return corrupt("tensor '{}' has {} rows; config.json's multipliers {} are not for them",
                 tensor.name, tensor.rows(), value.dump());
}

// Adds rows of zeros for tokens without an embedding.
Result<Tensor> filled_rows(const Tensor& tensor, const Model& model) {
  CKPT_ASSIGN(const uint64_t tokens, model.count("vocab_size"));
  if (tokens <= tensor.rows()) return tensor;
  CKPT_ASSIGN(const Tensor written, stored_floats(tensor));
  const uint64_t rows = tokens - tensor.rows();
  const auto values = multiply(rows, tensor.row_values());
  if (!values || rows > tensor.rows()) {
    return corrupt("tensor '{}' has {} rows; config.json has {} tokens", tensor.name,
                   tensor.rows(), tokens);
  }
  Tensor zeros = written;
  zeros.shape = {rows, tensor.row_values()};
  zeros = make_tensor(tensor.name, zeros.shape, *written.codec,
                      std::vector<std::byte>(part_size_bytes(zeros, 0)));
  CKPT_ASSIGN(Tensor out, concatenate_rows({written, zeros}));
  out.name = tensor.name;
  return out;
}

Result<Tensor> change_one(Tensor tensor, Change change, const Model& model) {
  switch (change) {
    case Change::kNone:
    case Change::kExpert:
    case Change::kStacked:
    case Change::kShards:
    case Change::kWholeNumbers:
    case Change::kProduct:
    case Change::kRowParts:
    case Change::kFirst:
    case Change::kByMixer:
    case Change::kExpertsGateUp:
    case Change::kQkvz: return tensor;
    case Change::kTokenRows: {
      CKPT_ASSIGN(const uint64_t tokens, model.count("vocab_size"));
      return tokens < tensor.rows() ? reordered(std::move(tensor), {{0, tokens}})
                                    : Result<Tensor>(std::move(tensor));
    }
    case Change::kFilledTokenRows: return filled_rows(tensor, model);
    case Change::kNegExp: return with_sum(std::move(tensor), SignedExp{});
    case Change::kSqueeze: return squeezed(std::move(tensor));
    case Change::kConvolutionRows: {
      const uint64_t kernel = tensor.row_values(), rows = row_count(tensor);
      return reshape(std::move(tensor), {1, rows, 1, kernel});
    }
    case Change::kAnswerRows: return answer_rows(tensor, model);
    case Change::kPositions: return counted_positions(std::move(tensor), model);
    case Change::kColumn: return as_column(std::move(tensor));
    case Change::kDecayColumn:
    case Change::kExpColumn:
      CKPT_SET(tensor, as_column(std::move(tensor)));
      return with_sum(std::move(tensor), SignedExp{change == Change::kExpColumn ? 1.0f : -1.0f});
    case Change::kNormGroups: return rows_of_groups(std::move(tensor), model);
    case Change::kAddOne: return with_sum(std::move(tensor), AddScalar{1.0f});
    case Change::kQkvOfHeads: return qkv_of_heads(std::move(tensor), model);
    case Change::kRopeQuery:
    case Change::kRopeKey: {
      const bool is_query = change == Change::kRopeQuery;
      CKPT_ASSIGN(const uint64_t heads, model.count(is_query ? "n_heads num_attention_heads"
                                                             : "n_kv_heads num_key_value_heads"));
      return pair_rows(std::move(tensor), heads);
    }
    case Change::kUnpairQuery:
    case Change::kUnpairKey: {
      const bool is_query = change == Change::kUnpairQuery;
      CKPT_ASSIGN(const uint64_t heads,
                  model.count(is_query ? kQueryHeads : kKeyHeads));
      return unpaired_rows(std::move(tensor), heads, model);
    }
    default: break;
  }
  return change_of_linear(std::move(tensor), change, model);
}

// Changes the tensor's codes if rows can be cut out of them.
Result<std::vector<Tensor>> changed_as_stored(Tensor tensor, Change change, const Model& model,
                                              const Codec& f32) {
  switch (change) {
    case Change::kExpertsGateUp: return split_gate_up(tensor);
    case Change::kQkvz: return split_qkvz(tensor, model);
    case Change::kQkvOfGroups: return split_groups(tensor, model);
    case Change::kRowParts: return split_parts(tensor, model);
    case Change::kAnswersAndAll: {
      CKPT_ASSIGN(Tensor answers, answer_rows(tensor, model));
      return std::vector<Tensor>{std::move(answers), std::move(tensor)};
    }
    case Change::kSwap:
    case Change::kSwapHalves:
    case Change::kSwapPairs:
    case Change::kPairs:
    case Change::kKeyValue: return change_grid(tensor, change, model, f32);
    default: break;
  }
  CKPT_ASSIGN(Tensor changed, change_one(std::move(tensor), change, model));
  return std::vector<Tensor>{std::move(changed)};
}

}  // namespace

Result<Tensor> multiplied(Tensor tensor, std::string_view fields, const Model& model) {
  for (std::string_view entry : split_words(fields)) {
    const std::string_view field = take_word(entry, '/');
    const JsonValue* value = model.field(field);
    if (value != nullptr && !entry.empty()) {
      const auto index = static_cast<size_t>(entry[0] - '0');
      if (value->is_array() && index < value->size()) value = &(*value)[index];
    }
    if (value == nullptr) continue;
    CKPT_ASSIGN(std::vector<float> factors, factors_of_rows(tensor, *value, model));
    if (std::ranges::count(factors, 1.0f) == std::ssize(factors)) continue;
    CKPT_SET(tensor, with_sum(std::move(tensor),
                              ScaleRows{std::make_shared<const std::vector<float>>(factors)}));
  }
  return tensor;
}

Result<Tensor> stored_floats(const Tensor& tensor) {
  if (tensor.is_stored() || is_plain_float(*tensor.codec)) return stored_as_written(tensor);
  return unsupported_hint(
      kFolderFirst,
      "tensor '{}': was made {} by an earlier step; it cannot be cut, stacked or turned around",
      tensor.name, tensor.codec->name);
}

Result<Tensor> pair_rows(Tensor tensor, uint64_t heads) {
  const uint64_t rows = row_count(tensor);
  if (heads == 0 || heads > rows || rows % heads != 0 || rows / heads % 2 != 0) {
    return corrupt("tensor '{}' has {} rows; expected {} heads of an even size", tensor.name, rows,
                   heads);
  }
  const uint64_t half = rows / heads / 2;
  std::vector<RowRun> runs;
  for (uint64_t head = 0; head < heads; ++head) {
    for (uint64_t i = 0; i < half; ++i) {
      runs.push_back({head * half * 2 + i, 1});
      runs.push_back({head * half * 2 + half + i, 1});
    }
  }
  return reordered(std::move(tensor), runs);
}

Result<Tensor> with_sum(Tensor tensor, ValueOp op) {
  const bool half = tensor.codec->parts[0].dtype == Dtype::kF16;
  CKPT_ASSIGN(Tensor changed, with_op(std::move(tensor), std::move(op)));
  return half ? with_op(std::move(changed), RoundTo{Dtype::kF16}) : Result<Tensor>(changed);
}

Result<Tensor> product_of(const Tensor& a, Tensor b, Codecs codecs) {
  constexpr uint64_t kMostValues = 1 << 20;
  if (a.values() != b.values()) {
    return corrupt("tensor '{}' has {} values; '{}' has {}", a.name, a.values(), b.name,
                   b.values());
  }
  const Codec& f32 = plain_codec(codecs, Dtype::kF32);
  CKPT_ASSIGN(std::vector<float> factors, read_values(a.stored_tensor(), kMostValues));
  CKPT_ASSIGN(b, reshape(std::move(b), {factors.size()}));
  return with_op(stored_as_f32(b, f32),
                 ScaleColumns{std::make_shared<const std::vector<float>>(std::move(factors))});
}

Result<Tensor> squeezed(Tensor tensor) {
  std::vector<uint64_t> shape = tensor.shape;
  std::erase(shape, 1);
  return reshape(std::move(tensor), shape);
}

Result<std::vector<Tensor>> change_values(Tensor tensor, Change change, const Model& model,
                                          Codecs codecs) {
  const Codec& f32 = plain_codec(codecs, Dtype::kF32);
  auto changed = changed_as_stored(tensor, change, model, f32);
  const bool shares_scales = tensor.is_stored() && tensor.codec->band_rows > 1;
  if (changed || !shares_scales || tensor.codec->decode == nullptr) return changed;
  return changed_as_stored(stored_as_f32(tensor, f32), change, model, f32);
}

}  // namespace ckpt
