// Finds texts that llama.cpp splits differently from a checkpoint's tokenizer.
//
//   folder         ─▶ rules of its tokenizer.json                            gaps.h
//                     tokens of its tokenizer.model that differ from tokenizer.json's
//   GGUF           ─▶ scores that are all equal
//   GGUF and base  ─▶ rules of base's tokenizer.json, and each key tokenizer.* that a conversion
//                     of base writes differently
#include "transforms/tokenizer/findings.h"

#include <algorithm>

#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "transforms/to_gguf/keys.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/tokenizer/compare.h"
#include "transforms/tokenizer/jobs.h"

namespace ckpt {
namespace {

constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr const char* kTypes = "tokenizer.ggml.token_type";
constexpr const char* kRulesAdvice =
    "nothing in a GGUF changes it; compare ids for your texts, or normalize them before";

Finding make_finding(Severity severity, std::string place, std::string found, Fix fix) {
  return {{}, {}, severity, std::move(place), std::move(found), {}, std::move(fix)};
}

Fix advice(std::string text) { return {.step = {}, .needs = {}, .advice = std::move(text)}; }

void add_gaps(const std::vector<TokenizerGap>& gaps, std::vector<Finding>& out) {
  for (const TokenizerGap& gap : gaps) {
    out.push_back(make_finding(gap.is_rare ? Severity::kInfo : Severity::kWarning, gap.place,
                               gap.found, advice(kRulesAdvice)));
  }
}

void find_in_folder(const Checkpoint& folder, std::vector<Finding>& out) {
  const auto model = read_model(folder);
  const auto tokenizer = read_object(folder, kTokenizerJson);
  if (!model || !tokenizer || *tokenizer == nullptr) return;
  const auto form = tokenizer_form(folder, tokenizer_options_of(*model, std::nullopt));
  if (!form) return;
  if (!form->conflict.empty()) {
    out.push_back(make_finding(
        Severity::kUnsound, "tokenizer.model",
        fmt::format("{}; a GGUF has the tokens of tokenizer.model, while transformers, vLLM and "
                    "SGLang read tokenizer.json",
                    form->conflict),
        advice("take both files from one model")));
    out.back().symptom =
        "other tokens than in the other programs; noise, if the weights are not of "
        "tokenizer.model";
  }
  add_gaps(find_tokenizer_gaps(**tokenizer, form->splitting, ""), out);
  if (form->has_other_scores) {
    out.push_back(make_finding(
        Severity::kWarning, std::string(kTokenizerJson),
        "pieces without a tokenizer.model; llama.cpp's converter writes equal scores for them, by "
        "which texts are split differently",
        advice(
            "convert with ckpt convert IN OUT.gguf, which writes scores by the order of merges")));
  } else if (!form->difference.empty()) {
    out.push_back(make_finding(
        Severity::kWarning, fmt::format("{}: added_tokens", kTokenizerJson), form->difference,
        advice("convert with ckpt convert IN OUT.gguf, which writes those of tokenizer.json")));
  }
}

// Empty for a list of any other type.
std::vector<double> numbers_of(const MetaArray* array) {
  std::vector<double> out;
  if (array == nullptr || array->numbers.empty()) return out;
  out.reserve(array->count());
  for (uint64_t i = 0; i < array->count(); ++i) out.push_back(number_at(*array, i));
  return out;
}

// Whether all normal tokens have the same score.
bool are_equal(const std::vector<double>& scores, const std::vector<double>& types) {
  if (scores.size() < 2 || scores.size() != types.size()) return false;
  std::optional<double> first;
  for (size_t id = 0; id < scores.size(); ++id) {
    if (types[id] != static_cast<double>(TokenType::kNormal)) continue;
    if (first && scores[id] != *first) return false;
    first = scores[id];
  }
  return first.has_value();
}

// Whether both scores give the same order of normal tokens. Tokens that no merge makes have no
// position in it.
bool have_one_order(const std::vector<double>& ours, const std::vector<double>& theirs,
                    const std::vector<double>& types) {
  std::vector<uint32_t> order;
  for (uint32_t id = 0; id < std::min(ours.size(), types.size()); ++id) {
    const bool is_normal = types[id] == static_cast<double>(TokenType::kNormal);
    const bool is_made = ours[id] != kNeverMergedScore && theirs[id] != kNeverMergedScore;
    if (is_normal && is_made) order.push_back(id);
  }
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return theirs[a] > theirs[b]; });
  for (size_t i = 1; i < order.size(); ++i) {
    const uint32_t before = order[i - 1], after = order[i];
    if (ours[before] < ours[after]) return false;
    if ((ours[before] == ours[after]) != (theirs[before] == theirs[after])) return false;
  }
  return true;
}

bool is_split_by_scores(const Metadata& metadata) {
  const std::string* model = metadata.find_text("tokenizer.ggml.model");
  return model != nullptr && *model == "llama";
}

Fix fix_from_base() {
  return {.step = "tokenizer:from=BASE",
          .needs = "BASE: the folder of the model that the GGUF was made from",
          .advice = {}};
}

void find_equal_scores(const Metadata& metadata, std::vector<Finding>& out) {
  const std::vector<double> scores = numbers_of(metadata.find_array(kScores));
  const auto types = numbers_of(metadata.find_array(kTypes));
  if (!is_split_by_scores(metadata) || !are_equal(scores, types)) return;
  Finding found = make_finding(Severity::kUnsound, kScores,
                               fmt::format("all {}; they tell no order, so llama.cpp splits texts "
                                           "differently from the model's tokenizer",
                                           scores.front()),
                               fix_from_base());
  found.symptom = "worse answers, other token counts";
  out.push_back(std::move(found));
}

std::string value_text(const MetaValue* value) {
  if (value == nullptr) return "absent";
  if (const auto* text = std::get_if<std::string>(&value->value)) {
    return text->size() > 40 ? fmt::format("a text of {} bytes", text->size())
                             : fmt::format("'{}'", *text);
  }
  if (const auto* number = std::get_if<uint64_t>(&value->value)) {
    if (value->type == MetaType::kBool) return *number != 0 ? "true" : "false";
    return std::to_string(*number);
  }
  if (const auto* number = std::get_if<int64_t>(&value->value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value->value)) {
    return fmt::format("{}", static_cast<float>(*number));
  }
  return "another value";
}

// Describes the first position at which two lists differ, with both values.
std::string list_difference(const MetaArray& ours, const MetaArray& theirs, std::string_view what) {
  if (ours.element == MetaType::kText && theirs.element == MetaType::kText) {
    return first_token_difference(ours.texts, theirs.texts, what).value_or("");
  }
  const uint64_t both = std::min(ours.count(), theirs.count());
  for (uint64_t i = 0; i < both; ++i) {
    const double a = number_at(ours, i), b = number_at(theirs, i);
    if (a != b) return fmt::format("{} of token {}: {} here, {} there", what, i, a, b);
  }
  return fmt::format("{} here, {} there", ours.count(), theirs.count());
}

// Whether the key affects how texts are split; other keys name the tokens that frame them.
bool decides_ids(std::string_view key) {
  return key == "tokenizer.ggml.model" || key == "tokenizer.ggml.pre" ||
         key == "tokenizer.ggml.tokens" || key == "tokenizer.ggml.merges" || key == kScores ||
         key == kSpacePrefixKey;
}

void compare_key(const Metadata& ours, const MetaEntry& entry, std::vector<Finding>& out) {
  auto found = key_difference(ours, entry);
  if (!found) return;
  out.push_back(make_finding(decides_ids(entry.key) ? Severity::kUnsound : Severity::kWarning,
                             entry.key, std::move(*found), fix_from_base()));
}

// Fails: as reading and converting the tokenizer of `base`.
Status compare_with_base(const Checkpoint& gguf, const std::string& base, const Context& context,
                         std::vector<Finding>& out) {
  CKPT_ASSIGN(const Checkpoint donor, read_tokenizer_donor(base, context));
  const auto tokenizer = read_object(donor, kTokenizerJson);
  if (tokenizer && *tokenizer) add_gaps(find_tokenizer_gaps(**tokenizer, gguf.metadata), out);
  CKPT_ASSIGN(const Metadata made,
              in(base, tokenizer_keys_for(gguf, donor, std::nullopt, context.quiet())));
  const auto is_reported = [&](const std::string& key) {
    return std::ranges::any_of(out, [&](const Finding& each) { return each.place == key; });
  };
  for (const MetaEntry& entry : made.entries) {
    if (!is_reported(entry.key)) compare_key(gguf.metadata, entry, out);
  }
  const bool wants_space = adds_space_prefix(made);
  if (is_split_by_scores(gguf.metadata) && made.find(kSpacePrefixKey) == nullptr &&
      adds_space_prefix(gguf.metadata) != wants_space && !is_reported(kSpacePrefixKey)) {
    out.push_back(make_finding(Severity::kUnsound, kSpacePrefixKey,
                               fmt::format("{} here, {} there", !wants_space, wants_space),
                               fix_from_base()));
  }
  return {};
}

}  // namespace

std::optional<std::string> key_difference(const Metadata& ours, const MetaEntry& entry) {
  const MetaValue* mine = ours.find(entry.key);
  if (mine != nullptr && *mine == entry.value) return std::nullopt;
  const MetaArray* a = ours.find_array(entry.key);
  const auto* b = std::get_if<MetaArray>(&entry.value.value);
  if (a == nullptr || b == nullptr) {
    return fmt::format("{} here, {} there", value_text(mine), value_text(&entry.value));
  }
  const bool are_scores = entry.key == kScores && a->count() == b->count();
  const auto types = numbers_of(ours.find_array(kTypes));
  if (are_scores && have_one_order(numbers_of(a), numbers_of(b), types)) return std::nullopt;
  std::string_view what = std::string_view(entry.key).substr(entry.key.rfind('.') + 1);
  if (a->element == MetaType::kText && what.ends_with('s')) what.remove_suffix(1);  // one of them
  return list_difference(*a, *b, what);
}

Status find_tokenizer_findings(const Checkpoint& checkpoint, const std::string& base,
                               const Context& context, std::vector<Finding>& out) {
  if (checkpoint.format != "gguf") {
    find_in_folder(checkpoint, out);
    return {};
  }
  find_equal_scores(checkpoint.metadata, out);
  return base.empty() ? Status() : compare_with_base(checkpoint, base, context, out);
}

}  // namespace ckpt
