#include "checks/quantization/serving.h"

#include <algorithm>
#include <array>

#include "checks/quantization/module_lists.h"
#include "core/base/find.h"
#include "core/base/name_list.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/quant_lists.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

struct Rename {
  std::string_view from, to;
};
constexpr Rename kVllmWrapper[] = {{"model.visual.", "visual."},
                                   {"lm_head.", "language_model.lm_head."},
                                   {"model.language_model.", "language_model.model."}};
constexpr Rename kTextNames = {"model.language_model.", "model."};

constexpr std::string_view kFallbackStarts = "renamed starts by fallback";

// The renames that `words` describe as FROM=TO, the longest first.
std::vector<Rename> renames_in(const std::vector<std::string_view>& words) {
  std::vector<Rename> out;
  for (std::string_view to : words) {
    const std::string_view from = take_word(to, '=');
    out.push_back({from, to});
  }
  std::ranges::stable_sort(out, std::greater(),
                           [](const Rename& each) { return each.from.size(); });
  return out;
}

// Whether the server runs the class by the code of transformers, which joins no modules, and it is
// known how it renames the entries of lists then.
bool is_by_fallback(const Subject& on, const Profile& profile) {
  return runs_by_fallback(profile, on.model_class) &&
         !listed_words(profile, kFallbackStarts).empty();
}

std::vector<Rename> renames(const Subject& on, const Profile& profile) {
  // List entries are renamed by prefix alone; tensors are renamed separately.
  if (is_by_fallback(on, profile)) return renames_in(listed_words(profile, kFallbackStarts));
  auto out = renames_in(listed_for(profile, "renamed starts", on.model_type));
  if (!out.empty()) return out;
  if (!has_trait(on.model_type, ModelTrait::kNestedText)) return {};
  const bool is_wrapper = on.model_class.ends_with("ForConditionalGeneration");
  if (profile.program != Program::kVllm || !is_wrapper) return {kTextNames};
  return {std::begin(kVllmWrapper), std::end(kVllmWrapper)};
}

// The name that vLLM looks up in the list, in which some modules have other words. The list itself
// keeps the names on disk.
std::string module_name(std::string name, const Subject& on, const Profile& profile) {
  if (profile.program != Program::kVllm) return name;
  for (const RenamedPart& part : traits_of(on.model_type).vllm_names) {
    const bool is_join = !part.to.ends_with('.') && !part.to.ends_with(".experts");
    const bool is_done = part.to.ends_with(part.from) && name.find(part.to) != name.npos;
    if (is_join || is_done) continue;
    if (auto renamed = rename_part(name, part)) name = std::move(*renamed);
  }
  return name;
}

// Applies the first rule that fits the start of `name`, or any part if the rule begins with a dot.
std::string renamed(std::string_view name, std::span<const Rename> rules) {
  for (const Rename& rule : rules) {
    const size_t at = name.find(rule.from);
    if (at == name.npos || (at != 0 && !rule.from.starts_with('.'))) continue;
    return fmt::format("{}{}{}", name.substr(0, at), rule.to, name.substr(at + rule.from.size()));
  }
  return std::string(name);
}

struct Split {
  std::string_view parent, word;
};
Split split(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}
std::string child(std::string_view parent, std::string_view word) {
  return parent.empty() ? std::string(word) : fmt::format("{}.{}", parent, word);
}

// The server's module for a renamed one on disk.
std::string served_name(std::string_view name) {
  if (is_of_experts(name)) return std::string(experts_module(name));
  const Split parts = split(name);
  // Granite's experts, which are stacked on disk.
  const bool is_stack = parts.word == "input_linear" || parts.word == "output_linear";
  if (is_stack && parts.parent.ends_with(".block_sparse_moe"))
    return child(parts.parent, "experts");
  const ProjectionGroup* row = listed_group_with(parts.word);
  return row != nullptr ? child(parts.parent, row->joined) : std::string(name);
}

// vLLM classes that do not declare which modules they join look up only the joined name in a list.
bool fuses_silently(const Subject& on, const Profile& profile) {
  return has_listed(profile, "silent joins", on.model_type, false);
}

// The other names that the class, or the class of the text part, gives to the first parts of its
// modules' names.
std::vector<Rename> other_starts(const Subject& on, const Profile& profile) {
  constexpr std::string_view kList = "other starts in lists";
  auto out = renames_in(listed_for(profile, kList, on.model_class));
  std::ranges::copy(renames_in(listed_for(profile, kList, on.text_type)), std::back_inserter(out));
  return out;
}

// The name by which the server looks up a module in its lists; empty if its class makes the module
// without a name. The server renames the entries of lists as it renames tensors. Some classes give
// their layers yet another name, which no entry can have then.
std::string name_in_lists(const Subject& on, const Profile& profile, const std::string& name) {
  const auto nameless = listed_for(profile, "parts without a name", on.model_class);
  if (std::ranges::count(nameless, last_word(name)) != 0) return "";
  return renamed(name, other_starts(on, profile));
}

// The quantization section with the server's names.
class Statement {
 public:
  Statement(const Subject& on, const Profile& profile, const Quantization& declared)
      : on_(on),
        profile_(profile),
        said_(declared),
        excluded_(excluded(profile, declared, on)),
        is_silent_(fuses_silently(on, profile)),
        is_whole_(is_by_fallback(on, profile)) {
    const auto rules = renames(on, profile);
    for (const auto& [name, algo] : declared.layers) {
      layers_[is_whole_ ? renamed(name, rules) + "." : renamed(name + ".", rules)] = algo;
    }
  }

  void decide(ServedModules& modules) {
    std::vector<std::string> names;
    for (const auto& [name, served] : modules) names.push_back(name);
    in_entries_ = NamesInEntries(names, excluded_.entries());
    for (auto& [name, served] : modules) decide(name, served);
  }

 private:
  void decide(const std::string& name, ServedModule& served) const {
    if (forced_plain(on_, profile_, name).has_value() || is_never_quantized(name)) return;
    const std::string asked = name_in_lists(on_, profile_, name);
    served.is_unlisted = asked != name;
    // The server makes "model.lm_head" of the entry "lm_head", and keeps "lm_head.".
    if (is_whole_ && is_of_head(name)) served.listed_as = name + ".";
    // SGLang compares entries as they are written: one with the class's own name for a tower fits.
    const bool is_sglang = profile_.program == Program::kSglang;
    if (is_sglang && served.is_unlisted && !asked.empty() && is_of_tower(name)) {
      served.listed_as = asked.substr(0, asked.find('.')) + "*";
    }
    if (is_excluded(asked, served.is_partial)) return;
    served.algo = said_.algo == "MIXED_PRECISION" ? algo_of_layer(asked, served) : said_.algo;
    // In a mixed file, the server leaves all other layers plain.
    const bool runs = has_listed(profile_, "modelopt algorithms of layers", served.algo,
                                 takes_algo(profile_, served.algo));
    if (said_.algo == "MIXED_PRECISION" && !runs) served.algo.clear();
  }

  static std::vector<std::string> excluded(const Profile& profile, const Quantization& declared,
                                           const Subject& on) {
    const auto rules = renames(on, profile);
    const bool are_mapped = !rules.empty() || !other_starts(on, profile).empty();
    std::vector<std::string> out;
    for (const std::string& entry : declared.exclude) {
      const bool is_tree = entry.size() >= 2 && entry.ends_with('*') && !entry.ends_with(".*");
      // A rule's "lm_head." matches only names below it, as the server's own prefixes do.
      if (is_tree && are_mapped && profile.program == Program::kVllm) {
        out.push_back(renamed(entry.substr(0, entry.size() - 1), rules));
        out.push_back(renamed(entry.substr(0, entry.size() - 1) + ".*", rules));
      } else {
        out.push_back(renamed(entry, rules));
      }
      if (is_by_fallback(on, profile) && out.back().ends_with('.')) out.back().pop_back();
      if (profile.program == Program::kSglang && entry.starts_with("model.language_model.")) {
        out.push_back(entry);
      }
    }
    return out;
  }

  bool is_never_quantized(const std::string& name) const {
    const std::string_view word = split(name).word;
    if (is_of_head(name)) return !profile_.does("run_quantized_heads");
    if (word == "shared_expert_gate") return true;
    if (word == "gate" && has_trait(on_.text_type, ModelTrait::kFloatRouter)) return true;
    if (profile_.program == Program::kSglang) {
      return name.find("visual") != name.npos &&
             !has_listed(profile_, "quantized towers", on_.model_class, false);
    }
    return names_any(name, {"vision_tower", "vision_model"});
  }

  // Looks for the exact name; a fused module needs all its shards named.
  bool is_named(const std::string& name, bool& is_partial) const {
    const Split parts = split(name);
    const ProjectionGroup* entry = group_joined_as(parts.word);
    if (entry == nullptr || is_silent_) {
      const bool is_of_experts = name.find("experts") != name.npos;
      return is_of_experts ? in_entries_.holds(name) : excluded_.holds(name);
    }
    size_t named = 0;
    for (const std::string_view shard : entry->parts()) {
      if (excluded_.holds(child(parts.parent, shard))) ++named;
    }
    is_partial = named != 0 && named != entry->parts().size();
    return named == entry->parts().size();
  }

  bool is_excluded(const std::string& name, bool& is_partial) const {
    if (is_named(name, is_partial)) return true;
    const bool fits =
        profile_.program == Program::kSglang ? fits_in_sglang(name) : fits_in_vllm(name);
    if (fits) is_partial = false;
    return fits;
  }

  // Matches any part of the name, then shell patterns.
  bool fits_in_vllm(std::string_view name) const {
    return excluded_.holds_part_of(name) || excluded_.matches(name);
  }

  // Matches the exact name, or one word of it.
  bool fits_in_sglang(std::string_view name) const {
    if (excluded_.matches(name)) return true;
    while (!name.empty()) {
      const size_t dot = name.find('.');
      if (excluded_.matches(name.substr(0, dot))) return true;
      name = dot == name.npos ? "" : name.substr(dot + 1);
    }
    return false;
  }

  std::string algo_of_layer(const std::string& name, ServedModule& served) const {
    if (const std::string* own = find_mapped(layers_, name + ".")) return *own;
    const Split parts = split(name);
    std::set<std::string> algos;
    const bool is_joined = !is_silent_ || profile_.does("join_layers_of_mixed_lists");
    if (const ProjectionGroup* entry = is_joined ? group_joined_as(parts.word) : nullptr) {
      for (const std::string_view shard : entry->parts()) {
        const std::string* own = find_mapped(layers_, child(parts.parent, shard) + ".");
        if (own != nullptr) algos.insert(*own);
      }
    }
    served.is_partial = algos.size() > 1;
    if (!algos.empty()) return *algos.begin();
    const auto below = layers_.lower_bound(name + ".");
    if (below != layers_.end() && below->first.starts_with(name + ".")) return below->second;
    if (parts.word != "experts" || !profile_.does("treat_experts_as_their_neighbors")) return "";
    const std::string front = std::string(parts.parent) + ".";
    const auto other = layers_.lower_bound(front);
    return other != layers_.end() && other->first.starts_with(front) ? other->second : "";
  }

  const Subject& on_;
  const Profile& profile_;
  const Quantization& said_;
  NameList excluded_;
  NamesInEntries in_entries_;
  bool is_silent_, is_whole_;  // is_whole_: each entry is renamed as a whole name
  std::map<std::string, std::string> layers_;  // keys are names with a dot appended
};

// The layer's role in the model: "model.layers.#.mlp.up_proj" for "model.layers.7.mlp.up_proj".
std::string role_of(std::string_view name) {
  std::string out;
  bool was_digit = false;
  for (const char c : name) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && (was_digit || out.ends_with('.'))) {
      if (!was_digit) out += '#';
      was_digit = true;
      continue;
    }
    out += c;
    was_digit = false;
  }
  return out;
}

// Whether a module is the head or in one of the text model's own layers.
bool is_of_text(const Subject& on, std::string_view name) {
  if (is_of_tower(name)) return false;
  if (is_of_head(name)) return true;
  constexpr std::string_view kLayers = ".layers.";
  const size_t at = name.find(kLayers);
  if (at == name.npos) return false;
  const auto count = on.layers();
  return !count || number_after(name.substr(at), kLayers).value_or(0) < *count;
}

class ByLists {
 public:
  ByLists(const Subject& on, const Profile& profile, const Quantization& declared)
      : on_(on),
        profile_(profile),
        rules_(renames(on, profile)),
        is_silent_(fuses_silently(on, profile)),
        lists_(on, profile, declared, !rules_.empty(),
               [this](const std::string& entry) { return server_name(entry); }) {
    is_of_groups_ = declared.method == "compressed-tensors";
    is_of_names_ = declared.method.find("fp8") != declared.method.npos;
    // Expressions that begin with a name are only read if the server's names are known.
    const bool is_unread = std::ranges::any_of(declared.exclude, [](const std::string& entry) {
      return expression_mark(entry) != 0 && front_of(entry) == EntryFront::kName;
    });
    is_tower_coded_ = (!rules_.empty() || !is_unread) &&
                      has_word(" fp8 awq compressed-tensors ", declared.method) &&
                      has_listed(profile, "quantized towers", on.model_class, false);
    for (const auto* all : {&on.modules, &on.packed_modules}) {
      for (const auto& [name, module] : *all) {
        if (module.weight != nullptr && module.form != Form::kPlain) coded_.insert(role_of(name));
      }
    }
  }

  void decide(ServedModules& modules) {
    std::vector<ModuleQuery> asked;
    std::vector<ServedModule*> of_asked;
    for (auto& [name, served] : modules) {
      auto module = match_profile(name, served);
      if (!module) continue;
      asked.push_back(std::move(*module));
      of_asked.push_back(&served);
    }
    lists_.expect(asked);
    for (size_t i = 0; i < asked.size(); ++i) lists_.decide(asked[i], *of_asked[i]);
  }

 private:
  // Returns nullopt if the lists are not consulted, or it is unclear for which name.
  std::optional<ModuleQuery> match_profile(const std::string& name, ServedModule& served) const {
    served.is_unclear = std::ranges::none_of(
        served.shards, [&](const Module* shard) { return is_asked(*shard); });
    if (served.is_unclear || forced_plain(on_, profile_, name).has_value()) return std::nullopt;
    const std::string known = rules_.empty() ? server_name(name) : name;
    ModuleQuery module{name_in_lists(on_, profile_, known), {}, false, false};
    served.is_unlisted = module.name != known;
    module.is_experts = split(name).word == "experts";
    module.is_head = is_of_head(name);
    const Split parts = split(module.name);
    const ProjectionGroup* entry = group_joined_as(parts.word);
    if (module.is_experts && is_of_groups_) {
      const bool is_own = profile_.does("ask_lists_for_w1_w2_w3");
      for (const std::string_view word :
           projections_of_expert(is_own ? last_word(served.shards.front()->name) : "")) {
        module.shards.push_back(fmt::format("{}.0.{}", module.name, word));
      }
    } else if (entry != nullptr && served.shards.size() < entry->parts().size()) {
      served.is_unclear = served.shards.size() != 1;
      module.name = child(parts.parent, last_word(served.shards.front()->name));
    } else if (entry != nullptr && !is_silent_) {
      for (const std::string_view word : entry->parts()) {
        module.shards.push_back(child(parts.parent, word));
      }
    }
    return served.is_unclear ? std::nullopt : std::optional(std::move(module));
  }

  // Wrappers spell the prefix of a name in several ways, which servers map to one.
  std::string server_name(std::string_view name) const {
    if (!rules_.empty()) return renamed(name, rules_);
    if (!on_.is_wrapper) return std::string(name);
    constexpr std::string_view kFronts = " model language_model text_model ";
    for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
      if (!has_word(kFronts, name.substr(0, dot))) break;
      name.remove_prefix(dot + 1);
    }
    return std::string(name);
  }

  // Routers and similar modules are floats in all layers; servers never look them up in lists.
  bool is_asked(const Module& module) const {
    const std::string_view word = last_word(module.name);
    const ProjectionGroup* group = group_with(word);
    if (is_of_tower(module.name)) return is_asked_tower(module.name);
    if (!is_of_text(on_, module.name)) return false;
    if (group != nullptr && group->join == ServerJoin::kUnlisted && !is_of_names_) return false;
    if (names_any(module.name, {".linear_attn.in_proj_", ".linear_attn.out_proj"})) return true;
    return is_of_usual_group(word) || coded_.contains(role_of(module.name)) ||
           module.form != Form::kPlain;
  }

  // Whether the class also quantizes this layer of a tower.
  bool is_asked_tower(std::string_view name) const {
    return is_tower_coded_ && names_any(name, {".blocks.", ".layers.", "merger"});
  }

  const Subject& on_;
  const Profile& profile_;
  std::vector<Rename> rules_;
  bool is_silent_, is_of_groups_ = false, is_of_names_ = false, is_tower_coded_ = false;
  std::set<std::string> coded_;  // roles that are quantized in some layer
  ModuleLists lists_;
};

// Lists of other methods matter if some module is quantized; otherwise Q28 reports the fault.
bool asks_lists(const Subject& on) {
  const Quantization* declared = on.quantization();
  if (declared == nullptr || !has_module_lists(*declared) || declared->json == nullptr)
    return false;
  const bool has_codes = std::ranges::any_of(on.modules, [](const auto& entry) {
    return entry.second.weight != nullptr && entry.second.form != Form::kPlain;
  });
  return on.packed.fault.empty() && (has_codes || !on.packed_modules.empty());
}

}  // namespace

// Sources: vLLM 0.32 vllm/model_executor/models/deepseek_v2.py (Indexer), which takes blocks of FP8
// for them too; SGLang 0.5.12 python/sglang/srt/models/qwen3_5.py; data/profiles for the others.
std::optional<PlainModules> forced_plain(const Subject& on, const Profile& profile,
                                         std::string_view name) {
  constexpr const char* kNoScale =
      "KeyError: '...input_scale'; There is no module or parameter named '...input_scale'";
  const Quantization* declared = on.quantization();
  if (declared == nullptr) return std::nullopt;
  const bool is_modelopt = declared->method.starts_with("modelopt");
  const bool is_fp4 = declared->algo.find("FP4") != declared->algo.npos;
  const bool is_indexer = names_any(name, {".indexer.wk", ".indexer.weights_proj"});
  if (is_indexer && is_modelopt && profile.does("join_indexer_in_floats")) {
    return PlainModules{"two matrices of the indexer of sparse attention, as one,", kNoScale,
                        "{again} --keep '*.indexer.wk' --keep '*.indexer.weights_proj'"};
  }
  for (const std::string* type : {&on.text_type, &on.model_type}) {
    for (std::string_view on_disk : listed_for(profile, "parts in floats", *type)) {
      std::string_view method = on_disk;
      on_disk = take_word(method, '@');
      const std::string_view part = take_word(on_disk, '=');
      const bool is_of_method = method.empty() || (method == "fp4" && is_fp4) ||
                                (method == "modelopt" && is_modelopt);
      if (!is_of_method || name.find(part) == name.npos) continue;
      if (on_disk.empty()) on_disk = part;
      return PlainModules{fmt::format("'*{}*'", on_disk), method == "fp4" ? "" : kNoScale,
                          fmt::format("{{again}} --keep '*{}*'", on_disk)};
    }
  }
  return std::nullopt;
}

ServedModules served_modules(const Subject& on, const Profile& profile) {
  ServedModules out;
  const bool is_server = profile.program == Program::kVllm || profile.program == Program::kSglang;
  const bool is_apart = is_by_fallback(on, profile);
  if (!is_server || !(is_apart || knows_model_class(profile, on.model_class))) return out;
  const auto rules = renames(on, profile);
  const auto add = [&](const std::string& name, const Module& module) {
    if (name.starts_with("mtp.")) return;
    std::string mapped = renamed(name + ".", rules);
    mapped.pop_back();
    mapped = module_name(std::move(mapped), on, profile);
    const bool is_joined = !is_apart || is_of_experts(mapped);
    out[is_joined ? served_name(mapped) : mapped].shards.push_back(&module);
  };
  const bool has_tied_head =
      !on.checkpoint.has_head() &&
      (is_apart || has_listed(profile, "tied heads made as layers", on.model_class, false));
  for (const auto& [name, module] : on.modules) {
    if (module.is_linear()) add(name, module);
    if (has_tied_head && is_of_embeddings(name)) out["lm_head"].shards.push_back(&module);
  }
  const Quantization* declared = on.quantization();
  if (declared == nullptr) return out;
  if (!has_module_lists(*declared)) {
    Statement(on, profile, *declared).decide(out);
    return out;
  }
  for (const auto& [name, module] : on.packed_modules) add(name, module);
  const bool is_asked = asks_lists(on);
  for (auto& [name, served] : out) served.is_unclear = !is_asked;
  if (is_asked) ByLists(on, profile, *declared).decide(out);
  return out;
}

}  // namespace ckpt
