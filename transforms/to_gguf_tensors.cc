// Tensors under their GGUF names, in the order they are written, with the type the rules give
// (llama.cpp conversion/base.py prepare_tensors; experts: conversion/qwen.py Qwen2MoeModel).
//
//   rank <= 1, or "..._norm.weight"          F32
//   name that does not end in ".weight"      F32
//   rows marked Store::kF32                  F32
//   else                                     the outtype; Q8_0 where rows are no whole blocks: F16
//
// What a reader would get wrong: separate experts are stacked when the last one of their layer was
// read, and then come down, gate, up; a rank-2 tensor of one row keeps its rank.
#include <algorithm>
#include <map>
#include <set>

#include "core/arithmetic.h"
#include "transforms/to_gguf.h"

namespace ckpt {
namespace {

constexpr size_t kNamesShown = 5;

struct Match {
  const NameRule* rule = nullptr;
  std::string_view suffix;           // ".weight", ".bias" or ""
  std::vector<std::string> numbers;  // what each {} stood for
};

// Holds `name` against a row's stem, in which each {} stands for digits.
bool matches(std::string_view pattern, std::string_view name, std::vector<std::string>& numbers) {
  numbers.clear();
  while (!pattern.empty()) {
    if (pattern.starts_with("{}")) {
      const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0) return false;
      numbers.emplace_back(name.substr(0, digits));
      pattern.remove_prefix(2);
      name.remove_prefix(digits);
      continue;
    }
    const std::string_view text = pattern.substr(0, pattern.find("{}"));
    if (!name.starts_with(text)) return false;
    pattern.remove_prefix(text.size());
    name.remove_prefix(text.size());
  }
  return name.empty();
}

std::optional<Match> find_rule(const Family& family, std::string_view name) {
  Match match;
  for (const std::string_view suffix :
       {std::string_view(), std::string_view(".weight"), std::string_view(".bias")}) {
    if (!name.ends_with(suffix)) continue;
    const std::string_view stem = name.substr(0, name.size() - suffix.size());
    for (const std::span<const NameRule> list : family.names) {
      for (const NameRule& rule : list) {
        if (!matches(rule.from, stem, match.numbers)) continue;
        match.rule = &rule;
        match.suffix = suffix;
        return match;
      }
    }
  }
  return std::nullopt;
}

std::string fill_in(std::string_view pattern, const std::vector<std::string>& numbers) {
  std::string out(pattern);
  const size_t at = out.find("{}");
  if (at != std::string::npos && !numbers.empty()) out.replace(at, 2, numbers[0]);
  return out;
}

// Exact targets have their suffix already.
std::string gguf_name(std::string_view target, const Match& match) {
  std::string name = fill_in(target, match.numbers);
  if (!name.ends_with(".weight") && !name.ends_with(".bias")) name += match.suffix;
  return name;
}

struct Expert {
  std::string name;  // GGUF's, of the stack
  Tensor tensor;
};
// By projection (the row), then by number of the expert.
using Experts = std::map<const NameRule*, std::map<uint64_t, Expert>>;

class TensorList {
 public:
  TensorList(const Model& model, Codecs codecs) : model_(model), codecs_(codecs) {}

  Status add(NamedTensor named);
  Status add_rope_factors();
  Result<std::vector<Tensor>> finish();

 private:
  Status add_expert(NamedTensor named, const Match& match);
  Status stack(const Experts& experts);
  Status store(Tensor tensor, std::string name, Store store, std::string_view source);
  const Codec& codec_for(const Tensor& tensor, const std::string& name, Store store) const;

  const Model& model_;
  Codecs codecs_;
  std::vector<Tensor> out_;
  std::set<std::string> names_;
  std::vector<std::string> unknown_;
  std::map<std::string, Experts> experts_;  // by layer
};

const Codec& TensorList::codec_for(const Tensor& tensor, const std::string& name,
                                   Store store) const {
  const bool small = tensor.shape.size() <= 1 || name.ends_with("_norm.weight") ||
                     !name.ends_with(".weight") || store == Store::kF32;
  if (small) return plain_codec(codecs_, Dtype::kF32);
  const Codec* wanted = find_codec(codecs_, codec_name(model_.out_type));
  CKPT_CHECK(wanted != nullptr);
  if (tensor.row_values() % wanted->block_values != 0) return plain_codec(codecs_, Dtype::kF16);
  return *wanted;
}

// Values pass through the outtype even when a later step stores them in a third type: that is what
// converting first and quantising the file would have done.
Result<Tensor> encode(Tensor tensor, const Codec& target) {
  const Dtype to = target.parts[0].dtype;
  const bool rounds = (to == Dtype::kF16 || to == Dtype::kBF16) && tensor.codec != &target;
  if (rounds) {
    CKPT_ASSIGN(tensor, with_op(std::move(tensor), RoundTo{to}));
  }
  return recode(std::move(tensor), target);
}

Status TensorList::store(Tensor tensor, std::string name, Store store, std::string_view source) {
  if (!names_.insert(name).second) {
    return fail(ErrorCode::kCorrupt, "tensor '{}' gives '{}', which another tensor gave already",
                source, name);
  }
  const Codec& codec = codec_for(tensor, name, store);
  CKPT_ASSIGN(Tensor encoded, encode(std::move(tensor), codec));
  encoded.name = std::move(name);
  encoded.source_name = source;
  out_.push_back(std::move(encoded));
  return {};
}

Status TensorList::add(NamedTensor named) {
  const std::optional<Match> match = find_rule(*model_.family, named.name);
  if (!match) {
    unknown_.push_back(named.tensor.name);
    return {};
  }
  const NameRule& rule = *match->rule;
  if (rule.change == Change::kExpert) return add_expert(std::move(named), *match);
  const std::string source =
      named.tensor.source_name.empty() ? named.tensor.name : named.tensor.source_name;
  CKPT_ASSIGN(std::vector<Tensor> changed,
              change_values(std::move(named.tensor), rule.change, model_));
  CKPT_TRY(store(std::move(changed[0]), gguf_name(rule.to, *match), rule.store, source));
  if (changed.size() == 1) return {};
  return store(std::move(changed[1]), gguf_name(rule.second, *match), rule.store, source);
}

Status TensorList::add_expert(NamedTensor named, const Match& match) {
  CKPT_ASSIGN(const uint64_t count, model_.count("num_local_experts num_experts"));
  const std::string& digits = match.numbers[1];
  const uint64_t number = digits.size() > 9 ? UINT64_MAX : std::stoull(digits);
  if (number >= count) {
    return fail(ErrorCode::kCorrupt, "tensor '{}' is expert {}; config.json has {} experts",
                named.tensor.name, digits, count);
  }
  Experts& layer = experts_[match.numbers[0]];
  const std::string name = gguf_name(match.rule->to, match);
  layer[match.rule].insert({number, Expert{name, std::move(named.tensor)}});
  uint64_t seen = 0;
  for (const auto& [rule, list] : layer) seen += list.size();
  if (seen < count * 3) return {};
  const Experts whole_layer = std::move(layer);
  experts_.erase(match.numbers[0]);
  return stack(whole_layer);
}

// Rows of the table are down, gate, up: the order in which they are written.
Status TensorList::stack(const Experts& experts) {
  for (const auto& [rule, list] : experts) {
    std::vector<Tensor> tensors;
    for (const auto& [number, expert] : list) {
      if (!expert.tensor.is_stored()) {
        return fail(ErrorCode::kUnsupported,
                    "tensor '{}': experts that are computed cannot be "
                    "stacked",
                    expert.tensor.name);
      }
      if (expert.tensor.shape != list.begin()->second.tensor.shape) {
        return fail(ErrorCode::kCorrupt, "tensor '{}' has shape [{}]; the first expert has [{}]",
                    expert.tensor.name, fmt::join(expert.tensor.shape, ", "),
                    fmt::join(list.begin()->second.tensor.shape, ", "));
      }
      tensors.push_back(expert.tensor);
    }
    CKPT_ASSIGN(Tensor stacked, concatenate_rows(tensors));
    std::vector<uint64_t> shape = tensors[0].shape;
    shape.insert(shape.begin(), tensors.size());
    CKPT_ASSIGN(stacked, reshape(std::move(stacked), shape));
    CKPT_TRY(store(std::move(stacked), list.begin()->second.name, rule->store, tensors[0].name));
  }
  return {};
}

Status TensorList::add_rope_factors() {
  CKPT_ASSIGN(const std::vector<float> factors, rope_factors(model_));
  if (factors.empty()) return {};
  const auto bytes = std::as_bytes(std::span(factors));
  out_.push_back(make_tensor("rope_freqs.weight", {factors.size()},
                             plain_codec(codecs_, Dtype::kF32), {bytes.begin(), bytes.end()}));
  names_.insert("rope_freqs.weight");
  return {};
}

Result<std::vector<Tensor>> TensorList::finish() {
  if (!unknown_.empty()) {
    const size_t shown = std::min(unknown_.size(), kNamesShown);
    return fail(ErrorCode::kUnsupported, "{} tensors that family {} does not have, such as '{}'",
                unknown_.size(), model_.family->name,
                fmt::join(unknown_.begin(), unknown_.begin() + static_cast<long>(shown), "', '"));
  }
  if (!experts_.empty()) {
    const auto& [layer, experts] = *experts_.begin();
    uint64_t seen = 0;
    for (const auto& [rule, list] : experts) seen += list.size();
    CKPT_ASSIGN(const uint64_t count, model_.count("num_local_experts num_experts"));
    return fail(ErrorCode::kCorrupt, "layer {} has {} tensors of experts; expected {} x 3", layer,
                seen, count);
  }
  return std::move(out_);
}

}  // namespace

Result<std::vector<Tensor>> make_gguf_tensors(std::vector<NamedTensor> tensors, const Model& model,
                                              Codecs codecs) {
  TensorList list(model, codecs);
  CKPT_TRY(list.add_rope_factors());
  for (NamedTensor& named : tensors) CKPT_TRY(list.add(std::move(named)));
  return list.finish();
}

}  // namespace ckpt
