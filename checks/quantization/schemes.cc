// Compares the scheme that a quantization_config declares with the stored weights (Q38) and with
// the schemes that a program runs (Q39).
//
// The profiles in data/profiles have up to three sections for each quantization METHOD. Each word
// of a section is a rule. A rule consists of conditions, separated by slashes; a scheme meets it if
// all conditions hold:
//
//   [schemes METHOD]           the program runs a scheme that meets at least one of these rules
//   [required METHOD]          the program rejects a scheme that breaks one of these rules
//   [unclear METHOD: REASON]   the program's source does not decide about schemes that meet a rule
//
// A condition is FACT=GLOB,GLOB and holds if the fact matches one of the globs. Every method has
// the facts `of` (linear or experts), `dtype`, and the keys of its quantization_config (bits=4,8).
// A group of compressed-tensors has these facts:
//
//   weights, inputs, outputs, cache    type and bits ("int4"), or "none"
//   weights.KEY, inputs.KEY, ...       strategy, group_size, symmetric, dynamic, actorder, scales
//   outer_format, format               format of the quantization_config, format of the group
//   packing                            of numbers of 3, 5, 6 or 7 bits: "dense", or "words" if none
//                                      spans two words; "none" for other widths
//   targets                            "linear" (by class) or "names" (by module)
//   sparsity, structure                format and sparsity_structure in sparsity_config
//
// Sources: vLLM 0.17.1 and 0.32.0 vllm/model_executor/layers/quantization/fp8.py (Fp8Config,
// create_weights) and compressed_tensors/compressed_tensors.py (_get_scheme_from_parts,
// _is_nvfp4_format); SGLang 0.5.12 python/sglang/srt/layers/quantization/fp8.py.
// Bits and groups of integer codes are checked where their parts are combined (transforms/packed/).
#include <algorithm>

#include "checks/quantization/module_lists.h"
#include "checks/subject/subject.h"
#include "core/base/arithmetic.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/model/quant_lists.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

bool is_of_blocks(const Tensor& scale) {
  return std::ranges::any_of(scale.shape, [](uint64_t count) { return count > 1; });
}

// The first module with an FP8 weight that has a scale per block.
std::string module_of_blocks(const Subject& on) {
  for (const auto& [name, module] : on.modules) {
    if (module.weight == nullptr) continue;
    const bool is_larger = std::ranges::any_of(module.weight->shape, [](uint64_t count) {
      return count > 128;  // larger than the codec's block
    });
    if (module.weight->codec->scheme == Scheme::kFp8Block && is_larger) return name;
    const Tensor* scale = on.tensor(module.weight->name + "_scale_inv");
    if (scale != nullptr && is_of_blocks(*scale)) return name;
  }
  return {};
}

void check_fp8_blocks(const CheckContext& context, const Quantization& declared) {
  const JsonValue* block = known(*declared.json, "weight_block_size");
  const std::string* scheme = text_of(*declared.json, "activation_scheme");
  if (block != nullptr && scheme != nullptr && *scheme == "static") {
    context.report(declared.place + ".activation_scheme", "static, with a weight_block_size", {},
                   "The block-wise quantization only supports dynamic activation scheme");
  }
  if (block != nullptr) return;
  if (const std::string name = module_of_blocks(context.on); !name.empty()) {
    context.report(declared.place + ".weight_block_size",
                   fmt::format("absent, but '{}' has a scale for each block", name), {},
                   "KeyError: '...weight_scale_inv'");
  }
}

// Whether a compressed-tensors group has floats of `bits`, in groups of `size` if given.
bool has_float_group(const JsonValue& groups, uint64_t bits, std::optional<uint64_t> size) {
  return std::ranges::any_of(groups, [&](const JsonValue& group) {
    const JsonValue& weights = object_in(group, "weights");
    const std::string* type = text_of(weights, "type");
    return whole(known(weights, "num_bits")) == bits && type != nullptr && *type == "float" &&
           (!size || whole(known(weights, "group_size")) == size);
  });
}

void check_groups_of_floats(const CheckContext& context, const Quantization& declared) {
  const JsonValue* groups = known(*declared.json, "config_groups");
  if (groups == nullptr || !groups->is_object()) return;
  const bool has_fp4 = has_float_group(*groups, 4, 16), has_fp8 = has_float_group(*groups, 8, {});
  for (const auto& [name, module] : context.on.modules) {
    const bool is_fp4 = module.form == Form::kPackedNvfp4;
    if (!is_fp4 && module.form != Form::kFp8) continue;
    if (is_fp4 ? has_fp4 : has_fp8) continue;
    return context.tell(
        declared.place + ".config_groups", "'{}' is stored as {}, and no group declares {}", name,
        form_name(module.form), is_fp4 ? "floats of 4 bits in groups of 16" : "floats of 8 bits");
  }
}

void check_scheme(const CheckContext& context, const Quantization& declared) {
  if (declared.json == nullptr) return;
  if (declared.method == "fp8") return check_fp8_blocks(context, declared);
  if (declared.method == "compressed-tensors") check_groups_of_floats(context, declared);
}

using Facts = std::map<std::string, std::string, std::less<>>;

std::string word_of(const JsonValue* value) {
  if (value == nullptr || value->is_null()) return "none";
  if (value->is_boolean()) return *value == true ? "yes" : "no";
  return lower_case(value->is_string() ? value->get<std::string>() : value->dump());
}

// Adds the facts of one part of a group, with defaults for absent keys and one word for synonyms.
void add_numbers(Facts& facts, const std::string& name, const JsonValue* declared) {
  facts[name] = "none";
  if (!is_truthy(declared)) return;
  const auto read = [&](const char* key, std::string_view absent) {
    std::string word = word_of(member(declared, key));
    return word == "none" ? std::string(name == "cache" ? "absent" : absent) : word;
  };
  const std::string group = read("group_size", "none"), order = read("actorder", "none");
  const bool is_whole = group == "none" || group == "-1";
  const std::string_view inferred = group == "none" ? "tensor" : is_whole ? "channel" : "group";
  const bool is_of_groups = has_word(" yes dynamic group ", order);
  facts[name] = word_of(member(declared, "type")) + word_of(member(declared, "num_bits"));
  facts[name + ".strategy"] = read("strategy", inferred);
  facts[name + ".group_size"] = is_whole ? "none" : group;
  facts[name + ".symmetric"] = read("symmetric", "yes");
  facts[name + ".dynamic"] = read("dynamic", "no");
  facts[name + ".scales"] = replace_all(read("scale_dtype", "none"), "torch.", "");
  facts[name + ".actorder"] = order == "static" ? "weight" : is_of_groups ? "group" : order;
}

struct StatedScheme {
  std::string place;
  Facts facts;
  std::vector<std::string> targets;
  bool is_of_class;  // applies to all modules that no other group names
  std::set<std::string_view> of = {};
};

StatedScheme group_scheme(const JsonValue& json, std::string place, const JsonValue& group) {
  const std::vector<std::string> targets = texts_in(group, "targets");
  const JsonValue& sparsity = object_in(json, "sparsity_config");
  const bool is_sparse = !list_in(sparsity, "targets").empty();
  const std::string top = word_of(member(json, "format")), own = word_of(member(group, "format"));
  StatedScheme out{std::move(place),
             {{"outer_format", top},
              {"format", own == "none" ? top : own},
              {"targets", std::ranges::count(targets, "Linear") != 0 ? "linear" : "names"},
              {"sparsity", is_sparse ? word_of(member(sparsity, "format")) : "none"},
              {"structure", is_sparse ? word_of(member(sparsity, "sparsity_structure")) : "none"}},
             targets,
             std::ranges::any_of(targets, names_a_class)};
  add_numbers(out.facts, "weights", member(group, "weights"));
  add_numbers(out.facts, "inputs", member(group, "input_activations"));
  add_numbers(out.facts, "outputs", member(group, "output_activations"));
  add_numbers(out.facts, "cache", member(json, "kv_cache_scheme"));
  return out;
}

std::vector<StatedScheme> stated_schemes(const Quantization& declared) {
  std::vector<StatedScheme> out;
  if (declared.method == "compressed-tensors") {
    for (const auto& item : object_in(*declared.json, "config_groups").items()) {
      std::string place = fmt::format("{}.config_groups.{}", declared.place, item.key());
      out.push_back(group_scheme(*declared.json, std::move(place), item.value()));
    }
    return out;
  }
  out.push_back({declared.place, {}, {}, true});
  for (const auto& item : declared.json->items()) {
    if (!item.value().is_structured()) out[0].facts[item.key()] = word_of(&item.value());
  }
  return out;
}

// Finds the first group that names a module; files may have a group for each of many modules.
class GroupsByTarget {
 public:
  explicit GroupsByTarget(const std::vector<StatedScheme>& schemes) : expressions_({}, false) {
    std::vector<std::string> expressions;
    for (size_t i = 0; i < schemes.size(); ++i) {
      if (schemes[i].is_of_class) of_class_ = std::min(of_class_, i);
      for (const std::string& target : schemes[i].targets) {
        if (expression_mark(target) == 0) {
          of_name_.try_emplace(target, i);
        } else {
          expressions.push_back(target);
          of_expression_.push_back(i);
        }
      }
    }
    expressions_ = EntryList(expressions, false);
  }

  // The index of the group that names the module; else of the first group for a class.
  std::optional<size_t> find(const std::string& name) const {
    size_t first = kNone;
    if (const size_t* named = find_mapped(of_name_, name)) first = *named;
    if (const auto fits = expressions_.first_expression_of(name)) {
      first = std::min(first, of_expression_[*fits]);
    }
    if (first == kNone) first = of_class_;
    return first == kNone ? std::nullopt : std::optional(first);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  std::map<std::string, size_t> of_name_;
  EntryList expressions_;
  std::vector<size_t> of_expression_;  // ascending
  size_t of_class_ = kNone;
};

// How the tensor packs its numbers: the fact `packing`. The number of words in a row tells it, and
// rows that are so short that both ways need the same number count as dense.
std::string packing_of(const Subject& on, const Tensor& tensor, const Facts& facts) {
  const PackedForm* form = find_mapped(on.packed.by_codes, tensor.name);
  const std::string* weights = find_mapped(facts, "weights");
  const uint64_t bits = weights == nullptr ? 0 : number_after(*weights, "int").value_or(0);
  const bool is_packed = plain_dtype(*tensor.codec) == Dtype::kI32 && tensor.shape.size() == 2;
  if (form == nullptr || !is_packed || bits == 0 || bits > 8) return "none";
  const uint64_t dense = divide_up(form->shape.back() * bits, 32);
  return 32 % bits == 0 ? "none" : tensor.shape[1] == dense ? "dense" : "words";
}

// Adds to each scheme the kinds of coded modules that it applies to, by the first matching group.
void add_modules(const Subject& on, std::vector<StatedScheme>& schemes) {
  const GroupsByTarget groups(schemes);
  std::map<std::string, size_t> of_experts;
  for (const Tensor& tensor : on.checkpoint.tensors) {
    if (tensor.is_plain_float()) continue;
    const std::string name = module_of(tensor.name);
    const auto found = groups.find(name);
    if (!found) continue;
    StatedScheme& scheme = schemes[*found];
    if (last_word(tensor.name) == "weight_packed" && !scheme.facts.contains("packing")) {
      scheme.facts["packing"] = packing_of(on, tensor, scheme.facts);
    }
    const std::string experts(experts_module(name));
    const bool is_one =
        experts.empty() || of_experts.try_emplace(experts, *found).first->second == *found;
    scheme.of.insert(experts.empty() ? "linear" : is_one ? "experts" : "parts of experts");
  }
}

// The conditions of a row that are not met.
std::vector<std::string> unmet(const Facts& facts, std::string_view row) {
  std::vector<std::string> out;
  while (!row.empty()) {
    std::string_view values = take_word(row, '/');
    const std::string_view key = take_word(values, '=');
    const std::string* fact = find_mapped(facts, key);
    const std::string found = fact == nullptr ? "none" : *fact;
    const auto accepted = split_words<std::string>(replace_all(values, ",", " "));
    if (NameList(accepted).matches(found)) continue;
    out.push_back(fmt::format("{} is {}, not {}", key, found, fmt::join(accepted, " or ")));
  }
  return out;
}

struct SchemeAnswer {
  std::string fault, unclear;  // empty: the program supports the scheme
};

// Describes a group without any coded module, which programs read anyway.
constexpr std::string_view kNothing = "nothing";

SchemeAnswer answer_of(const Profile& profile, std::string_view method, const Facts& facts) {
  for (const std::string_view row : listed_words(profile, fmt::format("required {}", method))) {
    if (const auto faults = unmet(facts, row); !faults.empty()) return {faults[0], {}};
  }
  if (facts.at("of") == kNothing) return {};
  std::optional<std::vector<std::string>> nearest;
  for (const std::string_view row : listed_words(profile, fmt::format("schemes {}", method))) {
    auto faults = unmet(facts, row);
    if (faults.empty()) return {};
    if (!nearest || faults.size() < nearest->size()) nearest = std::move(faults);
  }
  const std::string start = fmt::format("unclear {}: ", method);
  auto list = profile.lists.lower_bound(start);
  for (; list != profile.lists.end() && list->first.starts_with(start); ++list) {
    for (const std::string_view row : listed_words(profile, list->first)) {
      if (unmet(facts, row).empty()) return {{}, std::string(list->first.substr(start.size()))};
    }
  }
  return {nearest ? fmt::format("{}", fmt::join(*nearest, "; ")) : "", {}};
}

// Calls `act` for each scheme that applies to coded modules.
template <class Act>
void each_scheme(const Subject& on, const Profile& profile, Act act) {
  const Quantization* declared = on.quantization();
  if (declared == nullptr || declared->json == nullptr || declared->is_nested) return;
  std::vector<StatedScheme> schemes = stated_schemes(*declared);
  add_modules(on, schemes);
  const JsonValue* dtype = known(on.config, "dtype");
  for (StatedScheme& scheme : schemes) {
    scheme.facts["dtype"] = word_of(dtype != nullptr ? dtype : known(on.config, "torch_dtype"));
    if (scheme.of.empty()) scheme.of.insert(kNothing);
    for (const std::string_view of : scheme.of) {
      scheme.facts["of"] = of;
      act(scheme, answer_of(profile, declared->method, scheme.facts));
    }
  }
}

// Whether the profile takes the scheme when sparsity_config, which says that no value is left out,
// is gone.
bool is_taken_without_sparsity(const CheckContext& context, const StatedScheme& scheme) {
  const std::string* sparsity = find_mapped(scheme.facts, "sparsity");
  if (sparsity == nullptr || *sparsity != "dense") return false;
  Facts facts = scheme.facts;
  facts["sparsity"] = facts["structure"] = "none";
  const std::string_view method = context.on.quantization()->method;
  return answer_of(context.profile, method, facts).fault.empty();
}

void check_schemes_taken(const CheckContext& context) {
  each_scheme(
      context.on, context.profile, [&](const StatedScheme& scheme, const SchemeAnswer& answer) {
        if (answer.fault.empty()) return;
        std::optional<Fix> fix;
        if (is_taken_without_sparsity(context, scheme)) {
          fix = Fix{"config:remove=quantization_config.sparsity_config", {}, {}, false, 0};
        } else if (!context.on.packed.unread.empty() || !context.on.packed.fault.empty()) {
          fix = advised("ckpt convert BASE OUT --to fp8");  // ckpt cannot decode the codes
        }
        context.report(
            scheme.place,
            fmt::format("{} does not have this scheme: {}", context.profile.title(), answer.fault),
            {}, {}, fix);
      });
}

constexpr Check kSchemeChecks[] = {
    {"Q38", "the scheme that is declared is that of the weights", "U: vllm* sglang",
     "No compressed-tensors compatible scheme was found; KeyError", "export the model again",
     stated<check_scheme>},
    {"Q39", "the program has the scheme", "U: vllm* sglang",
     "No compressed-tensors compatible scheme was found; Unsupported FusedMoe scheme",
     "ckpt convert IN OUT --to bf16", check_schemes_taken},
};

}  // namespace

std::string scheme_not_checked(const Subject& on, const Profile& profile) {
  std::string out;
  const auto covered = listed_words(profile, "covered methods");
  const Quantization* declared = on.quantization();
  if (!covered.empty() && declared != nullptr && !declared->is_nested &&
      std::ranges::count(covered, declared->method) == 0) {
    return fmt::format("quant_method {}: the facts about {} cover only {}", declared->method,
                       profile.title(), fmt::join(covered, ", "));
  }
  if (profile.program != Program::kVllm && profile.program != Program::kSglang) return out;
  each_scheme(on, profile, [&](const StatedScheme&, const SchemeAnswer& answer) {
    if (out.empty() && !answer.unclear.empty()) out = answer.unclear;
  });
  return out;
}

std::span<const Check> scheme_checks() { return kSchemeChecks; }

}  // namespace ckpt
