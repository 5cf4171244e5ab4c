#include "transforms/llama_quantize/mixture.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/base/words.h"
#include "transforms/llama_quantize/mixture_rules.h"

namespace ckpt {
namespace {

constexpr std::array<Mixture, 34> kMixtures = {{
    {"f32", FileType::kF32, Dtype::kF32},
    {"f16", FileType::kF16, Dtype::kF16},
    {"bf16", FileType::kBF16, Dtype::kBF16},
    {"q8_0", FileType::kQ8_0, Dtype::kQ8_0},
    {"q4_0", FileType::kQ4_0, Dtype::kQ4_0},
    {"q4_1", FileType::kQ4_1, Dtype::kQ4_1},
    {"q5_0", FileType::kQ5_0, Dtype::kQ5_0},
    {"q5_1", FileType::kQ5_1, Dtype::kQ5_1},
    {"iq4_nl", FileType::kIq4Nl, Dtype::kIq4Nl},
    {"iq4_xs", FileType::kIq4Xs, Dtype::kIq4Xs},
    {"q2_k", FileType::kQ2K, Dtype::kQ2K},
    {"q2_k_s", FileType::kQ2KS, Dtype::kQ2K},
    {"q3_k_s", FileType::kQ3KS, Dtype::kQ3K},
    {"q3_k_m", FileType::kQ3KM, Dtype::kQ3K},
    {"q3_k_l", FileType::kQ3KL, Dtype::kQ3K},
    {"q4_k_s", FileType::kQ4KS, Dtype::kQ4K},
    {"q4_k_m", FileType::kQ4KM, Dtype::kQ4K},
    {"q5_k_s", FileType::kQ5KS, Dtype::kQ5K},
    {"q5_k_m", FileType::kQ5KM, Dtype::kQ5K},
    {"q6_k", FileType::kQ6K, Dtype::kQ6K},
    {"iq3_m", FileType::kIq3M, Dtype::kIq3S},
    {"iq3_s", FileType::kIq3S, Dtype::kIq3S},
    {"iq3_xs", FileType::kIq3Xs, Dtype::kIq3S},
    {"iq3_xxs", FileType::kIq3Xxs, Dtype::kIq3Xxs},
    {"iq2_m", FileType::kIq2M, Dtype::kIq2S},
    {"iq2_s", FileType::kIq2S, Dtype::kIq2Xs},
    {"iq2_xs", FileType::kIq2Xs, Dtype::kIq2Xs},
    {"iq2_xxs", FileType::kIq2Xxs, Dtype::kIq2Xxs},
    {"iq1_m", FileType::kIq1M, Dtype::kIq1M},
    {"iq1_s", FileType::kIq1S, Dtype::kIq1S},
    {"tq2_0", FileType::kTq2_0, Dtype::kTq2_0},
    {"tq1_0", FileType::kTq1_0, Dtype::kTq1_0},
    {"mxfp4_moe", FileType::kMxfp4Moe, Dtype::kMxfp4},
    {"nvfp4-ggml", FileType::kNvfp4, Dtype::kNvfp4},
}};

constexpr size_t mixture_index(std::string_view name) {
  for (size_t i = 0; i < kMixtures.size(); ++i) {
    if (kMixtures[i].name == name) return i;
  }
  return kMixtures.size();
}

bool is_token_embedding(std::string_view name) {
  return name == "token_embd.weight" || name == "per_layer_token_embd.weight";
}

bool is_like_v(Category category) {
  return category == Category::kV || category == Category::kQkv || category == Category::kKvB;
}

Result<uint64_t> expert_layer(std::string_view name, uint64_t layers) {
  const int64_t block = block_of(name);
  if (block < 0 || static_cast<uint64_t>(block) >= layers) {
    return fail(ErrorCode::kCorrupt,
                "tensor '{}': expected 'blk.N.' with N below the {} layers of the model", name,
                layers);
  }
  return static_cast<uint64_t>(block);
}

}  // namespace

std::span<const Mixture> all_mixtures() { return kMixtures; }

constinit const std::array<Choice, 38> kMixtureChoices =
    []<size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array<Choice, 38>{
      Choice(kMixtures[kIndex].name, kIndex)..., Choice("q3_k", mixture_index("q3_k_m"), true),
      Choice("q4_k", mixture_index("q4_k_m"), true), Choice("q5_k", mixture_index("q5_k_m"), true),
      Choice("mxfp4", mixture_index("mxfp4_moe"), true)};
}
(std::make_index_sequence<kMixtures.size()>());

bool is_quantized(Dtype dtype) { return dtype >= Dtype::kQ4_0; }

Result<Dtype> fitting_type(Dtype target, uint64_t row_values) {
  if (row_values % element_values(target) == 0) return target;
  Dtype second = target;
  switch (target) {
    case Dtype::kQ2K:
    case Dtype::kQ3K:
    case Dtype::kTq1_0:
    case Dtype::kTq2_0:
    case Dtype::kQ2_0:
      second = Dtype::kQ4_0;
      break;
    case Dtype::kQ4K:
      second = Dtype::kQ5_0;
      break;
    case Dtype::kQ5K:
      second = Dtype::kQ5_1;
      break;
    case Dtype::kQ6K:
      second = Dtype::kQ8_0;
      break;
    case Dtype::kIq1S:
    case Dtype::kIq1M:
    case Dtype::kIq2Xxs:
    case Dtype::kIq2Xs:
    case Dtype::kIq2S:
    case Dtype::kIq3Xxs:
    case Dtype::kIq3S:
    case Dtype::kIq4Xs:
      second = Dtype::kIq4Nl;
      break;
    default:
      if (element_values(target) > 32) {
        return fail(ErrorCode::kUnsupported,
                    "rows of {} values; {} needs a multiple of {}, and no type stands in for it",
                    row_values, info(target).name, element_values(target));
      }
      break;
  }
  return row_values % element_values(second) == 0 ? second : Dtype::kF16;
}

bool needs_column_weights(std::string_view name, Dtype target, const Mixture& mixture) {
  if (is_token_embedding(name) || name == "output.weight") return false;
  switch (target) {
    case Dtype::kIq1S:
    case Dtype::kIq1M:
    case Dtype::kIq2Xxs:
    case Dtype::kIq2Xs:
    case Dtype::kIq2S:
    case Dtype::kIq3Xxs:
      return true;
    case Dtype::kQ2K:
      return mixture.file_type == FileType::kQ2KS;
    default:
      return false;
  }
}

MixtureChooser::MixtureChooser(const Mixture& mixture, ModelFacts facts, MixtureOptions options,
                               const std::vector<std::string_view>& names)
    : mixture_(mixture), facts_(std::move(facts)), options_(options) {
  for (std::string_view name : names) {
    const Category category = category_of(name);
    if (is_like_v(category)) ++v_count_;
    if (category == Category::kOutput) tied_ = false;
  }
}

Dtype MixtureChooser::output_type(uint64_t row_values) const {
  if (options_.output) return *options_.output;
  // Where Q6_K does not fit the rows, Q8_0 stands in for it.
  const bool wide = facts_.arch == "falcon" || mixture_.base == Dtype::kQ8_0 ||
                    mixture_.file_type == FileType::kMxfp4Moe;
  if (wide) return Dtype::kQ8_0;
  const bool fits = row_values % element_values(mixture_.base) == 0;
  return fits ? narrow_output_type(mixture_.file_type) : Dtype::kQ6K;
}

Result<uint64_t> MixtureChooser::layer_of(const MixtureTensor& tensor, uint64_t& seen) const {
  // Experts of one layer may lie in several tensors, so there counting would not do.
  const uint64_t counted = seen++;
  if (facts_.experts <= 1) return counted;
  return expert_layer(tensor.name, facts_.layers);
}

Result<Dtype> MixtureChooser::by_rule(const MixtureTensor& tensor, Category category) {
  const RuleContext context{mixture_, facts_, options_.has_imatrix};
  if (category == Category::kOutput || (tied_ && category == Category::kTokenEmbedding)) {
    return output_type(tensor.shape.back());
  }
  if (mixture_.file_type == FileType::kMxfp4Moe) return mxfp4_moe_type(tensor.shape);
  if (category == Category::kTokenEmbedding) return embedding_type(context);
  if (is_two_bit_mixture(mixture_.file_type)) {
    const bool is_down = category == Category::kDown;
    const uint64_t index = is_down ? down_seen_++ : 0;
    return two_bit_type(context, category, index);
  }
  if (is_like_v(category)) return value_type(context, v_seen_++, v_count_);
  switch (category) {
    case Category::kK:
      return key_type(context);
    case Category::kQ:
      return query_type(context);
    case Category::kAttentionOutput:
      return attention_output_type(context);
    case Category::kDown: {
      CKPT_ASSIGN(const uint64_t layer, layer_of(tensor, down_seen_));
      return down_type(context, layer);
    }
    case Category::kGate:
    case Category::kUp: {
      if (!has_feed_forward_rule(mixture_.file_type)) return mixture_.base;
      uint64_t& seen = category == Category::kGate ? gate_seen_ : up_seen_;
      CKPT_ASSIGN(const uint64_t layer, layer_of(tensor, seen));
      return feed_forward_type(context, layer);
    }
    default:
      return mixture_.base;
  }
}

Result<Dtype> MixtureChooser::choose(const MixtureTensor& tensor) {
  if (!may_quantize(tensor.name, tensor.shape)) return tensor.type;
  const Category category = category_of(tensor.name);
  if (category == Category::kOutput && options_.leave_output) return tensor.type;
  // A type given for the embedding wins over a glob, except for the large table of its own.
  const bool named_table = tensor.given && tensor.name == "per_layer_token_embd.weight";
  if (options_.token_embedding && category == Category::kTokenEmbedding && !named_table) {
    return *options_.token_embedding;
  }
  if (options_.output && category == Category::kOutput) return *options_.output;
  if (!tensor.given && !is_quantized(mixture_.base)) return mixture_.base;
  Dtype type = tensor.given.value_or(mixture_.base);
  if (!tensor.given && !options_.pure) {
    CKPT_ASSIGN(type, by_rule(tensor, category));
  }
  CKPT_ASSIGN(const Dtype fitting,
              in(fmt::format("tensor '{}'", tensor.name), fitting_type(type, tensor.shape.back())));
  if (fitting != type) fallbacks_.emplace_back(tensor.name);
  return fitting;
}

}  // namespace ckpt
