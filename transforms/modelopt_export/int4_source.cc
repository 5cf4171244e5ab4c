#include "transforms/modelopt_export/int4_source.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/chunks/evaluate.h"
#include "transforms/hf/quant_config.h"
#include "transforms/hf/quant_statement.h"
#include "transforms/modelopt_export/mxfp4_cast.h"
#include "transforms/packed/packed.h"

namespace ckpt {
namespace {

constexpr std::string_view kPackedCodes = ".weight_packed";
constexpr uint64_t kInt4Block = 16;
// Of all weights together, and at least of each.
constexpr uint64_t kMeasuredValues = uint64_t{1} << 30, kLeastMeasured = uint64_t{1} << 12;

bool has_packed_int4(const Checkpoint& checkpoint) {
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(), [](const Tensor& each) {
    return each.name.ends_with(kPackedCodes) && plain_dtype(*each.codec) == Dtype::kI32;
  });
}

struct Int4Error {
  ValueError squares;
  uint64_t blocks = 0, exact_blocks = 0, values = 0;
  void add(const Int4Error& other) {
    squares.signal += other.squares.signal;
    squares.noise += other.squares.noise;
    blocks += other.blocks;
    exact_blocks += other.exact_blocks;
    values += other.values;
  }
};

Int4Error compare_blocks(const std::vector<float>& made, const std::vector<float>& codes) {
  Int4Error out;
  for (size_t at = 0; at + kInt4Block <= codes.size(); at += kInt4Block) {
    double noise = 0;
    for (size_t i = at; i < at + kInt4Block; ++i) {
      const double difference = static_cast<double>(made[i]) - static_cast<double>(codes[i]);
      noise += difference * difference;
      out.squares.signal += static_cast<double>(codes[i]) * static_cast<double>(codes[i]);
    }
    out.squares.noise += noise;
    ++out.blocks;
    out.exact_blocks += noise == 0 ? 1 : 0;
  }
  out.values = codes.size();
  return out;
}

Result<Int4Error> measured(const Tensor& made, const Tensor& codes, uint64_t limit_values) {
  CKPT_ASSIGN(const RowSample after, sample_rows(made, limit_values));
  CKPT_ASSIGN(const RowSample before, sample_rows(codes, limit_values));
  CKPT_CHECK(after.rows == before.rows);  // both are cut at any row
  return compare_blocks(after.values, before.values);
}

}  // namespace

Result<Checkpoint> take_int4(Checkpoint checkpoint, const ExportOptions& options,
                             const Context& context, Int4Weights& out) {
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (statement.method != "compressed-tensors" || !has_packed_int4(checkpoint)) return checkpoint;
  CKPT_TRY(check_said_cache(statement, options));
  CKPT_ASSIGN(checkpoint, join_packed_weights(std::move(checkpoint), context.codecs));
  const Codec& bf16 = plain_codec(context.codecs, Dtype::kBF16);
  for (Tensor& tensor : checkpoint.tensors) {
    if (!is_made_of_words(tensor)) continue;
    out.emplace(tensor.name, tensor);
    CKPT_ASSIGN(tensor, recode(std::move(tensor), bf16));
    CKPT_ASSIGN(tensor, with_op(std::move(tensor), RoundTo{Dtype::kBF16}));
  }
  CKPT_TRY(remove_quant_config(checkpoint));
  std::erase_if(checkpoint.documents,
                [](const Document& document) { return document.path == "recipe.yaml"; });
  return checkpoint;
}

Status note_int4_error(Checkpoint& checkpoint, const Int4Weights& weights, const Context& context) {
  if (weights.empty()) return {};
  const uint64_t limit =
      std::clamp(kMeasuredValues / weights.size(), kLeastMeasured, kSampleValues);
  Int4Error all;
  uint64_t exact = 0, kept = 0, total = 0;
  std::vector<std::pair<double, std::string>> errors;
  for (Tensor& tensor : checkpoint.tensors) {
    const auto found = weights.find(tensor.name);
    if (found == weights.end()) continue;
    if (tensor.is_plain_float()) {
      ++kept;
      continue;
    }
    CKPT_ASSIGN(const Int4Error error, measured(tensor, found->second, limit));
    all.add(error);
    total += tensor.values();
    exact += error.exact_blocks == error.blocks ? 1 : 0;
    errors.emplace_back(error.squares.relative(), tensor.name);
    Recoded made = tensor.recoded();
    made.second_error = error.squares.relative();
    tensor.origin = std::move(made);
  }
  if (kept > 0)
    context.note(fmt::format("{} weights of packed integers stay unquantized, as BF16", kept));
  if (errors.empty()) return {};
  std::stable_sort(errors.begin(), errors.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> worst;
  for (size_t i = 0; i < std::min<size_t>(errors.size(), 3); ++i) {
    worst.push_back(fmt::format("{:.2e} of '{}'", errors[i].first, errors[i].second));
  }
  context.note(fmt::format(
      "{} weights of packed integers were decoded and rounded a second time: relative squared "
      "error {:.2e}, at most {}; {} weights and {} of {} blocks of 16 keep their values{}",
      errors.size(), all.squares.relative(), fmt::join(worst, ", "), exact, all.exact_blocks,
      all.blocks,
      all.values == total ? "" : fmt::format(", measured on {} of {} values", all.values, total)));
  context.note("--json has the error of each; ckpt diff --values IN OUT measures them whole");
  return {};
}

}  // namespace ckpt
