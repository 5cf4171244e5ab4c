#include "transforms/llama_quantize/mixture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr Mixture kMixtures[] = {
#define CKPT_ROW(enumerator, number, name, base, alias, place) \
  {name, FileType::enumerator, Dtype::base, alias, place},
    CKPT_MIXTURES(CKPT_ROW)
#undef CKPT_ROW
};

bool has_any_part(std::string_view name, std::string_view parts) {
  return std::ranges::any_of(split_words(parts), [&](std::string_view part) {
    return name.find(part) != name.npos;
  });
}

bool is_like_v(Category category) {
  return category == Category::kV || category == Category::kQkv || category == Category::kKvB;
}

}  // namespace

std::span<const Mixture> all_mixtures() { return kMixtures; }

constinit const std::array<Choice, kMixtureCount + kMixtureAliasCount> kMixtureChoices = [] {
  std::array<std::optional<Choice>, kMixtureCount + kMixtureAliasCount> made;
  size_t aliases = kMixtureCount;
  for (size_t i = 0; i < kMixtureCount; ++i) {
    made[i].emplace(kMixtures[i].name, i);
    if (!kMixtures[i].alias.empty()) made[aliases++].emplace(kMixtures[i].alias, i, true);
  }
  return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{*made[kIndex]...};
  }
  (std::make_index_sequence<made.size()>());
}();

Result<Dtype> fitting_type(Dtype target, uint64_t row_values) {
  if (row_values % element_values(target) == 0) return target;
  const Dtype second = info(target).in_short_rows;
  if (second == target && element_values(target) > 32) {
    return unsupported("rows of {} values; {} needs a multiple of {}, and no type replaces it",
                       row_values, info(target).name, element_values(target));
  }
  return row_values % element_values(second) == 0 ? second : Dtype::kF16;
}

bool needs_column_weights(std::string_view name, Dtype target, const Mixture& mixture) {
  const Category category = category_of(name);
  if (category == Category::kTokenEmbedding || category == Category::kOutput) return false;
  return info(target).importance == ImportanceUse::kNeeded ||
         (target == Dtype::kQ2K && mixture.file_type == FileType::kQ2KS);
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
  // Q8_0 if the rows are not complete Q6_K blocks.
  const bool wide = facts_.arch == "falcon" || mixture_.base == Dtype::kQ8_0 ||
                    mixture_.file_type == FileType::kMxfp4Moe;
  if (wide) return Dtype::kQ8_0;
  const bool fits = row_values % element_values(mixture_.base) == 0;
  return fits ? narrow_output_type(mixture_.file_type) : Dtype::kQ6K;
}

Result<uint64_t> MixtureChooser::layer_of(const MixtureTensor& tensor, uint64_t& seen) const {
  // Several tensors may hold the experts of a layer, so counting would not give the layer.
  const uint64_t counted = seen++;
  if (facts_.experts <= 1) return counted;
  const int64_t block = block_of(tensor.name);
  if (block >= 0 && static_cast<uint64_t>(block) < facts_.layers) {
    return static_cast<uint64_t>(block);
  }
  return corrupt("tensor '{}': expected 'blk.N.' with N below the {} layers of the model",
                 tensor.name, facts_.layers);
}

bool MixtureChooser::may_change(std::string_view name, const std::vector<uint64_t>& shape) const {
  return may_quantize(name, shape) && !has_any_part(name, facts_.copied);
}

Result<Dtype> MixtureChooser::by_rule(const MixtureTensor& tensor, Category category) {
  const RuleContext context{mixture_, facts_, options_.has_imatrix};
  if (has_any_part(tensor.name, facts_.at_least_q8_0)) return Dtype::kQ8_0;
  if (category == Category::kOutput || (tied_ && category == Category::kTokenEmbedding)) {
    return output_type(tensor.shape.back());
  }
  if (mixture_.file_type == FileType::kMxfp4Moe) return mxfp4_moe_type(tensor.shape);
  if (category == Category::kTokenEmbedding) return embedding_type(context);
  if (is_two_bit_mixture(mixture_.file_type)) {
    return two_bit_type(context, category, category == Category::kDown ? down_seen_++ : 0);
  }
  if (is_like_v(category)) return value_type(context, v_seen_++, v_count_);
  switch (category) {
    case Category::kK: return key_type(context);
    case Category::kQ: return query_type(context);
    case Category::kAttentionOutput: return attention_output_type(context);
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
    default: return mixture_.base;
  }
}

std::optional<Dtype> MixtureChooser::by_option(const MixtureTensor& tensor) const {
  const Category category = category_of(tensor.name);
  if (category == Category::kOutput && options_.leave_output) return tensor.type;
  // A type for the embedding overrides a glob, but not one for the separate large table.
  const bool named_table = tensor.given && tensor.name == "per_layer_token_embd.weight";
  if (options_.token_embedding && category == Category::kTokenEmbedding && !named_table) {
    return options_.token_embedding;
  }
  return category == Category::kOutput ? options_.output : std::nullopt;
}

Result<Dtype> MixtureChooser::choose(const MixtureTensor& tensor) {
  if (!may_change(tensor.name, tensor.shape)) return tensor.type;
  if (const auto type = by_option(tensor)) return *type;
  if (!tensor.given && !is_block_type(mixture_.base)) return mixture_.base;
  Dtype type = tensor.given.value_or(mixture_.base);
  if (!tensor.given && !options_.pure) CKPT_SET(type, by_rule(tensor, category_of(tensor.name)));
  CKPT_ASSIGN(const Dtype fitting,
              in(fmt::format("tensor '{}'", tensor.name), fitting_type(type, tensor.shape.back())));
  if (fitting != type) fallbacks_.emplace_back(tensor.name);
  return fitting;
}

}  // namespace ckpt
