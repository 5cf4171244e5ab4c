// Makes the tensors of a projector in the order of writing, with types by rule (llama.cpp
// conversion/base.py prepare_tensors, MmprojModel.tensor_force_quant).
//
//   rank <= 1, or "..._norm.weight"          F32
//   patch embeddings, patch merger           F16 in an F16 file, else F32
//   position embeddings                      F32
//   name that does not end in ".weight"      F32
//   else                                     the outtype; F16 instead of Q8_0 for incomplete blocks
//
// Sorted by file, then by tensor, with names compared as bytes: layer 10 precedes layer 2.
#include "transforms/to_gguf/tensors.h"

#include <algorithm>
#include <set>
#include <span>

#include "core/base/numbers.h"
#include "core/base/words.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_mmproj/families/families.h"
#include "transforms/to_mmproj/projector.h"

namespace ckpt {
namespace {

constexpr std::string_view kTextStarts =
    "lm_head. mtp. model.mtp. model.layers. model.norm. model.embed_tokens. model.text_model.";
constexpr std::string_view kBuffers[] = {".rotary_emb.inv_freq", ".attention.masked_bias",
                                         ".position_ids"};

bool is_of_text(std::string_view name) {
  return name.find("language_model.") != name.npos ||
         std::ranges::any_of(split_words(kTextStarts),
                             [&](std::string_view start) { return name.starts_with(start); });
}

class ProjectorTensors {
 public:
  ProjectorTensors(const ProjectorModel& model, Codecs codecs) : model_(model), codecs_(codecs) {}

  Status add(const Tensor& tensor, const TowerMatch& match) {
    const TowerChanges& rule = match.rule->in_projector;
    const bool is_no_break = rule.change == TowerChange::kImageBreak && model_.break_token == 0;
    if (match.to.empty() || is_no_break) return {};
    const bool is_decodable = tensor.has_scales() && tensor.codec->decode != nullptr;
    if (!tensor.is_plain_float() && !is_decodable) {
      return unsupported(
          "tensor '{}' is stored as {}; a projector takes floats, and NVFP4 and FP8 with their "
          "scales",
          tensor.name, tensor.codec->name);
    }
    CKPT_TRY(count_layer("v", model_.vision, match, tensor.name));
    CKPT_TRY(count_layer("a", model_.audio, match, tensor.name));
    const std::string source = tensor.original_name();
    CKPT_ASSIGN(std::vector<Tensor> changed,
                change_tower_values(tensor, rule.change, model_, codecs_));
    CKPT_ASSIGN(std::string name, in(tensor.name, name_of(match.to, match)));
    CKPT_TRY(store(std::move(changed[0]), std::move(name), rule.store, source));
    size_t next = 1;
    for (const std::string_view other : split_words(rule.second)) {
      CKPT_ASSIGN(name, in(tensor.name, name_of(other, match)));
      CKPT_TRY(store(std::move(changed.at(next++)), std::move(name), rule.store, source));
    }
    return {};
  }

  // Fails: kCorrupt if the number of layers contradicts the configuration, which need not state it.
  Result<std::vector<Tensor>> finish() {
    if (model_.sees()) CKPT_TRY(check_layers("v", model_.vision));
    if (model_.hears()) CKPT_TRY(check_layers("a", model_.audio));
    return std::move(out_);
  }

 private:
  Status store(Tensor tensor, std::string name, TowerStore store, const std::string& source) {
    if (!names_.insert(name).second) {
      return corrupt("tensor '{}' gives '{}', which another tensor gave already", source, name);
    }
    const Codec& codec = codec_for(tensor, name, store);
    CKPT_ASSIGN(Tensor encoded, encode_as(std::move(tensor), codec));
    encoded.name = std::move(name);
    encoded.source_name = source;
    out_.push_back(std::move(encoded));
    return {};
  }

  const Codec& codec_for(const Tensor& tensor, const std::string& name, TowerStore store) const {
    const Codec& f32 = plain_codec(codecs_, Dtype::kF32);
    const Codec& f16 = plain_codec(codecs_, Dtype::kF16);
    if (tensor.shape.size() <= 1 || name.ends_with("_norm.weight")) return f32;
    if (store == TowerStore::kF32) return f32;
    if (store == TowerStore::kF16) return f16;
    if (store == TowerStore::kPatches) return model_.out_type == OutType::kF16 ? f16 : f32;
    if (!name.ends_with(".weight")) return f32;
    const Codec& wanted = plain_codec(codecs_, dtype_of(model_.out_type));
    return tensor.row_values() % wanted.block_values == 0 ? wanted : f16;
  }

  Result<std::string> name_of(std::string_view target, const TowerMatch& match) const {
    std::vector<std::string> numbers = match.numbers;
    const TowerChange change = match.rule->in_projector.change;
    if (change == TowerChange::kDeepstack || change == TowerChange::kSpatial) {
      const bool is_spatial = change == TowerChange::kSpatial;
      const std::vector<uint64_t>& known = is_spatial ? model_.spatial : model_.deepstack;
      const auto merger = number_from<uint64_t>(numbers.back());
      if (!merger || *merger >= known.size()) {
        return corrupt("merger {} is there; config.json names {}", numbers.back(), known.size());
      }
      numbers[0] = fmt::format("{}", known[*merger]);
    }
    return fill_in(target, numbers) + match.suffix;
  }

  Status count_layer(std::string_view tower, const ConfigPart& part, const TowerMatch& match,
                     const std::string& source) {
    if (!match.to.starts_with(fmt::format("{}.blk.", tower))) return {};
    CKPT_ASSIGN(const uint64_t count, part.count(kBlockFields));
    const auto layer = number_from<uint64_t>(match.numbers[0]);
    if (!layer || *layer >= count) {
      return corrupt("tensor '{}' is of layer {}; {} has {} layers", source, match.numbers[0],
                     part.where, count);
    }
    layers_[tower].insert(*layer);
    return {};
  }

  Status check_layers(std::string_view tower, const ConfigPart& part) const {
    if (tower == "v" && tower_named(model_.family->tower).depth.empty()) return {};
    CKPT_ASSIGN(const uint64_t count, part.count(kBlockFields));
    const auto found = layers_.find(tower);
    const uint64_t there = found == layers_.end() ? 0 : found->second.size();
    if (there == count) return {};
    return corrupt_hint("every file that the index of the weights names",
                        "tensors of {} layers are there; {} has {}", there, part.where, count);
  }

  const ProjectorModel& model_;
  Codecs codecs_;
  std::vector<Tensor> out_;
  std::set<std::string> names_;
  std::map<std::string_view, std::set<uint64_t>> layers_;  // by tower: "v", "a"
};

// Reports a missing tower; it may exist under a prefix that the class does not read.
Failure no_tower(const TowerTable& tower, const Checkpoint& checkpoint) {
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string_view name = tensor.name;
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
      const std::string_view own = name.substr(dot + 1);
      const auto prefix = std::ranges::find_if(
          tower.prefixes, [&](const TowerPrefix& each) { return own.starts_with(each.found); });
      if (prefix == tower.prefixes.end() || !find_tower_rule(tower, own)) continue;
      const std::string_view from = name.substr(0, dot + 1 + prefix->found.size());
      return unsupported_hint(
          fmt::format("--step rename:from={},to={}", from, tower.prefixes[0].found),
          "tensor '{}': names of the tower are below '{}'; expected '{}'", name, from,
          tower.prefixes[0].found);
    }
  }
  return unsupported_hint("the released model, whose weights hold it",
                          "none of the {} tensors is of a tower", checkpoint.tensors.size());
}

}  // namespace

Result<std::vector<Tensor>> make_projector_tensors(const Checkpoint& checkpoint,
                                                   std::optional<OutType> wanted,
                                                   ProjectorModel& model, Codecs codecs) {
  const TowerTable& tower = tower_named(model.family->tower);
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : checkpoint.tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, [](const Tensor* a, const Tensor* b) {
    return std::tie(a->home, a->name) < std::tie(b->home, b->name);
  });
  std::vector<std::pair<const Tensor*, TowerMatch>> matched;
  std::vector<NamedTensor> kept;
  std::vector<std::string> unknown;
  for (const Tensor* tensor : order) {
    if (ends_with_any(tensor->name, kBuffers)) continue;
    const bool is_left_out =
        !model.left_out.empty() && known_in_tower(tower, tensor->name).starts_with(model.left_out);
    if (is_left_out) continue;
    const auto match = find_tower_rule(tower, tensor->name);
    if (match) {
      matched.emplace_back(tensor, *match);
      kept.push_back({tensor->name, *tensor});
    } else if (!is_of_text(tensor->name)) {
      unknown.push_back(tensor->name);
    }
  }
  if (!unknown.empty()) {
    const auto shown = std::span(unknown).first(std::min<size_t>(unknown.size(), 5));
    return unsupported(
        "{} tensors that neither the towers of {} nor its language model have, such as '{}'",
        unknown.size(), model.family->name, fmt::join(shown, "', '"));
  }
  if (matched.empty()) return no_tower(tower, checkpoint);
  model.out_type = wanted ? *wanted : guess_out_type(kept);
  ProjectorTensors list(model, codecs);
  for (const auto& [tensor, match] : matched) CKPT_TRY(list.add(*tensor, match));
  return list.finish();
}

}  // namespace ckpt
