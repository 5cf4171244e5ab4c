// Decodes quantized weights for a merge and encodes the changed ones in the codec that they had.
#include <fmt/ranges.h>

#include "core/base/counted.h"
#include "core/computed/decoded_source.h"
#include "core/computed/merged_source.h"
#include "transforms/llama_quantize/column_weights.h"
#include "transforms/lora/into_quantized.h"

namespace ckpt {

Sources direct_sources(const Tensor& tensor) {
  Sources out;
  each_slice(tensor.stored_tensor(), [&](const Slice& slice) { out.insert(slice.source.get()); });
  return out;
}

OwnCodecs::OwnCodecs(const Context& context, Encoding how)
    : context_(context), how_(how), f32_(plain_codec(context.codecs, Dtype::kF32)) {}

Tensor OwnCodecs::as_floats(const Tensor& tensor) const {
  const auto dtype = plain_dtype(*tensor.codec);
  const bool has_values = !dtype || is_float(*dtype) || is_block_type(*dtype);
  return has_values && tensor.codec->decode != nullptr ? stored_as_f32(tensor, f32_) : tensor;
}

Result<Tensor> OwnCodecs::encoded(const Tensor& like, Tensor made) {
  const Codec& codec = *like.codec;
  if (codec.encode == nullptr) {
    const bool is_of_gguf = plain_dtype(codec).has_value();
    return unsupported_hint(
        is_of_gguf ? "--step from-gguf before it"
                   : "--step dequantize before it, and --to for the type of the output",
        "tensor '{}' is {}, which ckpt cannot encode", like.name, codec.name);
  }
  CKPT_ASSIGN(made, reshape(std::move(made), like.shape));
  made.name = like.name;
  made.source_name = like.source_name;
  made.home = like.home;
  CKPT_ASSIGN(Tensor out, recode(std::move(made), codec));
  if (is_plain_float(codec)) return out;
  const auto type = plain_dtype(codec);
  if (how_.encodes_later) {
    const bool needs_weights = type && info(*type).importance == ImportanceUse::kNeeded;
    if (is_lora_merge(out) && !needs_weights) return out;
    return unsupported_hint("ckpt convert IN FLOATS --to f32, then FLOATS as IN",
                            "tensor '{}' is {}{}; it cannot get another type in the same command",
                            like.name, codec.name,
                            needs_weights ? "" : ", and values are replaced");
  }
  types_.insert(codec.name);
  ++count_;
  CKPT_TRY(in(fmt::format("tensor '{}'", out.name), set_encoding(out)));
  return out;
}

Status OwnCodecs::set_encoding(Tensor& out) {
  const auto type = plain_dtype(*out.codec);
  if (type) CKPT_TRY(set_column_weights(out));
  const bool has_search =
      type ? info(*type).search == SearchUse::kScales
           : out.codec->scheme == Scheme::kNvfp4 && out.codec->dialect == Dialect::kModelopt;
  if (!how_.searches || !has_search) return {};
  std::get<Recoded>(out.origin).options.search = ScaleSearch::kBest;
  ++searched_;
  return {};
}

Status OwnCodecs::set_column_weights(Tensor& out) {
  const DtypeInfo& type = info(*plain_dtype(*out.codec));
  Recoded& recoded = std::get<Recoded>(out.origin);
  if (type.importance == ImportanceUse::kIgnored) return {};
  if (context_.imatrix != nullptr) {
    CKPT_ASSIGN(recoded.weights, find_column_weights(*context_.imatrix, out));
    if (recoded.weights == nullptr) without_weights_.add(out.name);
  }
  if (recoded.weights != nullptr) return {};
  lacks_weights_ = true;
  if (type.importance != ImportanceUse::kNeeded) return {};
  return misuse_hint("--imatrix FILE (llama-imatrix makes one)", "{} needs column weights, and {}",
                     type.name,
                     context_.imatrix == nullptr ? "no importance matrix was given"
                                                 : "the importance matrix has none");
}

void OwnCodecs::note(const Metadata& metadata) const {
  if (count_ > 0) {
    context_.note("lora: {} {} decoded and encoded as {} again", counted(count_, "weight"),
                  count_ == 1 ? "is" : "are", fmt::join(types_, ", "));
  }
  if (how_.searches && searched_ == 0 && !how_.encodes_later) {
    context_.note("lora: search=best has no effect: no changed weight has a type with a search");
  }
  const std::string* matrix = metadata.find_text("quantize.imatrix.file");
  if (lacks_weights_ && matrix != nullptr && context_.imatrix == nullptr) {
    context_.note(
        "lora: IN was quantized with the importance matrix '{}'; --imatrix FILE gives "
        "it to the changed weights",
        *matrix);
  }
  if (without_weights_.count() > 0) {
    context_.note("lora: {}", without_weights_.text("changed weights have no column weights in "
                                                    "the importance matrix"));
  }
}

}  // namespace ckpt
