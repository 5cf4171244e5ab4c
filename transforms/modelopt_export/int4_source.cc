
#include <algorithm>

#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/modelopt_export/quantized_sources.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

constexpr std::string_view kPackedCodes = ".weight_packed";

bool has_packed_int4(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& each) {
    return each.name.ends_with(kPackedCodes) && plain_dtype(*each.codec) == Dtype::kI32;
  });
}

}  // namespace

Result<Checkpoint> take_int4(Checkpoint checkpoint, const ExportOptions& options,
                             const Context& context, SourceWeights& out) {
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
  CKPT_TRY(check_weights_are_read(checkpoint));
  CKPT_TRY(remove_quant_config(checkpoint));
  checkpoint.remove_document("recipe.yaml");
  return checkpoint;
}

}  // namespace ckpt
