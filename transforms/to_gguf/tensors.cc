// Makes the GGUF tensors in the order of writing, with types by rule (llama.cpp conversion/base.py
// prepare_tensors; experts: conversion/qwen.py Qwen2MoeModel).
//
//   rank <= 1, or "..._norm.weight"          F32
//   name that does not end in ".weight"      F32
//   rows marked Store::kF32                  F32
//   else                                     the outtype; F16 instead of Q8_0 for incomplete blocks
//
// Single experts are stacked after the last one of their layer, in the order down, gate, up; a
// rank-2 tensor with one row keeps its rank.
#include "transforms/to_gguf/tensors.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/chunks/repack.h"
#include "core/computed/decoded_source.h"
#include "core/computed/strided_source.h"
#include "models/models.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/quant_summary.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/mxfp4.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_gguf/values.h"

namespace ckpt {
namespace {

struct Expert {
  std::string name;  // the stack's name in the GGUF
  Tensor tensor;
};
// The experts by projection (its row), then by their index.
using Experts = std::map<const NameRule*, std::map<uint64_t, Expert>>;

// The parts of one tensor that were read so far, by their numbers.
struct Parts {
  uint64_t expected = 0;
  std::map<uint64_t, Tensor> found;
};

// Floats of different types, and rows that share scales with other rows of their tensor, are joined
// as F32, which represents them all exactly.
void give_one_type(std::vector<Tensor>& tensors, const Codec& f32) {
  const bool differ = std::ranges::any_of(tensors, [&](const Tensor& tensor) {
    return tensor.codec != tensors[0].codec || tensor.rows() % tensor.codec->band_rows != 0;
  });
  const bool are_decodable = std::ranges::all_of(
      tensors, [](const Tensor& tensor) { return tensor.codec->decode != nullptr; });
  if (!differ || !are_decodable) return;
  for (Tensor& tensor : tensors) tensor = stored_as_f32(tensor, f32);
}

class TensorList {
 public:
  TensorList(const Model& model, Codecs codecs) : model_(model), codecs_(codecs) {
    std::set<std::string_view> stacks;
    for (const std::span<const NameRule> list : model.family->names) {
      for (const NameRule& rule : list) {
        if (rule.change == Change::kExpert) stacks.insert(rule.to);
      }
    }
    projections_ = stacks.size();
  }

  // Adds finished tensors, before all others.
  Status add_made(std::vector<Tensor> made) {
    out_ = std::move(made);
    for (const Tensor& tensor : out_) {
      if (names_.insert(tensor.name).second) continue;
      return corrupt("tensor '{}' gives '{}', which another tensor gave already",
                     tensor.source_name, tensor.name);
    }
    return {};
  }

  Status add(NamedTensor named) {
    const std::optional<Match> match = find_name_rule(*model_.family, named.name);
    if (!match) {
      unknown_.push_back(named.tensor.name);
      return {};
    }
    const NameRule& rule = *match->rule;
    if (rule.to.empty()) return {};
    if (rule.change == Change::kExpert) return add_expert(std::move(named), *match);
    if (!rule.from_layer.empty()) {
      CKPT_ASSIGN(const uint64_t first, model_.count(rule.from_layer));
      if (number_from<uint64_t>(match->numbers[0]).value_or(first) < first) return {};
    }
    if (rule.change == Change::kWholeNumbers) return add_numbers(std::move(named.tensor), *match);
    if (rule.change == Change::kProduct) return add_product(std::move(named.tensor), *match);
    if (!rule.parts.empty()) return add_part(std::move(named), *match);
    if (rule.change == Change::kFirst && names_.contains(gguf_name(rule.to, *match))) return {};
    const std::string source = named.tensor.original_name();
    CKPT_SET(named.tensor, multiplied(std::move(named.tensor), rule.factors, model_));
    CKPT_ASSIGN(std::vector<Tensor> changed,
                change_values(std::move(named.tensor), rule.change, model_, codecs_));
    CKPT_ASSIGN(const std::string_view target, target_of(*match, model_));
    CKPT_TRY(store(std::move(changed[0]), gguf_name(target, *match), rule.store, source));
    const auto others = split_words(rule.second);
    for (size_t i = 1; i < changed.size(); ++i) {
      CKPT_TRY(store(std::move(changed[i]), gguf_name(others[i - 1], *match), rule.store, source));
    }
    return {};
  }

  Status add_rope_factors() {
    CKPT_ASSIGN(const std::vector<RopeFactors> list, rope_factors(model_));
    for (const RopeFactors& factors : list) {
      out_.push_back(
          make_f32_tensor(factors.name, {factors.values.size()}, factors.values, codecs_));
      names_.insert(factors.name);
    }
    return {};
  }

  Result<std::vector<Tensor>> finish() {
    if (!unknown_.empty()) {
      return unsupported_hint("ckpt doctor IN --for llama.cpp, which may know how to rename them",
                              "{} tensors that family {} does not have: {}", unknown_.size(),
                              model_.family->name, first_names(summarize_names(unknown_), 8));
    }
    if (!experts_.empty()) {
      const auto& [layer, experts] = *experts_.begin();
      uint64_t seen = 0;
      for (const auto& [rule, list] : experts) seen += list.size();
      CKPT_ASSIGN(const uint64_t count, model_.count(kExpertCounts));
      return corrupt("layer {} has {} tensors of experts; expected {} x {}", layer, seen, count,
                     projections_);
    }
    for (const auto& [name, factor] : factors_) {
      return corrupt("tensor '{}' without the other one that makes '{}'", factor.name, name);
    }
    for (const auto& [name, parts] : parts_) {
      return corrupt("{} of {} tensors that make '{}' are there", parts.found.size(),
                     parts.expected, name);
    }
    return std::move(out_);
  }

 private:
  Status add_expert(NamedTensor named, const Match& match) {
    CKPT_ASSIGN(const uint64_t count, model_.count(kExpertCounts));
    CKPT_ASSIGN(const uint64_t number, expert_number(match, named.tensor.name, count));
    Experts& layer = experts_[match.numbers[0]];
    const std::string name = gguf_name(match.rule->to, match);
    const auto [entry, is_new] =
        layer[match.rule].try_emplace(number, Expert{name, std::move(named.tensor)});
    if (!is_new) {
      return corrupt("tensor '{}': expert {} comes twice", entry->second.tensor.name, number);
    }
    uint64_t seen = 0;
    for (const auto& [rule, list] : layer) seen += list.size();
    if (seen < count * projections_) return {};
    const Experts whole_layer = std::move(layer);
    experts_.erase(match.numbers[0]);
    return stack(whole_layer);
  }

  // The lower half of each number.
  Status add_numbers(Tensor tensor, const Match& match) {
    const std::vector<uint64_t> shape = tensor.shape;
    const std::string source = tensor.original_name();
    if (plain_dtype(*tensor.codec) == Dtype::kI64) {
      const uint64_t values = tensor.values();
      tensor.codec = &plain_codec(codecs_, Dtype::kI32);
      tensor.shape = {values, 2};
      CKPT_SET(tensor, take_grid(tensor, {0, {values, 1, 1}, {2, 1, 1}}));
      tensor.shape = shape;
    }
    tensor.name = gguf_name(match.rule->to, match);
    tensor.source_name = source;
    names_.insert(tensor.name);
    out_.push_back(std::move(tensor));
    return {};
  }

  // Multiplies F32 values, as the converter does.
  Status add_product(Tensor tensor, const Match& match) {
    const std::string name = gguf_name(match.rule->to, match);
    const auto [first, is_new] = factors_.try_emplace(name, tensor);
    if (is_new) return {};
    CKPT_ASSIGN(Tensor product, product_of(first->second, std::move(tensor), codecs_));
    factors_.erase(first);
    const std::string source = product.original_name();
    return store(std::move(product), name, match.rule->store, source);
  }

  // Parts come in any order.
  Status add_part(NamedTensor named, const Match& match) {
    const NameRule& rule = *match.rule;
    CKPT_ASSIGN(const uint64_t count, number_of_fields(*model_.family, model_.config, rule.parts));
    CKPT_ASSIGN(const uint64_t number, part_number(match, named.tensor.name, count));
    const std::string name = gguf_name(rule.to, match);
    auto& [expected, found] = parts_[name];
    expected = count;
    CKPT_ASSIGN(found[number], stored_floats(named.tensor));
    if (found.size() < count) return {};
    std::vector<Tensor> parts;
    for (auto& [index, part] : found) parts.push_back(std::move(part));
    parts_.erase(name);
    give_one_type(parts, plain_codec(codecs_, Dtype::kF32));
    CKPT_ASSIGN(Tensor whole, rule.change == Change::kStacked ? ckpt::stack(parts)
                                                              : concatenate_rows(parts));
    return store(std::move(whole), name, rule.store, parts[0].name);
  }

  // Stacks the experts of a layer, projection by projection in the order of the table's rows.
  Status stack(const Experts& experts) {
    for (const auto& [rule, list] : experts) {
      std::vector<Tensor> tensors;
      for (const auto& [number, expert] : list) {
        CKPT_ASSIGN(tensors.emplace_back(), stored_floats(expert.tensor));
      }
      give_one_type(tensors, plain_codec(codecs_, Dtype::kF32));
      CKPT_ASSIGN(Tensor stacked, ckpt::stack(tensors));
      CKPT_TRY(store(std::move(stacked), list.begin()->second.name, rule->store, tensors[0].name));
    }
    return {};
  }

  Status store(Tensor tensor, std::string name, Store store, std::string_view source) {
    if (!names_.insert(name).second) {
      return corrupt("tensor '{}' gives '{}', which another tensor gave already", source, name);
    }
    const Codec& codec = codec_for(tensor, name, store);
    const bool may_keep = model_.keeps_codes && plain_dtype(codec) != Dtype::kF32;
    std::optional<Tensor> kept = may_keep ? with_kept_codes(tensor, codecs_) : std::nullopt;
    if (!kept) CKPT_SET(kept, encode_as(std::move(tensor), codec));
    kept->name = std::move(name);
    kept->source_name = source;
    out_.push_back(std::move(*kept));
    return {};
  }

  const Codec& codec_for(const Tensor& tensor, const std::string& name, Store store) const {
    const bool small = tensor.shape.size() <= 1 || name.ends_with("_norm.weight") ||
                       !name.ends_with(".weight") || store == Store::kF32;
    if (small) return plain_codec(codecs_, Dtype::kF32);
    const Codec& wanted =
        plain_codec(codecs_, is_mxfp4(tensor) ? Dtype::kMxfp4 : type_of_matrix(tensor));
    return tensor.row_values() % wanted.block_values == 0 ? wanted
                                                          : plain_codec(codecs_, Dtype::kF16);
  }

  Dtype type_of_matrix(const Tensor& tensor) const {
    const Dtype by_option = dtype_of(model_.out_type);
    if (!model_.family->traits.text.has(ModelTrait::kKeepsTypes)) return by_option;
    if (tensor.has_scales() || is_unpacked(tensor)) return Dtype::kQ8_0;
    const Dtype own = plain_dtype(*tensor.codec).value_or(by_option);
    return own == Dtype::kF32 || own == Dtype::kBF16 ? own : by_option;
  }

  const Model& model_;
  Codecs codecs_;
  uint64_t projections_ = 0;  // per expert
  std::vector<Tensor> out_;
  std::set<std::string> names_;
  std::vector<std::string> unknown_;
  std::map<std::string, Experts> experts_;  // by layer
  std::map<std::string, Parts> parts_;  // by the name of what they make
  std::map<std::string, Tensor> factors_;  // the first of two, by the name of their product
};

bool is_first(const NamedTensor& named, const Model& model) {
  if (is_mxfp4(named.tensor)) return true;
  const std::optional<Match> match = find_name_rule(*model.family, named.name);
  return match && match->rule->change == Change::kWholeNumbers;
}

// Stacks of experts stay in the order of their names.
uint64_t layer_to_sort_by(const NamedTensor* named) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = named->name.find(kLayers);
  if (at == std::string::npos || named->tensor.shape.size() > 2) return 0;
  return number_after(std::string_view(named->name).substr(at), kLayers).value_or(0);
}

// Tensors before all others: those of whole numbers, or those of MXFP4.
std::vector<const NamedTensor*> first_tensors(const std::vector<NamedTensor>& tensors,
                                              bool are_mxfp4, const Model& model) {
  std::vector<const NamedTensor*> out;
  for (const NamedTensor& named : tensors) {
    if (is_first(named, model) && is_mxfp4(named.tensor) == are_mxfp4) out.push_back(&named);
  }
  std::ranges::stable_sort(out, {}, layer_to_sort_by);
  return out;
}

}  // namespace

Result<Tensor> encode_as(Tensor tensor, const Codec& target) {
  if (find_repack(*tensor.codec, target) != nullptr) return repack(std::move(tensor), target);
  const Dtype to = target.parts[0].dtype;
  const bool rounds = (to == Dtype::kF16 || to == Dtype::kBF16) && tensor.codec != &target;
  CKPT_ASSIGN(Tensor out, recode(std::move(tensor), target));
  return rounds ? with_op(std::move(out), RoundTo{to}) : Result<Tensor>(std::move(out));
}

Result<std::vector<Tensor>> make_gguf_tensors(std::vector<NamedTensor> tensors, const Model& model,
                                              Codecs codecs) {
  TensorList list(model, codecs);
  CKPT_ASSIGN(std::vector<Tensor> packed, make_nvfp4_tensors(tensors, model, codecs));
  CKPT_TRY(list.add_made(std::move(packed)));
  for (const bool are_mxfp4 : {false, true}) {
    for (const NamedTensor* named : first_tensors(tensors, are_mxfp4, model)) {
      CKPT_TRY(list.add(*named));
    }
  }
  CKPT_TRY(list.add_rope_factors());
  for (NamedTensor& named : tensors) {
    if (is_nvfp4(named.tensor, codecs) || is_first(named, model)) continue;
    CKPT_TRY(list.add(std::move(named)));
  }
  return list.finish();
}

}  // namespace ckpt
