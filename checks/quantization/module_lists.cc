#include "checks/quantization/module_lists.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/quant_lists.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kListedMethods =
    " fp8 fbgemm_fp8 awq gptq bitsandbytes torchao quark mxfp4 compressed-tensors ";

// The modules by their tensors' dtypes, which vLLM uses in place of an empty list.
struct ByDtype {
  std::vector<std::string> floats, coded;
};
ByDtype modules_by_dtype(const Subject& on, const ModuleLists::Rename& rename) {
  std::map<std::string, bool> all;
  for (const Tensor& tensor : on.checkpoint.tensors) {
    const std::string module = module_of(tensor.name);
    bool& is_coded = all[rename(module.empty() ? tensor.name : module)];
    is_coded = is_coded || !is_plain_float(*tensor.codec);
  }
  ByDtype out;
  for (const auto& [name, is_coded] : all) (is_coded ? out.coded : out.floats).push_back(name);
  return out;
}

void add_texts(const JsonValue& list, std::vector<std::string>& out) {
  for (const JsonValue& item : list) {
    if (item.is_array()) add_texts(item, out);
    if (const auto* text = item.get_ptr<const std::string*>()) out.push_back(*text);
  }
}

std::vector<std::string> texts_below(const JsonValue& json, std::string_view key) {
  std::vector<std::string> out;
  add_texts(list_in(json, key), out);
  return out;
}

// Returns the targets of all groups. A group whose only target is an attention is for its cache.
std::vector<std::string> targets_of(const JsonValue& json) {
  std::vector<std::string> out;
  for (const JsonValue& group : object_in(json, "config_groups")) {
    if (!group.is_object()) continue;
    const std::vector<std::string> targets = texts_below(group, "targets");
    if (targets.size() == 1 && targets[0].ends_with("Attention")) continue;
    out.insert(out.end(), targets.begin(), targets.end());
  }
  return out;
}

// Whether the method has keys other than lists that decide for single modules.
bool has_other_rules(const JsonValue& json, const std::string& method) {
  if (method == "quark") {
    const JsonValue* layers = known(json, "layer_quant_config");
    return layers != nullptr && !layers->empty();
  }
  if (method == "torchao") {
    const JsonValue* data = known(known(known(json, "quant_type"), "default"), "_data");
    return known(data, "module_fqn_to_config") != nullptr ||
           known(data, "fqn_to_config") != nullptr;
  }
  if (method != "compressed-tensors") return false;
  return known(json, "linear_fp8_config") != nullptr || targets_of(json).empty();
}

// Whether the server renames each entry, also expressions and names of classes.
bool renames_whole(const ModuleLists::Rename& rename, std::string_view method) {
  return has_word(" fp8 compressed-tensors quark ", method) && !rename("").empty();
}

}  // namespace

bool names_a_class(std::string_view target) {
  constexpr std::string_view kClasses[] = {
      "qkvparallellinear", "mergedcolumnparallellinear", "columnparallellinear",
      "rowparallellinear", "replicatedlinear",           "fusedmoe",
      "routedexperts"};
  return std::ranges::any_of(kClasses, [name = lower_case(target)](std::string_view each) {
    return each.find(name) != each.npos;
  });
}

bool has_module_lists(const Quantization& declared) {
  return has_word(kListedMethods, declared.method);
}

EntryList::EntryList(const std::vector<std::string>& entries, bool is_wrapper) : names_([&] {
  std::vector<std::string> names;
  for (const std::string& entry : entries) {
    if (expression_mark(entry) == 0) names.push_back(entry);
  }
  return names;
}()) {
  for (const std::string& entry : entries) {
    const size_t mark = expression_mark(entry);
    if (mark == 0) continue;
    const EntryFront front = front_of(entry);
    const bool is_elsewhere = is_of_tower(entry) || entry.find("mtp") != entry.npos;
    if (is_wrapper && front == EntryFront::kName && is_elsewhere) continue;
    expressions_.push_back({entry.substr(0, mark), std::nullopt});
    if (is_wrapper && front != EntryFront::kAnywhere) continue;
    auto regex = Regex::parse(fmt::format("^(?:{})", std::string_view(entry).substr(mark)));
    if (regex) expressions_.back().regex = std::move(*regex);
  }
  add_index();
}

void EntryList::add_index() {
  std::map<std::string_view, size_t> numbers;
  std::vector<std::string_view> keys;
  for (size_t i = 0; i < expressions_.size(); ++i) {
    const Expression& each = expressions_[i];
    if (!each.regex) {
      unread_.insert(each.mark);
    } else if (each.regex->key().empty()) {
      without_key_.push_back(i);
    } else {
      const auto [at, is_new] = numbers.try_emplace(each.regex->key(), keys.size());
      if (is_new) {
        keys.push_back(each.regex->key());
        of_key_.emplace_back();
      }
      of_key_[at->second].push_back(i);
    }
  }
  keys_ = PartIndex(keys);
}

EntryList::Fit EntryList::fit_of_expressions(std::string_view name, std::string_view mark) const {
  const auto fits = [&](size_t i) {
    return expressions_[i].mark == mark && expressions_[i].regex->is_found_in(name);
  };
  if (std::ranges::any_of(without_key_, fits)) return Fit::kYes;
  for (const uint32_t key : keys_.parts_of(name)) {
    if (std::ranges::any_of(of_key_[key], fits)) return Fit::kYes;
  }
  return unread_.contains(mark) ? Fit::kUnclear : Fit::kNo;
}

std::optional<size_t> EntryList::first_expression_of(std::string_view name) const {
  std::optional<size_t> first;
  const auto ask = [&](const std::vector<size_t>& ascending) {
    for (const size_t i : ascending) {
      if (first && i > *first) return;
      if (expressions_[i].mark != "re:" || !expressions_[i].regex->is_found_in(name)) continue;
      first = i;
      return;
    }
  };
  ask(without_key_);
  for (const uint32_t key : keys_.parts_of(name)) ask(of_key_[key]);
  return first;
}

NamesInEntries::NamesInEntries(const std::vector<std::string>& names,
                               const std::vector<std::string>& entries) {
  std::vector<std::string_view> asked;
  for (const std::string& name : names) {
    if (name.find("experts") != name.npos) asked.push_back(name);
  }
  if (asked.empty()) return;
  const PartIndex index(asked);
  for (const std::string& entry : entries) {
    for (const uint32_t part : index.parts_of(entry)) found_.emplace(asked[part]);
  }
}

ModuleLists::ModuleLists(const Subject& on, const Profile& profile, const Quantization& declared,
                         bool are_known, const Rename& rename)
    : profile_(profile),
      said_(declared),
      is_sglang_(profile.program == Program::kSglang),
      asks_joined_names_(profile.does("ask_lists_for_joined_names")),
      entries_({}, false),
      targets_({}, false),
      blocks_({}) {
  const bool is_gptq = declared.method == "gptq";
  const bool is_whole = renames_whole(rename, declared.method);
  std::vector<std::string> entries;
  for (const std::string& entry : declared.exclude) {
    const bool is_bare_rule = is_gptq && expression_mark(entry) == 0;
    if (is_whole) {
      entries.push_back(rename(entry));
      continue;
    }
    if (is_bare_rule || expression_mark(entry) != 0) {
      entries.push_back(is_bare_rule ? "+:" + entry : entry);
      continue;
    }
    add_forms(entry, rename, entries);
  }
  const bool fills = profile.program == Program::kVllm;
  if (fills && entries.empty() && declared.method == "awq") {
    entries = modules_by_dtype(on, rename).floats;
  }
  const bool is_wrapper = on.is_wrapper && !are_known;
  entries_ = EntryList(entries, is_wrapper);
  if (declared.json == nullptr) return;
  const bool is_unknown = is_sglang_ && declared.method == "torchao";
  is_beyond_lists_ = is_unknown || has_other_rules(*declared.json, declared.method);
  if (fills && is_gptq) {
    std::vector<std::string> blocks = texts_below(*declared.json, "modules_in_block_to_quantize");
    for (std::string& block : blocks) block = rename(block);
    if (blocks.empty()) blocks = modules_by_dtype(on, rename).coded;
    blocks_ = NameList(std::move(blocks));
  }
  std::vector<std::string> targets = targets_of(*declared.json);
  for (std::string& target : targets) {
    const bool is_path = target.find('.') != target.npos && expression_mark(target) == 0;
    if (is_path || is_whole) target = rename(target);
  }
  targets_ = EntryList(targets, is_wrapper);
  is_of_class_ = std::ranges::any_of(targets_.names().entries(), names_a_class);
  sorted_names_ = entries_.names().entries();
  std::ranges::sort(sorted_names_);
}

void ModuleLists::expect(const std::vector<ModuleQuery>& modules) {
  std::vector<std::string> names;
  for (const ModuleQuery& module : modules) names.push_back(module.name);
  in_entries_ = NamesInEntries(names, entries_.names().entries());
}

// Adds the forms of an entry. SGLang uses both original and renamed names: for compressed-tensors
// in lower case, for FP8 with and without "model." in front.
void ModuleLists::add_forms(const std::string& entry, const Rename& rename,
                            std::vector<std::string>& out) const {
  out.push_back(rename(entry));
  if (!is_sglang_) return;
  out.push_back(entry);
  if (said_.method == "compressed-tensors") {
    out[out.size() - 2] = lower_case(out[out.size() - 2]);
    out.back() = lower_case(entry);
  }
  if (!said_.method.starts_with("fp8")) return;
  constexpr std::string_view kModel = "model.";
  const std::string base = entry.starts_with(kModel) ? entry.substr(kModel.size()) : entry;
  out.push_back(base);
  out.push_back(std::string(kModel) + base);
}

void ModuleLists::decide(const ModuleQuery& module, ServedModule& served) const {
  const Answer found = is_beyond_lists_ ? Answer::kUnclear : answer(module);
  served.is_partial = found == Answer::kPartly;
  served.is_unclear = found == Answer::kUnclear;
  served.has_no_group = found == Answer::kNoGroup;
  if (found == Answer::kQuantized) served.algo = said_.method;
}

// Whether compressed-tensors quantizes the head; SGLang requires a target that names it.
bool ModuleLists::runs_head(const ModuleQuery& module) const {
  const bool is_named = targets_.names().holds(module.name) ||
                        targets_.fit_of_expressions(module.name) == EntryList::Fit::kYes;
  return said_.method == "compressed-tensors" && profile_.does("run_quantized_heads") &&
         (!is_sglang_ || is_named);
}

ModuleLists::Answer ModuleLists::answer(const ModuleQuery& module) const {
  const std::string& method = said_.method;
  const bool may_have_head = method == "awq" || method == "gptq";
  if (module.is_head && may_have_head) {
    if (!is_true(*said_.json, "lm_head")) return Answer::kPlain;
  } else if (module.is_head && !runs_head(module)) {
    return Answer::kPlain;
  }
  if (method == "awq") return in_awq(module);
  if (method == "gptq") return in_gptq(module);
  if (method == "bitsandbytes") return in_words(module);
  if (method == "torchao") return in_torchao(module);
  if (method == "quark") return in_quark(module);
  if (method == "compressed-tensors") return in_groups(module);
  if (method != "mxfp4") return in_fp8(module);
  if (module.is_experts) return Answer::kQuantized;
  return is_sglang_ ? Answer::kUnclear : Answer::kPlain;
}

EntryList::Fit ModuleLists::fit_if(bool is_yes) {
  return is_yes ? EntryList::Fit::kYes : EntryList::Fit::kNo;
}

ModuleLists::Answer ModuleLists::plain_if(EntryList::Fit fit) {
  if (fit == EntryList::Fit::kUnclear) return Answer::kUnclear;
  return fit == EntryList::Fit::kYes ? Answer::kPlain : Answer::kQuantized;
}

template <class ProfileMatch>
ModuleLists::Answer ModuleLists::of_shards(const ModuleQuery& module, ProfileMatch is_plain) {
  if (module.shards.empty()) return plain_if(is_plain(module.name));
  size_t plain = 0;
  for (const std::string& shard : module.shards) {
    const EntryList::Fit fit = is_plain(shard);
    if (fit == EntryList::Fit::kUnclear) return Answer::kUnclear;
    plain += fit == EntryList::Fit::kYes ? 1 : 0;
  }
  if (plain == 0) return Answer::kQuantized;
  return plain == module.shards.size() ? Answer::kPlain : Answer::kPartly;
}

// Whether an entry is the name, or some consecutive words of it.
bool ModuleLists::is_between_dots(std::string_view name) const {
  for (size_t begin = 0; begin <= name.size();) {
    const std::string_view rest = name.substr(begin);
    if (entries_.names().holds(rest) || entries_.names().holds_parent_of(rest)) return true;
    const size_t dot = rest.find('.');
    if (dot == rest.npos) return false;
    begin += dot + 1;
  }
  return false;
}

ModuleLists::Answer ModuleLists::in_fp8(const ModuleQuery& module) const {
  const NameList& names = entries_.names();
  const bool is_of_experts = module.name.find("experts") != module.name.npos;
  if (is_sglang_) {
    const Answer found =
        of_shards(module, [&](std::string_view name) { return fit_if(is_between_dots(name)); });
    const bool asks_entries = module.shards.empty() && is_of_experts;
    return asks_entries && in_entries_.holds(module.name) ? Answer::kPlain : found;
  }
  if (module.shards.empty() && is_of_experts)
    return plain_if(fit_if(in_entries_.holds(module.name)));
  if (asks_joined_names_ && names.holds(module.name)) return Answer::kPlain;
  return of_shards(module, [&](std::string_view name) { return fit_if(names.holds(name)); });
}

ModuleLists::Answer ModuleLists::in_awq(const ModuleQuery& module) const {
  const auto has_part = [&](std::string_view name) {
    return fit_if(entries_.names().holds_part_of(name));
  };
  if (is_sglang_) return module.is_experts ? Answer::kQuantized : plain_if(has_part(module.name));
  if (asks_joined_names_ && entries_.names().holds_part_of(module.name)) return Answer::kPlain;
  return of_shards(module, has_part);
}

ModuleLists::Answer ModuleLists::in_gptq(const ModuleQuery& module) const {
  if (is_sglang_ && module.is_experts) return Answer::kQuantized;
  const EntryList::Fit leaves = entries_.fit_of_expressions(module.name, "-:");
  const EntryList::Fit changes = entries_.fit_of_expressions(module.name, "+:");
  // The first match counts, but the order of the keys is unknown here.
  const bool is_certain = leaves == EntryList::Fit::kNo || changes == EntryList::Fit::kNo;
  if (leaves == EntryList::Fit::kUnclear || !is_certain) return Answer::kUnclear;
  if (leaves == EntryList::Fit::kYes) return Answer::kPlain;
  if (is_sglang_ || module.is_experts) return Answer::kQuantized;
  return of_shards(module,
                   [&](std::string_view name) { return fit_if(!blocks_.holds_part_of(name)); });
}

ModuleLists::Answer ModuleLists::in_words(const ModuleQuery& module) const {
  if (module.is_experts) return Answer::kQuantized;
  const NameList& names = entries_.names();
  std::string_view rest = module.name;
  bool is_listed = names.holds(rest) || names.holds_parent_of(rest);
  for (size_t dot = 0; dot != rest.npos && !is_listed; rest.remove_prefix(dot + 1)) {
    dot = rest.find('.');
    is_listed = names.holds(rest.substr(0, dot));
    if (dot == rest.npos) break;
  }
  return is_listed ? Answer::kPlain : Answer::kQuantized;
}

ModuleLists::Answer ModuleLists::in_torchao(const ModuleQuery& module) const {
  return module.is_experts || is_between_dots(module.name) ? Answer::kPlain : Answer::kQuantized;
}

EntryList::Fit ModuleLists::is_listed(std::string_view name) const {
  const NameList& names = entries_.names();
  const bool is_by_part = is_sglang_ && said_.method == "compressed-tensors";
  const bool is_named = is_by_part ? names.holds_part_of(lower_case(name)) : names.holds(name);
  return is_named ? EntryList::Fit::kYes : entries_.fit_of_expressions(name);
}

ModuleLists::Answer ModuleLists::in_quark(const ModuleQuery& module) const {
  const auto listed = [&](std::string_view name) { return is_listed(name); };
  if (asks_joined_names_ && module.is_experts) {
    const std::string front = module.name + ".";
    const auto child = std::ranges::lower_bound(sorted_names_, front);
    if (child != sorted_names_.end() && child->starts_with(front)) return Answer::kPlain;
  }
  if (asks_joined_names_ && is_listed(module.name) == EntryList::Fit::kYes) return Answer::kPlain;
  const Answer found = of_shards(module, listed);
  // Some classes of SGLang join modules without declaring it.
  const bool may_differ = is_sglang_ && !module.shards.empty();
  return may_differ && found != plain_if(is_listed(module.name)) ? Answer::kUnclear : found;
}

// A target is a name, an expression, or a class that includes all linear layers.
EntryList::Fit ModuleLists::is_targeted(const ModuleQuery& module) const {
  const auto fit = [&](std::string_view name) {
    if (targets_.names().holds(name)) return EntryList::Fit::kYes;
    return targets_.fit_of_expressions(name);
  };
  if (is_of_class_ && !module.is_head) return EntryList::Fit::kYes;
  const EntryList::Fit direct = fit(module.name);
  if (direct != EntryList::Fit::kNo || module.shards.empty()) return direct;
  for (const std::string& shard : module.shards) {
    if (const EntryList::Fit one = fit(shard); one != EntryList::Fit::kYes) return one;
  }
  return EntryList::Fit::kYes;
}

ModuleLists::Answer ModuleLists::in_groups(const ModuleQuery& module) const {
  Answer found = Answer::kPlain;
  const bool is_direct =
      !module.is_experts &&
      (entries_.names().holds(module.name) ||
       (asks_joined_names_ && entries_.fit_of_expressions(module.name) == EntryList::Fit::kYes));
  if (!is_direct) found = of_shards(module, [&](std::string_view name) { return is_listed(name); });
  const bool may_differ = is_sglang_ && !module.is_experts && !module.shards.empty();
  if (may_differ && found != plain_if(is_listed(module.name))) return Answer::kUnclear;
  if (found != Answer::kQuantized) return found;
  const EntryList::Fit target = is_targeted(module);
  if (target == EntryList::Fit::kUnclear) return Answer::kUnclear;
  if (target == EntryList::Fit::kYes) return Answer::kQuantized;
  return module.is_head ? Answer::kPlain : Answer::kNoGroup;
}

}  // namespace ckpt
