// The list of families, the keys that most of them share, and programs of Ollama for some.
//
// Order of kCommonKeys is the order of the keys in the file (llama.cpp conversion/base.py
// set_gguf_parameters); a field that is absent gives no key.
#include <map>

#include <fmt/format.h>

#include "core/base/find.h"
#include "core/base/words.h"
#include "models/families/rows.h"

namespace ckpt {

namespace {

#define CKPT_ENTRY(family) &family,
const Family* const kFamilies[] = {CKPT_FAMILIES(CKPT_ENTRY)};

// clang-format off
constexpr auto kCommonKeyRows = spread([] { return std::to_array<KeyRule>({
    {"block_count",             kU32, "", kBlockCount},
    {"context_length", kU32,
     "max_position_embeddings n_ctx n_positions max_length max_sequence_length model_max_length"},
    {"embedding_length",        kU32, "hidden_size n_embd dim"},
    {"feed_forward_length", kU32,
     "prefix_dense_intermediate_size dense_intermediate_size intermediate_size n_inner hidden_dim"},
    {"attention.head_count",    kU32, "num_attention_heads n_head n_heads"},
    {"attention.head_count_kv", kU32, "num_key_value_heads n_kv_heads"},
    {"attention.causal",        kBool, "is_causal", kCausal},
    {"rope.scaling",            kText, "", kRopeScaling},
    {"rope.dimension_sections", kArray, "mrope_section", kRopeSections},
    {"rope.freq_base",          kF32, "", kRopeBase},
    {"rope.freq_base_swa",      kF32, "", kRopeBaseSliding},
    {"attention.layer_norm_rms_epsilon", kF32, "rms_norm_eps norm_eps"},
    {"attention.layer_norm_epsilon", kF32, "layer_norm_eps layer_norm_epsilon norm_epsilon"},
    {"expert_count",            kU32, "num_local_experts num_experts n_routed_experts"},
    {"expert_used_count",       kU32, "num_experts_per_tok num_experts_per_token top_k_experts"},
    {"expert_group_{count,used_count}", kU32, "{n,topk}_group"},
    {"expert_gating_func", kU32,
     "score_function scoring_func score_func moe_router_activation moe_router_activation_func "
     "expert_selection_fn", kGatingFunction},
    {"attention.{key,value}_length", kU32, "head_dim"},
    {"general.file_type",       kU32, "", kFileType},
}); });
// clang-format on

// Source: ollama/ollama server/create.go, createModel().
constexpr OllamaFamily kOllamaFamilies[] = {
    {"gemma4", "gemma4", "gemma4"},
    {"laguna", "laguna", "laguna"},
    {"nemotron_h", "nemotron-3-nano", "nemotron-3-nano"},
    {"nemotron_h_moe", "nemotron-3-nano", "nemotron-3-nano"},
    {"nemotron_h_omni", "nemotron-3-nano", "nemotron-3-nano"},
};

const Family* find_whole(std::string_view word, bool (*has)(const Family&, std::string_view)) {
  for (const Family* family : kFamilies) {
    if (!family->is_partial && has(*family, word)) return family;
  }
  return nullptr;
}

}  // namespace

const std::span<const KeyRule> kCommonKeys = kCommonKeyRows;

std::span<const Family* const> families() { return kFamilies; }

const Family* table_of_architecture(std::string_view architecture) {
  return find_whole(architecture, [](const Family& family, std::string_view word) {
    return has_word(family.architectures, word) || has_word(family.headless, word);
  });
}

const Family* table_of_model_type(std::string_view model_type) {
  return find_whole(model_type, [](const Family& family, std::string_view word) {
    return has_word(family.model_types, word);
  });
}

const Family* family_by_prefix(std::string_view model_type) {
  for (size_t end = model_type.size(); end != model_type.npos;
       end = end == 0 ? model_type.npos : model_type.rfind('_', end - 1)) {
    for (const Family* family : families()) {
      if (has_word(family->model_types, model_type.substr(0, end))) return family;
    }
  }
  return nullptr;
}

std::vector<std::string_view> words_after(std::string_view words, std::string_view start) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split_words(words)) {
    if (word.starts_with(start)) out.push_back(word.substr(start.size()));
  }
  return out;
}

// The traits of one part of a wrapper, and those that it shares with the others.
Traits with_shared(Traits part, const Traits& shared) {
  part.set.add(shared.set);
  if (part.rotated_share == 0) part.rotated_share = shared.rotated_share;
  if (part.only_in_transformers.empty()) part.only_in_transformers = shared.only_in_transformers;
  return part;
}

const FamilyVariant* variant_of(const Family& family, const JsonValue& config) {
  const auto found = std::ranges::find_if(
      family.forms.variants, [&](const FamilyVariant& each) { return each.applies(config); });
  return found == family.forms.variants.end() ? nullptr : &*found;
}

std::optional<std::string> rename_part(std::string_view name, const RenamedPart& part) {
  std::string_view end = part.from, to_end = part.to;
  const std::string_view start = take_word(end, '*'), to_start = take_word(to_end, '*');
  const size_t at = name.find(start);
  if (at == name.npos) return std::nullopt;
  const size_t number = at + start.size();
  const size_t after = end.empty() ? number : name.find_first_not_of("0123456789", number);
  if (after == name.npos || !name.substr(after).starts_with(end)) return std::nullopt;
  return fmt::format("{}{}{}{}{}", name.substr(0, at), to_start,
                     name.substr(number, after - number), to_end, name.substr(after + end.size()));
}

const Traits& traits_of(std::string_view model_type) {
  static const Traits kNone;
  static const std::map<std::string_view, Traits> kByType = [] {
    std::map<std::string_view, Traits> out;
    for (const Family* family : kFamilies) {
      const FamilyTraits& traits = family->traits;
      out.emplace(family->text_type(), with_shared(traits.text, traits.both));
      for (const auto type : split_words(family->model_types)) {
        out.emplace(type, with_shared(traits.wrapper, traits.both));
      }
      for (const auto type : split_words(traits.bare_types)) out.emplace(type, traits.bare);
    }
    return out;
  }();
  const Traits* found = find_mapped(kByType, model_type);
  return found == nullptr ? kNone : *found;
}

const Traits& traits_by_prefix(std::string_view model_type) {
  static const Traits kNone;
  const Family* family = family_by_prefix(model_type);
  return family == nullptr ? kNone : family->traits.text;
}

OllamaFamily ollama_family(std::string_view architecture) {
  const auto* found = find_by(kOllamaFamilies, &OllamaFamily::architecture, architecture);
  return found == nullptr ? OllamaFamily() : *found;
}

}  // namespace ckpt
