// The choices of llama.cpp's src/llama-quant.cpp, with one function for each kind of tensor.
#include <algorithm>
#include <initializer_list>

#include "transforms/llama_quantize/mixture.h"

namespace ckpt {
namespace {

Dtype falcon_down_type(const RuleContext& context, uint64_t index) {
  const uint64_t layers = context.facts.layers;
  const bool more = gets_more_bits(index, layers);
  switch (context.mixture.file_type) {
    case FileType::kQ3KM:
      if (index < layers / 16) return Dtype::kQ5K;
      return more ? Dtype::kQ4K : Dtype::kQ3K;
    case FileType::kQ3KL: return Dtype::kQ4K;
    case FileType::kQ4KM:
      if (index < layers / 16) return Dtype::kQ6K;
      return more ? Dtype::kQ5K : Dtype::kQ4K;
    default: return context.mixture.base;
  }
}

Dtype value_type_of_mixture(const RuleContext& context, uint64_t index, uint64_t count) {
  // If heads share keys and values, these tensors are much smaller than attn_q.
  const bool shared = context.facts.heads_per_kv >= 4;
  const Dtype base = context.mixture.base;
  switch (context.mixture.file_type) {
    case FileType::kQ2K: return shared ? Dtype::kQ4K : Dtype::kQ3K;
    case FileType::kQ2KS:
    case FileType::kIq3Xs:
    case FileType::kIq3S: return shared ? Dtype::kQ4K : base;
    case FileType::kIq3Xxs:
      if (shared) return Dtype::kQ4K;
      return context.has_imatrix ? base : Dtype::kIq3S;
    case FileType::kIq3M: return Dtype::kQ4K;
    case FileType::kQ3KM: return index < 2 ? Dtype::kQ5K : Dtype::kQ4K;
    case FileType::kQ3KL: return Dtype::kQ5K;
    case FileType::kIq4Nl:
    case FileType::kIq4Xs: return shared ? Dtype::kQ5K : base;
    case FileType::kQ4KM:
    case FileType::kQ5KM: return gets_more_bits(index, count) ? Dtype::kQ6K : base;
    case FileType::kQ4KS: return index < 4 ? Dtype::kQ5K : base;
    default: return base;
  }
}

bool is_any_of(FileType type, std::initializer_list<FileType> types) {
  return std::ranges::find(types, type) != types.end();
}

}  // namespace

bool gets_more_bits(uint64_t index, uint64_t count) {
  const uint64_t eighth = count / 8;
  return index < eighth || index >= 7 * count / 8 || (index - eighth) % 3 == 2;
}

Dtype value_type(const RuleContext& context, uint64_t index, uint64_t count) {
  if (context.has_8_experts()) return Dtype::kQ8_0;
  const Dtype type = value_type_of_mixture(context, index, count);
  const bool small = type == Dtype::kQ3K || type == Dtype::kQ4K;
  return context.facts.is_70b && small ? Dtype::kQ5K : type;
}

Dtype query_type(const RuleContext& context) {
  switch (context.mixture.file_type) {
    case FileType::kIq3Xs: return Dtype::kIq3Xxs;
    case FileType::kIq3Xxs: return Dtype::kIq2S;
    default: return context.mixture.base;
  }
}

Dtype key_type(const RuleContext& context) {
  return context.has_8_experts() ? Dtype::kQ8_0 : query_type(context);
}

Dtype embedding_type(const RuleContext& context) {
  switch (context.mixture.file_type) {
    case FileType::kIq1S:
    case FileType::kIq1M:
    case FileType::kIq2Xxs:
    case FileType::kIq2Xs: return Dtype::kQ2K;
    case FileType::kIq2S:
    case FileType::kIq2M:
    case FileType::kIq3Xxs: return Dtype::kIq3S;
    case FileType::kTq1_0:
    case FileType::kTq2_0: return Dtype::kQ4K;
    default: return context.mixture.base;
  }
}

Dtype narrow_output_type(FileType file_type) {
  const bool small = is_two_bit_mixture(file_type) || file_type == FileType::kIq3Xxs;
  return small ? Dtype::kQ5K : Dtype::kQ6K;
}

bool has_feed_forward_rule(FileType file_type) { return file_type == FileType::kIq3Xs; }

Dtype feed_forward_type(const RuleContext& context, uint64_t index) {
  const uint64_t layers = context.facts.layers;
  const bool inner = index >= layers / 8 && index < 7 * layers / 8;
  return inner ? Dtype::kIq3Xxs : context.mixture.base;
}

Dtype down_type(const RuleContext& context, uint64_t index) {
  const FileType file_type = context.mixture.file_type;
  const uint64_t layers = context.facts.layers;
  const bool first_eighth = index < layers / 8;
  const bool more = gets_more_bits(index, layers);
  const Dtype base = context.mixture.base;
  // These rules apply to falcon too.
  switch (file_type) {
    case FileType::kQ2K: return Dtype::kQ3K;
    case FileType::kQ2KS: return first_eighth ? Dtype::kQ4K : base;
    case FileType::kIq3Xxs:
      if (context.has_imatrix) return base;
      return first_eighth ? Dtype::kQ4K : Dtype::kQ3K;
    case FileType::kIq3M:
      return first_eighth || (context.has_8_experts() && more) ? Dtype::kQ4K : base;
    case FileType::kIq4Nl:
    case FileType::kIq4Xs: return first_eighth && !context.has_imatrix ? Dtype::kQ5K : base;
    case FileType::kQ5KM: return more ? Dtype::kQ6K : base;
    // Requires an importance matrix, so that files made without one do not change.
    case FileType::kQ4_0: return first_eighth && context.has_imatrix ? Dtype::kQ4_1 : base;
    case FileType::kQ5_0: return first_eighth && context.has_imatrix ? Dtype::kQ5_1 : base;
    default: break;
  }
  if (context.is_falcon()) return falcon_down_type(context, index);
  switch (file_type) {
    case FileType::kQ3KM: return index < layers / 16 ? Dtype::kQ5K : Dtype::kQ4K;
    case FileType::kQ3KL: return Dtype::kQ5K;
    case FileType::kQ4KM: return more ? Dtype::kQ6K : base;
    case FileType::kQ4KS: return first_eighth ? Dtype::kQ5K : base;
    default: return base;
  }
}

Dtype attention_output_type(const RuleContext& context) {
  const FileType file_type = context.mixture.file_type;
  const Dtype base = context.mixture.base;
  if (context.is_falcon()) return file_type == FileType::kQ3KL ? Dtype::kQ4K : base;
  if (context.has_8_experts()) {
    const bool more =
        is_any_of(file_type, {FileType::kQ2K, FileType::kIq3Xxs, FileType::kIq3Xs, FileType::kIq3S,
                              FileType::kIq3M, FileType::kQ3KS, FileType::kQ3KM, FileType::kIq4Nl,
                              FileType::kIq4Xs, FileType::kQ4KS, FileType::kQ4KM});
    return more ? Dtype::kQ5K : base;
  }
  switch (file_type) {
    case FileType::kQ2K: return Dtype::kQ3K;
    case FileType::kIq3Xxs: return Dtype::kIq3S;
    case FileType::kIq3M:
    case FileType::kQ3KM: return Dtype::kQ4K;
    case FileType::kQ3KL: return Dtype::kQ5K;
    default: return base;
  }
}

bool is_two_bit_mixture(FileType file_type) {
  return is_any_of(file_type, {FileType::kIq1S, FileType::kIq1M, FileType::kIq2Xxs,
                               FileType::kIq2Xs, FileType::kIq2S, FileType::kIq2M});
}

Dtype two_bit_type(const RuleContext& context, Category category, uint64_t index) {
  const FileType file_type = context.mixture.file_type;
  const bool large = file_type == FileType::kIq2S || file_type == FileType::kIq2M;
  const bool one_bit = file_type == FileType::kIq1S || file_type == FileType::kIq1M;
  const Dtype base = context.mixture.base;
  const Dtype better = large ? Dtype::kIq3S : Dtype::kQ2K;
  switch (category) {
    case Category::kV:
    case Category::kQkv:
    case Category::kKvB:
      return context.facts.heads_per_kv >= 4 || context.facts.experts >= 4 ? Dtype::kQ4K : better;
    case Category::kK: return context.has_8_experts() ? Dtype::kQ4K : base;
    case Category::kDown: return index < context.facts.layers / 8 ? better : base;
    case Category::kAttentionOutput:
      if (context.has_8_experts()) return Dtype::kQ5K;
      if (one_bit) return Dtype::kIq2Xxs;
      return large ? Dtype::kIq3S : base;
    default: return base;
  }
}

Dtype mxfp4_moe_type(const std::vector<uint64_t>& shape) {
  const bool is_stack = shape.size() >= 3 && shape[shape.size() - 3] > 1;
  return is_stack ? Dtype::kMxfp4 : Dtype::kQ8_0;
}

}  // namespace ckpt
